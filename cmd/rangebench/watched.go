package main

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/lanes"
)

// watched is a range whose control screen is served, as a gateway serves it.
type watched struct {
	screens
	gateway  *gateway
	r        *actors.Range
	sessions []uuid.UUID
	server   *http.Server
	address  string
	commands int // so far
	changes  int // those that were done
}

func (s screens) open(ctx context.Context) (w *watched, err error) {
	g, err := newGateway()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	w = &watched{screens: s, gateway: g}
	if w.r, err = g.start(ctx, s.Lanes, nil); err != nil {
		return nil, err
	}
	for _, place := range w.r.Layout().Lanes[:min(s.Sessions, s.Lanes)] {
		session, err := sell(ctx, w.r, place.ID)
		if err != nil {
			return nil, err
		}
		w.sessions = append(w.sessions, session)
	}
	w.server, w.address, err = serveAll(g, w.r)
	return w, err
}

func (w *watched) close() error { return errors.Join(w.server.Close(), w.gateway.close()) }

// used is what this process took for a while, and what the screens were told.
type used struct {
	cpu, took time.Duration
	changes   int
	count
}

// perSecond is how much of a core it took.
func (u used) perSecond() float64 { return u.cpu.Seconds() / u.took.Seconds() }

// usage is what is used while nothing happens, and while lanes change.
type usage struct{ idle, busy used }

func (w *watched) use(ctx context.Context, audience *child) (u usage, err error) {
	runtime.GC() // what came before, signing in for one
	time.Sleep(time.Second)
	if u.idle, err = w.measure(audience, func() { time.Sleep(w.Span) }); err != nil {
		return u, err
	}
	u.busy, err = w.measure(audience, func() { w.change(ctx) })
	return u, err
}

func (w *watched) measure(audience *child, during func()) (u used, err error) {
	told := func() (count, error) {
		if audience == nil {
			return count{}, nil
		}
		return audience.soFar()
	}
	before, err := told()
	if err != nil {
		return u, err
	}
	changes, cpu, begun := w.changes, cpuTime(), time.Now()
	during()
	u = used{cpu: cpuTime() - cpu, took: time.Since(begun), changes: w.changes - changes}
	after, err := told()
	u.count = count{after.bytes - before.bytes, after.messages - before.messages}
	return u, err
}

// change pauses sessions and resumes them, one after the other. On a machine whose disk is busy one may be refused.
func (w *watched) change(ctx context.Context) {
	next := time.NewTicker(time.Second / perSecond)
	defer next.Stop()
	for end := time.Now().Add(w.Span); time.Now().Before(end); w.commands++ {
		session := w.sessions[w.commands/2%len(w.sessions)]
		var command lanes.Command = lanes.Pause{Session: session}
		if w.commands%2 == 1 {
			command = lanes.Resume{Session: session}
		}
		if _, err := w.r.On(ctx, session, command, nil); err == nil {
			w.changes++
		}
		<-next.C
	}
}

// cpuTime is what this process has taken so far.
func cpuTime() time.Duration {
	var taken syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &taken) // fails for no one but who asks of a process that is none
	return time.Duration(taken.Utime.Nano() + taken.Stime.Nano())
}

// turn sets a ceasefire, or lifts it, and answers when the range itself had all of it: what is opened is saved first, and
// a disk takes its time.
func (w *watched) turn(ctx context.Context, closed bool) (done time.Time, err error) {
	over := lanes.Scope{Kind: lanes.OverRange}
	asked := make(chan error, 1)
	go func() {
		var err error
		if closed {
			_, err = w.r.Hold(ctx, over, viewerName)
		} else {
			_, err = w.r.Lift(ctx, over, viewerName)
		}
		asked <- err
	}()
	var answered <-chan error = asked
	for after := uint64(0); ; {
		_, version, wake := w.r.Changes(after)
		if !slices.ContainsFunc(w.r.Lanes(), func(l lanes.LaneStatus) bool { return l.Lane.Held != closed || l.Locked != closed }) {
			done = time.Now()
			if answered != nil {
				err = <-answered
			}
			return done, err
		}
		after = version
		select {
		case <-wake:
		case err := <-answered:
			if err != nil {
				return done, err
			}
			answered = nil
		case <-ctx.Done():
			return done, ctx.Err()
		}
	}
}

// rehearse holds one ceasefire, and keeps what a screen is told of it.
func (w *watched) rehearse(ctx context.Context, audience *child) (*bareStreams, error) {
	heard, err := record(ctx, w.address, w.r.Layout().Range)
	if err != nil {
		return nil, err
	}
	defer func() { _ = heard.stream.Close() }()
	bare := &bareStreams{picture: heard.cut()}
	for _, part := range []struct {
		closed bool
		text   *[]byte
	}{{true, &bare.closing}, {false, &bare.opening}} {
		if _, err := until(ctx, audience, w.turn, part.closed); err != nil {
			return nil, err
		}
		*part.text = heard.cut()
	}
	return bare, nil
}
