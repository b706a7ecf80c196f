package main

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/cmd/rangegate/certificate"
	"rangegate/config"
)

// certificates are those of the addresses, kept as they are in their files; nil is plain HTTP.
type certificates struct{ http, operations *certificate.Kept }

// keepCertificates loads them. One that cannot be used is for the operator to put right.
func keepCertificates(c config.Config, registry prometheus.Registerer, log zerolog.Logger) (all certificates, err error) {
	metrics := certificate.NewMetrics(registry)
	keep := func(address string, t config.TLS) *certificate.Kept {
		if t.Certificate == "" {
			return nil
		}
		kept, problem := certificate.Keep(address, certificate.Files(t), metrics, log)
		if problem != nil {
			err = errors.Join(err, fmt.Errorf("%s.tls.%w", address, problem))
			return nil
		}
		return kept
	}
	all = certificates{http: keep("http", c.HTTP.TLS), operations: keep("operations", c.Operations.TLS)}
	if err != nil {
		all.close()
		return certificates{}, misconfigured{err}
	}
	return all, nil
}

// reload looks at the files now, without waiting for the next look at them.
func (c certificates) reload() (err error) {
	for _, kept := range []*certificate.Kept{c.http, c.operations} {
		if kept != nil {
			err = errors.Join(err, kept.Reload())
		}
	}
	return err
}

func (c certificates) close() {
	for _, kept := range []*certificate.Kept{c.http, c.operations} {
		if kept != nil {
			kept.Close()
		}
	}
}
