package certificate_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate"
	"rangegate/cmd/rangegate/certificate/certificatetest"
)

// notes are what was logged.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(line []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(line)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// stand is a certificate that is kept, in a bubble of synctest.
type stand struct {
	*certificate.Kept
	t        *testing.T
	files    certificate.Files
	registry *prometheus.Registry
	log      *notes
}

func keep(t *testing.T, first certificatetest.Pair) *stand {
	s := &stand{t: t, registry: prometheus.NewRegistry(), log: &notes{}}
	s.files.Certificate, s.files.Key = first.Files(t)
	kept, err := certificate.Keep("http", s.files, certificate.NewMetrics(s.registry), zerolog.New(s.log))
	require.NoError(t, err)
	s.Kept = kept
	t.Cleanup(kept.Close)
	return s
}

// later is after the files were looked at so often.
func (s *stand) later(looks int) {
	time.Sleep(time.Duration(looks) * 5 * time.Second)
	synctest.Wait()
}

func (s *stand) serves(p certificatetest.Pair) {
	s.t.Helper()
	served, err := s.TLS().GetCertificate(nil)
	require.NoError(s.t, err)
	require.Equal(s.t, certificatetest.Block(p.Certificate), served.Certificate[0])
	require.InDelta(s.t, float64(p.Expires.Unix()), s.metric("rangegate_tls_certificate_expiry_timestamp_seconds"), 1)
}

func (s *stand) metric(name string) float64 {
	families, err := s.registry.Gather()
	require.NoError(s.t, err)
	for _, f := range families {
		if f.GetName() == name {
			require.Equal(s.t, "http", f.GetMetric()[0].GetLabel()[0].GetValue())
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.Fail(s.t, "no such metric", name)
	return 0
}

// wrong tells that the files have something that is not in use.
func (s *stand) wrong() bool {
	return s.metric("rangegate_tls_certificate_last_reload_successful") == 0
}

func (s *stand) errors() int { return strings.Count(s.log.String(), `"level":"error"`) }

func story(t *testing.T, tell func(t *testing.T, s *stand, second certificatetest.Pair)) {
	synctest.Test(t, func(t *testing.T) {
		first, second := certificatetest.Issue(t, 10*24*time.Hour), certificatetest.Issue(t, 90*24*time.Hour)
		s := keep(t, first)
		s.serves(first)
		tell(t, s, second)
	})
}

// The two files change one after the other, in either order, with a look in between: nothing is said of that.
func TestANewPairIsTakenWhicheverFileComesFirst(t *testing.T) {
	for _, keyFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("key first: ", keyFirst), func(t *testing.T) {
			story(t, func(t *testing.T, s *stand, second certificatetest.Pair) {
				if keyFirst {
					certificatetest.Replace(t, s.files.Key, second.Key)
				} else {
					certificatetest.Replace(t, s.files.Certificate, second.Certificate)
				}
				s.later(1)
				require.False(t, s.wrong())
				certificatetest.Replace(t, s.files.Key, second.Key)
				certificatetest.Replace(t, s.files.Certificate, second.Certificate)
				s.later(1)
				s.serves(second)
				require.Zero(t, s.errors(), s.log.String())
				require.Contains(t, s.log.String(), `"expires":"`+second.Expires.Format("2006-01-02T15:04"))
				s.later(10)
				require.Equal(t, 2, strings.Count(s.log.String(), "TLS certificate in use"), "said once of each")
			})
		})
	}
}

// certbot keeps every pair and lets a link point to the newest; Kubernetes does so with their folder.
func TestALinkThatPointsElsewhereIsANewPair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, 2*time.Hour)
		folders := map[string]certificatetest.Pair{}
		for _, p := range []certificatetest.Pair{first, second} {
			path, _ := p.Files(t)
			folders[filepath.Dir(path)] = p
		}
		link := filepath.Join(t.TempDir(), "live")
		files := certificate.Files{Certificate: filepath.Join(link, "fullchain.pem"), Key: filepath.Join(link, "privkey.pem")}
		s := &stand{t: t, registry: prometheus.NewRegistry(), log: &notes{}}
		for folder, p := range folders {
			require.NoError(t, os.Symlink(folder, link+".new"))
			require.NoError(t, os.Rename(link+".new", link))
			if s.Kept == nil {
				var err error
				s.Kept, err = certificate.Keep("http", files, certificate.NewMetrics(s.registry), zerolog.New(s.log))
				require.NoError(t, err)
				defer s.Close()
			}
			s.later(1)
			s.serves(p)
		}
	})
}

