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

// slow is an endpoint that answers once it is let go, or not at all.
func slow(answer <-chan time.Time) Endpoint {
	return Handle("GET", "/slow", 200, "Slow", NoInput, func(ctx context.Context, _ Empty) (Empty, error) {
		select {
		case <-answer:
			return Empty{}, nil
		case <-ctx.Done():
			return Empty{}, ctx.Err()
		}
	})
}

// connection remembers until when an answer may be written.
type connection struct {
	*httptest.ResponseRecorder
	until *time.Time
}

func (c connection) SetWriteDeadline(until time.Time) error {
	*c.until = until
	return nil
}

func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := (&demo{}).api()
		api.Patience = 5 * time.Second
		r := api.Router()
		api.Mount(r, prefix, []Endpoint{slow(nil)})
		began, until := time.Now(), time.Unix(1, 0)
		w := connection{httptest.NewRecorder(), &until}
		r.ServeHTTP(w, httptest.NewRequest("GET", prefix+"/slow", nil))
		require.Equal(t, "timeout", problem(t, w.ResponseRecorder).Code)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Equal(t, time.Unix(1, 0), until, "the server's own time-out stands")
	})
}

func TestTheUnhurriedAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := (&demo{}).api()
		api.Patience = 5 * time.Second
		r := api.Router(func(next http.Handler) http.Handler { return next })
		api.Mount(r, prefix, []Endpoint{slow(time.After(time.Minute)).Unhurried()})
		until := time.Unix(1, 0)
		w := connection{httptest.NewRecorder(), &until}
		r.ServeHTTP(w, httptest.NewRequest("GET", prefix+"/slow", nil))
		require.Equal(t, http.StatusOK, w.Code)
		require.Zero(t, until, "the server's own time-out is lifted")
	})
}

// Whoever still works for a request when it is over hears so, whether anybody waited before or not.
func TestARequestThatIsOver(t *testing.T) {
	for name, waits := range map[string]bool{"waited for": true, "never waited for": false} {
		t.Run(name, func(t *testing.T) {
			api := (&demo{}).api()
			api.Patience = time.Hour
			r := api.Router()
			var working context.Context
			api.Mount(r, prefix, []Endpoint{Handle("GET", "/", 200, "Quick", NoInput, func(ctx context.Context, _ Empty) (Empty, error) {
				if waits {
					require.NoError(t, ctx.Err())
					until, has := ctx.Deadline()
					require.True(t, has)
					require.WithinDuration(t, time.Now().Add(time.Hour), until, time.Minute)
				}
				working = ctx
				return Empty{}, nil
			})})
			w := httptest.NewRecorder()
			r.ServeHTTP(w, httptest.NewRequest("GET", prefix+"/", nil))
			require.Equal(t, http.StatusOK, w.Code)
			<-working.Done()
			require.ErrorIs(t, working.Err(), context.Canceled)
			require.NotEmpty(t, TraceID(working), "and still knows which it was")
		})
	}
}
