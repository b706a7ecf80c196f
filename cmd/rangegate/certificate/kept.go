package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// lookEvery is how often the files are looked at. They are a few kilobytes, so they are read: a file that was moved into
// place, or a link that points elsewhere, may be as old and as long as the one before.
const lookEvery = 5 * time.Second

// Kept is the certificate that is in use. A pair in the files that is no good leaves it as it is.
type Kept struct {
	address string // http or operations, for people
	files   Files
	metrics *Metrics
	log     zerolog.Logger

	inUse atomic.Pointer[tls.Certificate]
	quit  chan struct{}
	over  sync.WaitGroup

	mu   sync.Mutex
	read pair  // what inUse was made of
	bad  pair  // what the files had when they were last looked at and were no good
	told error // what was said of it; nil: nothing yet, or all is well
}

// Keep loads the pair and keeps it up to date until Close. A pair that is outside of its time is taken at the start, and
// said to be: a gateway that is not there controls no lane.
func Keep(address string, files Files, metrics *Metrics, log zerolog.Logger) (*Kept, error) {
	k := &Kept{
		address: address, files: files, metrics: metrics, quit: make(chan struct{}),
		log: log.With().Str("address", address).Str("certificate", files.Certificate).Str("key", files.Key).Logger(),
	}
	read := files.read()
	loaded, err := files.parse(read)
	if err != nil {
		return nil, err
	}
	k.use(read, loaded)
	if err := Outside(loaded.Leaf, time.Now()); err != nil {
		k.log.Error().Err(err).Msg("the TLS certificate is not valid at this time; clients will refuse it")
	}
	k.over.Go(k.watch)
	return k, nil
}

// Close ends the looking. What is served goes on being served.
func (k *Kept) Close() {
	close(k.quit)
	k.over.Wait()
}

// TLS is how connections are served: TLS 1.2 and 1.3 with what Go holds for safe, HTTP/2 and HTTP/1.1.
func (k *Kept) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.inUse.Load(), nil },
	}
}

// Leaf is the certificate that is in use.
func (k *Kept) Leaf() *x509.Certificate { return k.inUse.Load().Leaf }

// Reload looks at the files now. Its error says why what is in them is not in use.
func (k *Kept) Reload() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.look()
	if err != nil {
		k.tell(err)
	}
	return err
}

func (k *Kept) watch() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-k.quit:
			return
		case <-ticker.C:
			k.glance()
		}
	}
}

// glance looks at the files, and says what is wrong with them only when they were the same the last time: the key is
// written before the certificate, or after it, and in between they do not go together.
func (k *Kept) glance() {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.bad
	if err := k.look(); err != nil && k.bad.same(before) {
		k.tell(err)
	}
}

// look takes over what is in the files, if it is another pair and a good one. k.mu is held.
func (k *Kept) look() error {
	read := k.files.read()
	if read.same(k.read) {
		k.well()
		return nil
	}
	loaded, err := k.files.parse(read)
	if err == nil {
		if outside := Outside(loaded.Leaf, time.Now()); outside != nil {
			err = fmt.Errorf("certificate: %s: %w", k.files.Certificate, outside)
		}
	}
	if err != nil {
		k.bad = read
		return err
	}
	k.use(read, loaded)
	return nil
}

// use begins to serve the certificate: connections from now on have it, those that are open keep theirs.
func (k *Kept) use(read pair, loaded *tls.Certificate) {
	k.inUse.Store(loaded)
	k.read = read
	k.metrics.expiry.WithLabelValues(k.address).Set(float64(loaded.Leaf.NotAfter.Unix()))
	k.well()
	k.log.Info().Time("expires", loaded.Leaf.NotAfter).Strs("names", Names(loaded.Leaf)).Msg("TLS certificate in use")
}

func (k *Kept) well() {
	k.bad, k.told = pair{}, nil
	k.metrics.taken.WithLabelValues(k.address).Set(1)
}

// tell says once what is wrong with the files.
func (k *Kept) tell(err error) {
	if k.told != nil && k.told.Error() == err.Error() {
		return
	}
	k.told = err
	k.metrics.taken.WithLabelValues(k.address).Set(0)
	k.log.Error().Err(err).Time("expires", k.Leaf().NotAfter).
		Msg("the new TLS certificate cannot be used; the one before stays in use")
}

// Names are what the certificate is for.
func Names(c *x509.Certificate) []string {
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