func TestABadPairIsSaidOnceAndTheOldOneStays(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, s *stand, second certificatetest.Pair)
		says  string
	}{
		"the key of another": {func(t *testing.T, s *stand, second certificatetest.Pair) {
			certificatetest.Replace(t, s.files.Key, second.Key)
		}, "is not the key of the certificate in"},
		"half a certificate": {func(t *testing.T, s *stand, second certificatetest.Pair) {
			certificatetest.Replace(t, s.files.Certificate, second.Certificate[:200])
		}, "holds no PEM certificate"},
		"no file": {func(t *testing.T, s *stand, _ certificatetest.Pair) {
			require.NoError(t, os.Remove(s.files.Certificate))
		}, "no such file or directory"},
		"one that has expired": {func(t *testing.T, s *stand, _ certificatetest.Pair) {
			expired := certificatetest.Issue(t, -time.Hour)
			certificatetest.Replace(t, s.files.Key, expired.Key)
			certificatetest.Replace(t, s.files.Certificate, expired.Certificate)
		}, "it expired on"},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, s *stand, second certificatetest.Pair) {
				served := *s.Leaf()
				c.spoil(t, s, second)
				s.later(20)
				require.Equal(t, 1, s.errors(), s.log.String())
				require.Contains(t, s.log.String(), c.says)
				require.True(t, s.wrong())
				require.Equal(t, served.Raw, s.Leaf().Raw)

				certificatetest.Replace(t, s.files.Key, second.Key)
				certificatetest.Replace(t, s.files.Certificate, second.Certificate)
				s.later(1)
				s.serves(second)
				require.False(t, s.wrong())
			})
		})
	}
}

func TestARepairThatBringsTheOldPairBackIsOne(t *testing.T) {
	story(t, func(t *testing.T, s *stand, second certificatetest.Pair) {
		old, err := os.ReadFile(s.files.Key)
		require.NoError(t, err)
		for range 2 {
			certificatetest.Replace(t, s.files.Key, second.Key)
			s.later(2)
			require.True(t, s.wrong())
			certificatetest.Replace(t, s.files.Key, old)
			s.later(1)
			require.False(t, s.wrong())
		}
		require.Equal(t, 2, s.errors(), "each time once")
	})
}

// A certificate that begins to be valid in an hour is in use in an hour.
func TestAPairThatIsNotValidYetIsTakenInItsTime(t *testing.T) {
	story(t, func(t *testing.T, s *stand, _ certificatetest.Pair) {
		later := certificatetest.Issue(t, 30*24*time.Hour, time.Hour)
		certificatetest.Replace(t, s.files.Key, later.Key)
		certificatetest.Replace(t, s.files.Certificate, later.Certificate)
		s.later(2)
		require.Contains(t, s.log.String(), "it is not valid before")
		time.Sleep(time.Hour)
		s.later(1)
		s.serves(later)
	})
}

func TestAReloadLooksAtOnce(t *testing.T) {
	story(t, func(t *testing.T, s *stand, second certificatetest.Pair) {
		require.NoError(t, s.Reload())
		certificatetest.Replace(t, s.files.Key, second.Key)
		require.ErrorContains(t, s.Reload(), "key: "+s.files.Key+" is not the key of the certificate in "+s.files.Certificate)
		require.True(t, s.wrong())
		certificatetest.Replace(t, s.files.Certificate, second.Certificate)
		require.NoError(t, s.Reload())
		s.serves(second)
	})
}

func TestAnExpiredPairIsServedFromTheStartAndSaidToBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expired := certificatetest.Issue(t, -time.Minute)
		s := keep(t, expired)
		s.serves(expired)
		require.Equal(t, 1, s.errors())
		require.Error(t, certificate.Outside(s.Leaf(), time.Now()))
		require.Equal(t, []string{"localhost", "127.0.0.1"}, certificate.Names(s.Leaf()))
	})
}
