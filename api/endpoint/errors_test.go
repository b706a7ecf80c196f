package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// busy is a domain error with a wait of its own.
type busy struct{ wait time.Duration }

func (busy) Error() string               { return "queue is full" }
func (busy) Code() string                { return "overloaded" }
func (b busy) RetryAfter() time.Duration { return b.wait }

func TestTheResponsesToErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		code    string
		message string
		retry   string
		defects int
	}{
		"a code and its own sentence": {
			refused{"lane_occupied", "lane 3 is taken"},
			"lane_occupied",
			"lane 3 is taken", "", 0,
		},
		"wrapped": {fmt.Errorf("range 7: %w",
			refused{"lane_occupied", "lane 3 is taken"}), "lane_occupied", "lane 3 is taken", "", 0},
		"joined": {errors.Join(errors.New("x"),
			refused{"lane_occupied", "lane 3 is taken"}), "lane_occupied", "lane 3 is taken", "", 0},
		"only a code": {
			Refusal("lane_occupied"), "lane_occupied",
			"lane is occupied by another session", "", 0,
		},
		"the wait of the table": {
			Refusal("overloaded"), "overloaded",
			"too busy; nothing was changed", "2", 0,
		},
		"the wait of the error": {
			fmt.Errorf("x: %w", busy{1200 * time.Millisecond}), "overloaded",
			"queue is full", "2", 0,
		},
		"out of time": {
			fmt.Errorf("save: %w", context.DeadlineExceeded), "timeout",
			"the outcome is not known", "", 0,
		},
		"an unknown code": {
			refused{"no_such_code", "secret"},
			"internal",
			"a defect of ours; quote the trace_id", "", 1,
		},
		"the code of a defect": {
			refused{"internal", "secret"},
			"internal",
			"a defect of ours; quote the trace_id", "", 1,
		},
		"a bare error": {
			errors.New("secret"), "internal",
			"a defect of ours; quote the trace_id", "", 1,
		},
		"cancelled, the client still connected": {
			fmt.Errorf("secret: %w", context.Canceled), "internal",
			"a defect of ours; quote the trace_id", "", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, h := newDemo()
			d.fails = c.err
			w := call(h, "GET", prefix+"/sessions/"+laneID, "")
			f := problem(t, w)
			require.Equal(t, c.code, f.Code)
			require.Equal(t, c.message, f.Error)
			require.Equal(t, c.retry, w.Header().Get("Retry-After"))
			require.Len(t, d.defects, c.defects)
			if c.defects > 0 {
				require.True(t, strings.HasPrefix(d.defects[0], f.TraceID+" "),
					"the log has the cause under the trace id")
				require.Contains(t, d.defects[0], c.err.Error())
			}
		})
	}
}

func TestAnEndpointMayReturnFaultsItself(t *testing.T) {
	d, h := newDemo()
	d.fails = fmt.Errorf("history: %w", Faults{"after": "is no cursor of ours"})
	f := problem(t, call(h, "GET", prefix+"/history?after=1042", ""))
	require.Equal(t, Faults{"after": "is no cursor of ours"}, f.Fields)
	require.Equal(t, "the request is invalid", f.Error)
}

func TestACancelledRequestIsNoDefect(t *testing.T) {
	d, h := newDemo()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.fails = fmt.Errorf("ask lane: %w", context.Canceled)
	r := httptest.NewRequest("GET", prefix+"/sessions", nil).WithContext(ctx)
	r.Header.Set("token", "any")
	require.Equal(t, clientGone, serve(h, r).Code)
	require.Empty(t, d.defects)

	d.fails = errors.New("a real defect")
	serve(h, r)
	require.Len(t, d.defects, 1, "a defect is reported also if the client is gone")
}

func TestACodeOutsideTheTableStopsTheStart(t *testing.T) {
	d := &demo{}
	stray := []Endpoint{Handle("GET", "/x", 200, "X", NoInput, do(d, func(Empty) Empty { return Empty{} }), "stray")}
	require.PanicsWithValue(t, `endpoint: the table of errors has no code "stray"`, func() {
		d.api().Mount(d.api().Router(), prefix, stray)
	})
	require.Panics(t, func() { (&API{}).Router() })
}
