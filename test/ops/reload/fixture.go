// Package reload changes the configuration of the running binary, with controllers on real sockets and
// sessions on the lanes.
package reload

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

const (
	secondRange = "11111111-1111-4111-8111-222222222222"
	secondToken = "22222222-2222-4222-8222-999999999999"
	newToken    = "22222222-2222-4222-8222-333333333333"
)

// fixture is a gateway and its configuration, which a test changes and applies.
type fixture struct {
	*support.Gateway
	t      testing.TB
	config support.Config
}

// newFixture is a gateway that is not started, with one range of those lanes.
func newFixture(t testing.TB, lanes []string, settings ...string) *fixture {
	f := &fixture{t: t, config: support.NewConfig(t, lanes, settings...)}
	f.config.HTTP = support.NoLimit
	return f
}

// first is the configuration of the range of the support package.
func (f *fixture) first() *support.Range { return &f.config.Ranges[0] }

// second is a range beside the first one.
func second() support.Range {
	return support.Range{ID: secondRange, Tokens: []string{secondToken}, Lanes: support.Lanes(7, 7)}
}

// serve starts the gateway.
func (f *fixture) serve() *fixture {
	f.t.Helper()
	f.Gateway = f.config.Serve(f.t)
	return f
}

// reload applies the configuration and returns what the operations address answers.
func (f *fixture) reload(body string) (status int, answer map[string]any) {
	f.t.Helper()
	f.Configure(f.config.String())
	return f.reloadFile(body)
}

// reloadFile asks for a reload of the file as it is.
func (f *fixture) reloadFile(body string) (status int, answer map[string]any) {
	f.t.Helper()
	reloaded := f.Operate("POST", "/reload", body)
	reloaded.Decode(f.t, &answer)
	return reloaded.Status, answer
}

// metric is the sum of the series with that name and labels.
func (f *fixture) metric(name string, labels ...string) float64 {
	f.t.Helper()
	return f.Metrics().Sum(name, labels...)
}

// sell sells time on the lanes, 16 at a time.
func (f *fixture) sell(first, last int) {
	f.t.Helper()
	var selling sync.WaitGroup
	slots := make(chan struct{}, 16)
	for n := first; n <= last; n++ {
		selling.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answer, err := f.POS().DoInsisting("POST", "/sessions", support.Order(n, 30))
			if err != nil || answer.Status != http.StatusCreated {
				f.t.Errorf("lane %d: %v %v", n, answer, err)
			}
		})
	}
	selling.Wait()
}

// session is the only active one.
func (f *fixture) session() string {
	f.t.Helper()
	sessions := f.POS().Sessions()
	require.Len(f.t, sessions, 1)
	for id := range sessions {
		return id
	}
	return ""
}

// span is when a session ends, as exactly as it can be told from outside.
type span struct{ earliest, latest time.Time }

// deadlines are those of the running sessions, by session.
func (f *fixture) deadlines() map[string]span {
	f.t.Helper()
	asked := time.Now()
	sessions := f.POS().Sessions()
	answered := time.Now()
	deadlines := map[string]span{}
	for id, session := range sessions {
		deadlines[id] = span{
			asked.Add(session.Left.Duration - time.Millisecond),
			answered.Add(session.Left.Duration + time.Millisecond),
		}
	}
	return deadlines
}

func (s span) overlaps(other span) bool {
	return !s.latest.Before(other.earliest) && !other.latest.Before(s.earliest)
}
