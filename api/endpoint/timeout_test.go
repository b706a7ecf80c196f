package endpoint

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is an endpoint that responds once the channel delivers, or never.
func slow(release <-chan time.Time) Endpoint {
	return Handle("GET", "/slow", 200, "Slow", NoInput, func(ctx context.Context, _ Empty) (Empty, error) {
		select {
		case <-release:
			return Empty{}, nil
		case <-ctx.Done():
			return Empty{}, ctx.Err()
		}
	})
}

// deadlineRecorder records the write deadline of a response.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadline *time.Time
}

func (r deadlineRecorder) SetWriteDeadline(deadline time.Time) error {
	*r.deadline = deadline
	return nil
}

func TestAnEndpointTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := (&demo{}).api()
		api.Timeout = 5 * time.Second
		r := api.Router()
		api.Mount(r, prefix, []Endpoint{slow(nil)})
		began, deadline := time.Now(), time.Unix(1, 0)
		w := deadlineRecorder{httptest.NewRecorder(), &deadline}
		r.ServeHTTP(w, httptest.NewRequest("GET", prefix+"/slow", nil))
		require.Equal(t, "timeout", problem(t, w.ResponseRecorder).Code)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Equal(t, time.Unix(1, 0), deadline, "the server's own timeout stands")
	})
}

func TestAnEndpointWithoutTimeoutIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := (&demo{}).api()
		api.Timeout = 5 * time.Second
		r := api.Router(func(next http.Handler) http.Handler { return next })
		api.Mount(r, prefix, []Endpoint{slow(time.After(time.Minute)).WithoutTimeout()})
		deadline := time.Unix(1, 0)
		w := deadlineRecorder{httptest.NewRecorder(), &deadline}
		r.ServeHTTP(w, httptest.NewRequest("GET", prefix+"/slow", nil))
		require.Equal(t, http.StatusOK, w.Code)
		require.Zero(t, deadline, "the server's own timeout is lifted")
	})
}

// A goroutine that still works for a finished request finds its context cancelled, whether or not anybody
// waited before.
func TestAFinishedRequestIsCancelled(t *testing.T) {
	for name, waits := range map[string]bool{"waited for": true, "never waited for": false} {
		t.Run(name, func(t *testing.T) {
			api := (&demo{}).api()
			api.Timeout = time.Hour
			r := api.Router()
			var kept context.Context
			api.Mount(r, prefix, []Endpoint{Handle("GET", "/", 200, "Quick", NoInput,
				func(ctx context.Context, _ Empty) (Empty, error) {
					if waits {
						require.NoError(t, ctx.Err())
						deadline, ok := ctx.Deadline()
						require.True(t, ok)
						require.WithinDuration(t, time.Now().Add(time.Hour), deadline, time.Minute)
					}
					kept = ctx
					return Empty{}, nil
				})})
			w := httptest.NewRecorder()
			r.ServeHTTP(w, httptest.NewRequest("GET", prefix+"/", nil))
			require.Equal(t, http.StatusOK, w.Code)
			<-kept.Done()
			require.ErrorIs(t, kept.Err(), context.Canceled)
			require.NotEmpty(t, traceOf(kept), "its values remain")
		})
	}
}
