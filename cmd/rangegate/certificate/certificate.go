// Package certificate serves the TLS certificate of an address, and replaces it when its files change.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"

	"rangegate/config"
)

// FileError says why a file cannot be used.
type FileError struct {
	Key string // of the setting that names the file: certificate, key or ca
	Err error
}

// Error implements error.
func (e FileError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e FileError) Unwrap() error { return e.Err }

// Load reads the pair: the certificate followed by its chain, and its private key. The error, a [FileError], names the
// wrong file, or both, and quotes neither.
func Load(f config.TLS) (*tls.Certificate, error) {
	pair, _, err := loadPair(f)
	return pair, err
}

// LoadNode reads the pair of a node, and the authorities that nodes trust. Errors are as those of Load.
func LoadNode(f config.NodesTLS) (*tls.Certificate, *x509.CertPool, error) {
	all, _, err := load(config.TLS{Certificate: f.Certificate, Key: f.Key}, f.CA)
	return all.Certificate, all.authorities, err
}

// loaded is what is in use together.
type loaded struct {
	*tls.Certificate
	authorities *x509.CertPool // of the nodes; nil without a file of authorities
}

// load also returns what the files hold: equal texts are the same, whatever the files' times and links.
func load(f config.TLS, ca string) (all loaded, text string, err error) {
	if all.Certificate, text, err = loadPair(f); err != nil || ca == "" {
		return all, text, err
	}
	authorities, err := os.ReadFile(ca)
	if err != nil {
		return all, text, FileError{"ca", err}
	}
	text += string(authorities)
	all.authorities = x509.NewCertPool()
	if !all.authorities.AppendCertsFromPEM(authorities) {
		return all, text, FileError{"ca", errors.New(ca + " holds no PEM certificate")}
	}
	return all, text, nil
}

func loadPair(f config.TLS) (pair *tls.Certificate, text string, err error) {
	certificate, err := os.ReadFile(f.Certificate)
	if err != nil {
		return nil, "", FileError{"certificate", err}
	}
	key, err := os.ReadFile(f.Key)
	if err != nil {
		return nil, "", FileError{"key", err}
	}
	text = string(certificate) + string(key)
	if err := parseCertificate(certificate); err != nil {
		return nil, text, FileError{"certificate", fmt.Errorf("%s: %w", f.Certificate, err)}
	}
	parsed, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, text, FileError{
			"key", fmt.Errorf("%s is not the key of the certificate in %s: %w", f.Key, f.Certificate, err),
		}
	}
	return &parsed, text, nil
}

// parseCertificate parses the certificate without its key, so that an error can name the wrong file.
func parseCertificate(text []byte) error {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("holds no PEM certificate")
		}
		if block.Type == "CERTIFICATE" {
			_, err := x509.ParseCertificate(block.Bytes)
			return err
		}
	}
}

// CheckValidity returns an error when the certificate is not valid at that time.
func CheckValidity(c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("it expired on %s", c.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.NotBefore):
		return fmt.Errorf("it is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// Names returns the host names and IP addresses of the certificate.
func Names(c *x509.Certificate) []string {
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// Metrics are the gauges of the certificates of all addresses.
type Metrics struct{ expiry, successful *prometheus.GaugeVec }

// NewMetrics registers the gauges.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	factory := promauto.With(registry)
	return &Metrics{
		expiry: factory.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "tls_certificate_expiry_timestamp_seconds",
			Help: "When the TLS certificate in use expires, by the address that it is served at (http, " +
				"operations, nodes).",
		}, []string{"address"}),
		successful: factory.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "tls_certificate_last_reload_successful",
			Help: "1 while the TLS certificate in use is the one in the files, 0 while the files have one " +
				"that cannot be used.",
		}, []string{"address"}),
	}
}

// interval is the time between two reads of the files.
const interval = 5 * time.Second

// Watcher serves the certificate in its files. It reads the files every 5 s, and goes on with the last usable
// pair while they hold another one that cannot be used. A nil *Watcher stands for plain HTTP: Read and Close
// do nothing.
type Watcher struct {
	address string // http, operations or nodes, for logs and metrics
	files   config.TLS
	ca      string // file of the authorities of the nodes; empty elsewhere
	metrics *Metrics
	log     zerolog.Logger

	current atomic.Pointer[loaded]
	stop    chan struct{}
	stopped sync.WaitGroup

	mu     sync.Mutex
	used   string // the text of current
	failed string // the text of the last read with its error, empty after a success
	logged string // the last logged error, empty after a success
}

// Watch loads the pair, and keeps it up to date until Close. It fails when the files hold no usable pair. It accepts an
// expired certificate and logs an error, as a gateway that does not start controls no lane.
func Watch(address string, files config.TLS, metrics *Metrics, log zerolog.Logger) (*Watcher, error) {
	return watch(address, files, "", metrics, log)
}

