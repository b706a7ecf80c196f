package endpoint

import (
	"context"
	"net/http"
	"time"
)

// HandleAwaited is Handle for a request that may wait for what it asks for. await returns once there is
// something to respond with, or enough was waited for; its error refuses the request. It has no timeout, and
// a request that waits is not among those that API.Admit counts. The endpoint's time begins after it.
func HandleAwaited[In, Out any](
	method, path string, status int, summary string,
	read func(*Input) In,
	await func(context.Context, In) error,
	do func(context.Context, In) (Out, error),
	codes ...string,
) Endpoint {
	return handle(method, path, status, summary, read, await, do, codes).WithoutTimeout()
}

// writeTimeout is how long a client may take to accept a response that it has waited for, as long as for any other one.
const writeTimeout = 30 * time.Second

// limitTime returns the context for the rest of a request that has waited, and bounds the time for its response.
func (a *API) limitTime(ctx context.Context, w http.ResponseWriter) (context.Context, context.CancelFunc) {
	// A test's recorder has no deadline.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if a.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.Timeout)
}

// EventStream is the content type of server-sent events.
const EventStream = "text/event-stream"

// Stream declares an endpoint that responds with server-sent events for as long as its client reads. open
// does what can fail within API.Timeout, and returns the function that writes the response. example is a part
// of what is sent.
func Stream[In any](
	path, summary, example string,
	read func(*Input) In,
	open func(context.Context, In) (follow func(http.ResponseWriter, *http.Request), err error),
	codes ...string,
) Endpoint {
	e := declare[Empty](http.MethodGet, path, http.StatusOK, summary, func(in *Input) { read(in) }, codes)
	e.withoutTimeout, e.contentType, e.example = true, EventStream, example
	e.serve = func(ctx context.Context, a *API, w http.ResponseWriter, r *http.Request) error {
		in, err := e.receive(w, r)
		if err != nil {
			return err
		}
		input := read(in)
		if len(in.faults) > 0 {
			return in.faults
		}
		follow, err := runAdmitted(ctx, a, input, func() (func(http.ResponseWriter, *http.Request), error) {
			limited, cancel := a.limitTime(ctx, w)
			defer cancel()
			return open(limited, input)
		})
		if err != nil {
			return err
		}
		follow(w, r)
		return nil
	}
	return e
}
