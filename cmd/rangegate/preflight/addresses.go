package preflight

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"rangegate/config"
)

// http is the address of the API and the screens, and operations that of the operators: free, and with a certificate that
// is good where there is one.
func (s Settings) http(ctx context.Context) []Finding {
	return address(ctx, "http", s.Config.HTTP.Address, s.Config.HTTP.TLS)
}

func (s Settings) operations(ctx context.Context) []Finding {
	return address(ctx, "operations", s.Config.Operations.Address, s.Config.Operations.TLS)
}

func address(ctx context.Context, what, at string, t config.TLS) []Finding {
	all := []Finding{listenable(ctx, what+".address", at)}
	if t.Certificate != "" {
		all = append(all, ofCertificate(what, t, time.Now())...)
	}
	return all
}

// listenable listens at the address for a moment.
func listenable(ctx context.Context, what, at string) Finding {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	switch {
	case err == nil:
		_ = listener.Close()
		return ok(what, "%s is free", at)
	case errors.Is(err, unix.EADDRINUSE) && aGateway(ctx, at):
		return ok(what, "a gateway answers at %s: it runs", at)
	case errors.Is(err, unix.EADDRINUSE):
		by := "by whom, only root can see"
		if holder := listensAt(at); holder != "" {
			by = "by " + holder
		}
		return Finding{Fail, what, fmt.Sprintf("%s is in use %s", at, by), "stop that program, or choose another port"}
	case errors.Is(err, unix.EACCES):
		return Finding{
			Fail, what, fmt.Sprintf("%s is not for %s to listen at", at, user()),
			"choose a port from 1024 up, or allow it: AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit",
		}
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return Finding{Fail, what, at + " is no address of this machine", "choose one that is (ip address), or 0.0.0.0 for all"}
	}
	return Finding{Fail, what, err.Error(), "choose an address of this machine"}
}

// aGateway tells whether a gateway answers at the address: it gives every answer the header trace-id. Whether it answers
// over TLS is not known, and who it says it is does not matter here.
func aGateway(ctx context.Context, at string) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	for _, scheme := range []string{"http://", "https://"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+at+"/livez", nil)
		if err != nil {
			return false
		}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if len(answer.Header.Get("trace-id")) == 32 {
			return true
		}
	}
	return false
}