// WatchNodes is Watch for the certificate that a node has for the others, and for the authorities of theirs.
func WatchNodes(files config.NodesTLS, metrics *Metrics, log zerolog.Logger) (*Watcher, error) {
	return watch("nodes", config.TLS{Certificate: files.Certificate, Key: files.Key}, files.CA, metrics, log)
}

func watch(address string, files config.TLS, ca string, metrics *Metrics, log zerolog.Logger) (*Watcher, error) {
	w := &Watcher{
		address: address, files: files, ca: ca, metrics: metrics, stop: make(chan struct{}),
		log: log.With().Str("address", address).Str("certificate", files.Certificate).Str("key", files.Key).Logger(),
	}
	pair, text, err := load(files, ca)
	if err != nil {
		return nil, err
	}
	w.use(text, pair)
	if err := CheckValidity(pair.Leaf, time.Now()); err != nil {
		w.log.Error().Err(err).Msg("the TLS certificate is not valid at this time; clients will refuse it")
	}
	w.stopped.Go(w.watch)
	return w, nil
}

// Close stops reading the files. Open servers go on with the last certificate.
func (w *Watcher) Close() {
	if w != nil {
		close(w.stop)
		w.stopped.Wait()
	}
}

// Config returns the server's configuration. For clients: TLS 1.2 and 1.3 with Go's choice of ciphers, HTTP/2
// and HTTP/1.1. For other nodes: TLS 1.3 and HTTP/1.1, and nobody without a certificate of their authorities
// gets further than the handshake.
func (w *Watcher) Config() *tls.Config {
	if w.ca == "" {
		return &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				return w.current.Load().Certificate, nil
			},
		}
	}
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		current := w.current.Load()
		return &tls.Config{
			MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
			Certificates: []tls.Certificate{*current.Certificate},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: current.authorities,
			SessionTicketsDisabled: true, // a resumed session would not be verified against other authorities
		}, nil
	}}
}

// ClientConfig returns the configuration of a connection to the node at that host, which its certificate has
// to be valid for.
func (w *Watcher) ClientConfig(host string) *tls.Config {
	current := w.current.Load()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, ServerName: host,
		Certificates: []tls.Certificate{*current.Certificate}, RootCAs: current.authorities,
	}
}

// Leaf returns the certificate in use.
func (w *Watcher) Leaf() *x509.Certificate { return w.current.Load().Leaf }

// Problem returns why the pair in the files cannot be used, empty while it is the one in use.
func (w *Watcher) Problem() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logged
}

// Read reads the files at once. Its error, a [FileError], says why their pair cannot be used; the current one stays in
// use then. Otherwise use puts the pair in use, unless the files have been read again meanwhile.
func (w *Watcher) Read() (use func(), err error) {
	if w == nil {
		return func() {}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.used
	pair, text, err := w.read(true)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if err == nil && w.used == before {
			w.use(text, pair)
		}
	}, err
}

func (w *Watcher) watch() {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
			w.reload()
		}
	}
}

// reload uses the pair in the files if it is valid.
func (w *Watcher) reload() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if pair, text, err := w.read(false); err == nil { // read logs its error
		w.use(text, pair)
	}
}

// read returns the pair in the files if it is valid, or in use already. It logs an error at once, or else
// when it reads the same unusable contents twice: key and certificate are written one after the other and do
// not match in between. w.mu is held.
func (w *Watcher) read(logAtOnce bool) (loaded, string, error) {
	pair, text, err := load(w.files, w.ca)
	if err == nil && text != w.used {
		if invalid := CheckValidity(pair.Leaf, time.Now()); invalid != nil {
			err = FileError{"certificate", fmt.Errorf("%s: %w", w.files.Certificate, invalid)}
		}
	}
	if err == nil {
		return pair, text, nil
	}
	failed := text + err.Error()
	if (logAtOnce || failed == w.failed) && w.logged != err.Error() {
		w.logged = err.Error()
		w.metrics.successful.WithLabelValues(w.address).Set(0)
		w.log.Error().Err(err).Time("expires", w.Leaf().NotAfter).
			Msg("the new TLS certificate cannot be used; the one before stays in use")
	}
	w.failed = failed
	return loaded{}, "", err
}

// use serves the pair to new connections; open ones keep theirs. w.mu is held, or nobody else has the watcher yet.
func (w *Watcher) use(text string, pair loaded) {
	if w.used == text {
		w.succeed()
		return
	}
	w.current.Store(&pair)
	w.used = text
	w.metrics.expiry.WithLabelValues(w.address).Set(float64(pair.Leaf.NotAfter.Unix()))
	w.succeed()
	w.log.Info().Time("expires", pair.Leaf.NotAfter).Strs("names", Names(pair.Leaf)).Msg("TLS certificate in use")
}

func (w *Watcher) succeed() {
	w.failed, w.logged = "", ""
	w.metrics.successful.WithLabelValues(w.address).Set(1)
}
