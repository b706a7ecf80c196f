package endpoint

import (
	"context"
	"sync"
	"time"
)

// patient is the context of a request that may take so long. It is what context.WithDeadline makes, made when somebody
// first waits for it: whoever reads from memory never does, and pays for no timer.
type patient struct {
	context.Context // of the request
	until           time.Time

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

func (p *patient) wait() context.Context {
	p.once.Do(func() { p.timed, p.cancel = context.WithDeadline(p.Context, p.until) })
	return p.timed
}

// Deadline, Done and Err are those of the context with the deadline. Values are the request's.
func (p *patient) Deadline() (time.Time, bool) { return p.wait().Deadline() }
func (p *patient) Done() <-chan struct{}       { return p.wait().Done() }
func (p *patient) Err() error                  { return p.wait().Err() }

// end is the end of the request. Who comes to wait afterwards need not.
func (p *patient) end() {
	p.once.Do(func() { p.timed, p.cancel = answered, func() {} })
	p.cancel()
}

// answered is the context of every request that is over and was not waited for.
var answered = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
