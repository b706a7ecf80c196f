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
	"rangegate/config"
)

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// fixture is a watched certificate. Its tests run in a bubble of synctest.
type fixture struct {
	*certificate.Watcher
	t        *testing.T
	files    config.TLS
	registry *prometheus.Registry
	log      *logBuffer
}

func watch(t *testing.T, first certificatetest.Pair) *fixture {
	s := &fixture{t: t, registry: prometheus.NewRegistry(), log: &logBuffer{}}
	s.files.Certificate, s.files.Key = first.Files(t)
	watcher, err := certificate.Watch("http", s.files, certificate.NewMetrics(s.registry), zerolog.New(s.log))
	require.NoError(t, err)
	s.Watcher = watcher
	t.Cleanup(watcher.Close)
	return s
}

// wait waits until the files have been read so many times.
func (s *fixture) wait(reads int) {
	time.Sleep(time.Duration(reads) * 5 * time.Second)
	synctest.Wait()
}

func (s *fixture) requireServed(p certificatetest.Pair) {
	s.t.Helper()
	served, err := s.Config().GetCertificate(nil)
	require.NoError(s.t, err)
	require.Equal(s.t, certificatetest.Block(p.Certificate), served.Certificate[0])
	require.InDelta(s.t, float64(p.Expires.Unix()), s.metric("rangegate_tls_certificate_expiry_timestamp_seconds"), 1)
}

func (s *fixture) metric(name string) float64 {
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

// reloadFailed reports whether the metric says that the files cannot be used.
func (s *fixture) reloadFailed() bool {
	return s.metric("rangegate_tls_certificate_last_reload_successful") == 0
}

func (s *fixture) errorCount() int { return strings.Count(s.log.String(), `"level":"error"`) }

func withFixture(t *testing.T, test func(t *testing.T, s *fixture, second certificatetest.Pair)) {
	synctest.Test(t, func(t *testing.T) {
		first, second := certificatetest.Issue(t, 10*24*time.Hour), certificatetest.Issue(t, 90*24*time.Hour)
		s := watch(t, first)
		s.requireServed(first)
		test(t, s, second)
	})
}

// The two files change one after the other, in either order, with a read in between, which logs nothing.
func TestANewPairIsUsedWhicheverFileComesFirst(t *testing.T) {
	for _, keyFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("key first: ", keyFirst), func(t *testing.T) {
			withFixture(t, func(t *testing.T, s *fixture, second certificatetest.Pair) {
				if keyFirst {
					certificatetest.Replace(t, s.files.Key, second.Key)
				} else {
					certificatetest.Replace(t, s.files.Certificate, second.Certificate)
				}
				s.wait(1)
				require.False(t, s.reloadFailed())
				certificatetest.Replace(t, s.files.Key, second.Key)
				certificatetest.Replace(t, s.files.Certificate, second.Certificate)
				s.wait(1)
				s.requireServed(second)
				require.Zero(t, s.errorCount(), s.log.String())
				require.Contains(t, s.log.String(), `"expires":"`+second.Expires.Format("2006-01-02T15:04"))
				s.wait(10)
				require.Equal(t, 2, strings.Count(s.log.String(), "TLS certificate in use"), "one line for each pair")
			})
		})
	}
}

// certbot and Kubernetes point a link to the newest pair, or to its folder.
func TestARetargetedLinkIsANewPair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, 2*time.Hour)
		folders := map[string]certificatetest.Pair{}
		for _, p := range []certificatetest.Pair{first, second} {
			path, _ := p.Files(t)
			folders[filepath.Dir(path)] = p
		}
		link := filepath.Join(t.TempDir(), "live")
		files := config.TLS{Certificate: filepath.Join(link, "fullchain.pem"), Key: filepath.Join(link, "privkey.pem")}
		s := &fixture{t: t, registry: prometheus.NewRegistry(), log: &logBuffer{}}
		for folder, p := range folders {
			require.NoError(t, os.Symlink(folder, link+".new"))
			require.NoError(t, os.Rename(link+".new", link))
			if s.Watcher == nil {
				var err error
				s.Watcher, err = certificate.Watch("http", files, certificate.NewMetrics(s.registry),
					zerolog.New(s.log))
				require.NoError(t, err)
				defer s.Close()
			}
			s.wait(1)
			s.requireServed(p)
		}
	})
}

