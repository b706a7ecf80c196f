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

// watched is a range with its screens, served as a gateway does.
type watched struct {
	screens
	gateway  *gateway
	r        *actors.Range
	sessions []uuid.UUID
	server   *http.Server
	address  string
	commands int // so far
	changes  int // that succeeded
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

// used is the processor time of a measurement, and what the screens have received.
type used struct {
	cpu, took time.Duration
	changes   int
	count
}

// perSecond returns the share of a core.
func (u used) perSecond() float64 { return u.cpu.Seconds() / u.took.Seconds() }

// usage is measured while idle and while lanes change.
type usage struct{ idle, busy used }

func (w *watched) use(ctx context.Context, audience *child) (u usage, err error) {
	runtime.GC() // of earlier work, such as signing in
	time.Sleep(time.Second)
	if u.idle, err = w.measure(audience, func() { time.Sleep(w.Span) }); err != nil {
		return u, err
	}
	u.busy, err = w.measure(audience, func() { w.change(ctx) })
	return u, err
}

func (w *watched) measure(audience *child, during func()) (u used, err error) {
	received := func() (count, error) {
		if audience == nil {
			return count{}, nil
		}
		return audience.receivedSoFar()
	}
	before, err := received()
	if err != nil {
		return u, err
	}
	changes, cpu, begun := w.changes, cpuTime(), time.Now()
	during()
	u = used{cpu: cpuTime() - cpu, took: time.Since(begun), changes: w.changes - changes}
	after, err := received()
	u.count = count{after.bytes - before.bytes, after.messages - before.messages, after.reached}
	return u, err
}

// change pauses and resumes sessions one after the other. With a busy disk one may be refused.
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

// cpuTime returns the processor time of this process so far.
func cpuTime() time.Duration {
	var taken syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &taken) // cannot fail for this process
	return time.Duration(taken.Utime.Nano() + taken.Stime.Nano())
}

// turn sets or lifts a ceasefire, and returns when the range had all of it: a lift is saved before the lanes open.
func (w *watched) turn(ctx context.Context, closed bool) (done time.Time, err error) {
	over := lanes.Scope{Kind: lanes.OverRange}
	asked := make(chan error, 1)
	go func() {
		var err error
		if closed {
			_, err = w.r.Hold(ctx, over, viewerName)
		} else {
			_, err = w.r.Lift(ctx, over, uuid.Nil, viewerName)
		}
		asked <- err
	}()
	var answered <-chan error = asked
	for after := uint64(0); ; {
		_, version, wake := w.r.Changes(after)
		if !slices.ContainsFunc(w.r.Lanes(), func(l lanes.LaneStatus) bool {
			return l.Lane.Held != closed ||
				l.Locked != closed
		}) {
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

// rehearse makes one ceasefire, and records what a screen receives.
func (w *watched) rehearse(ctx context.Context, audience *child) (*bareStreams, error) {
	stream, err := openControl(ctx, w.address, w.r.Layout().Range.String())
	if err != nil {
		return nil, err
	}
	heard := record(stream)
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