func TestAnUnusablePairIsLoggedOnceAndTheOldOneStays(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, s *fixture, second certificatetest.Pair)
		want  string
	}{
		"the key of another": {func(t *testing.T, s *fixture, second certificatetest.Pair) {
			certificatetest.Replace(t, s.files.Key, second.Key)
		}, "is not the key of the certificate in"},
		"half a certificate": {func(t *testing.T, s *fixture, second certificatetest.Pair) {
			certificatetest.Replace(t, s.files.Certificate, second.Certificate[:200])
		}, "holds no PEM certificate"},
		"no file": {func(t *testing.T, s *fixture, _ certificatetest.Pair) {
			require.NoError(t, os.Remove(s.files.Certificate))
		}, "no such file or directory"},
		"one that has expired": {func(t *testing.T, s *fixture, _ certificatetest.Pair) {
			expired := certificatetest.Issue(t, -time.Hour)
			certificatetest.Replace(t, s.files.Key, expired.Key)
			certificatetest.Replace(t, s.files.Certificate, expired.Certificate)
		}, "it expired on"},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, s *fixture, second certificatetest.Pair) {
				served := *s.Leaf()
				c.spoil(t, s, second)
				s.wait(20)
				require.Equal(t, 1, s.errorCount(), s.log.String())
				require.Contains(t, s.log.String(), c.want)
				require.True(t, s.reloadFailed())
				require.Equal(t, served.Raw, s.Leaf().Raw)

				certificatetest.Replace(t, s.files.Key, second.Key)
				certificatetest.Replace(t, s.files.Certificate, second.Certificate)
				s.wait(1)
				s.requireServed(second)
				require.False(t, s.reloadFailed())
			})
		})
	}
}

func TestRestoringTheOldPairEndsTheFailure(t *testing.T) {
	withFixture(t, func(t *testing.T, s *fixture, second certificatetest.Pair) {
		old, err := os.ReadFile(s.files.Key)
		require.NoError(t, err)
		for range 2 {
			certificatetest.Replace(t, s.files.Key, second.Key)
			s.wait(2)
			require.True(t, s.reloadFailed())
			certificatetest.Replace(t, s.files.Key, old)
			s.wait(1)
			require.False(t, s.reloadFailed())
		}
		require.Equal(t, 2, s.errorCount(), "one line each time")
	})
}

// A certificate that becomes valid in an hour is used in an hour.
func TestAPairThatIsNotValidYetIsUsedOnceItIs(t *testing.T) {
	withFixture(t, func(t *testing.T, s *fixture, _ certificatetest.Pair) {
		later := certificatetest.Issue(t, 30*24*time.Hour, time.Hour)
		certificatetest.Replace(t, s.files.Key, later.Key)
		certificatetest.Replace(t, s.files.Certificate, later.Certificate)
		s.wait(2)
		require.Contains(t, s.log.String(), "it is not valid before")
		time.Sleep(time.Hour)
		s.wait(1)
		s.requireServed(later)
	})
}

func TestReadReadsTheFilesAtOnce(t *testing.T) {
	withFixture(t, func(t *testing.T, s *fixture, second certificatetest.Pair) {
		first := s.Leaf()
		use, err := s.Read()
		require.NoError(t, err)
		use()
		certificatetest.Replace(t, s.files.Key, second.Key)
		use, err = s.Read()
		require.ErrorContains(t, err, "key: "+s.files.Key+" is not the key of the certificate in "+s.files.Certificate)
		require.True(t, s.reloadFailed())
		use()
		certificatetest.Replace(t, s.files.Certificate, second.Certificate)
		use, err = s.Read()
		require.NoError(t, err)
		require.Equal(t, first, s.Leaf(), "read, and not in use")
		use()
		s.requireServed(second)
		require.False(t, s.reloadFailed())
	})
}

// A pair that was read and put in use late does not replace a newer one.
func TestAPairThatWasReadEarlierReplacesNoNewerOne(t *testing.T) {
	withFixture(t, func(t *testing.T, s *fixture, second certificatetest.Pair) {
		useFirst, err := s.Read()
		require.NoError(t, err)
		certificatetest.Replace(t, s.files.Key, second.Key)
		certificatetest.Replace(t, s.files.Certificate, second.Certificate)
		s.wait(1)
		useFirst()
		s.requireServed(second)
	})
}

func TestAnExpiredPairIsServedAtTheStartAndLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expired := certificatetest.Issue(t, -time.Minute)
		s := watch(t, expired)
		s.requireServed(expired)
		require.Equal(t, 1, s.errorCount())
		require.Error(t, certificate.CheckValidity(s.Leaf(), time.Now()))
		require.Equal(t, []string{"localhost", "127.0.0.1"}, certificate.Names(s.Leaf()))
	})
}
