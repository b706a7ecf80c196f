package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"rangegate/actors"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
)

var eventStreams = experiment{
	"events",
	"1,000 readers of one range's events: memory, and how soon the last one has an event", measureEventStreams,
}

const (
	eventReaderCount = 1000
	fanOuts          = 30 // events in a round
)

func measureEventStreams(ctx context.Context, t *trial) error {
	n := t.lanes(eventReaderCount)
	if have := files(n + 100); have < n+100 {
		return &notMeasured{fmt.Sprintf("this process may open %d files", have)}
	}
	return t.compareApart(ctx, 5, isolated{What: "event streams", Lanes: n},
		isolated{What: "bare event streams", Lanes: n},
		figures.Figure{
			Name: "stream", Unit: "KB", Goal: figures.AtMost(1.5),
			What:  "an open GET /events/stream",
			Limit: "a request of net/http that writes server-sent events of the same bytes",
		},
		figures.Figure{
			Name: "fan-out", Unit: "ms", Goal: figures.AtMost(2),
			What:  "from an event's being durable until the last of all streams has it: the median of 30 events",
			Limit: "from the wake of as many bare requests until the last has the same bytes",
		},
		figures.Figure{
			Name: "poll", Unit: "KB", Goal: figures.Below(20),
			What:  "a GET /events that waits, beyond its idle connection",
			Limit: "likewise a request of net/http that waits",
		})
}

// readersFixture is a server of events and its readers.
type readersFixture struct {
	address string // host:port
	header  map[string]string
	server  *http.Server
	// publish makes one event, and returns when the server knew of it.
	publish func(ctx context.Context) (time.Time, error)
}

func eventStreamsOfRange(ctx context.Context, a isolated) (had []float64, err error) {
	g, err := newGatewayOn(a.Store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	r, err := g.start(ctx, 1, nil)
	if err != nil {
		return nil, err
	}
	session, err := sell(ctx, r, r.Layout().Lanes[0].ID)
	if err != nil {
		return nil, err
	}
	server, address, err := serveAll(g, r)
	if err != nil {
		return nil, err
	}
	paused := false
	f := readersFixture{
		address: strings.TrimPrefix(address, "http://"), server: server,
		header: map[string]string{"range-id": r.Layout().Range.String(), "token": posToken},
		publish: func(ctx context.Context) (time.Time, error) {
			durable := nextEvent(r)
			var command lanes.Command = lanes.Pause{Session: session}
			if paused {
				command = lanes.Resume{Session: session}
			}
			paused = !paused
			_, err := r.On(ctx, session, command, nil)
			return <-durable, err
		},
	}
	defer func() { err = errors.Join(err, f.server.Close()) }()
	sold, _ := r.FollowEvents()
	last := sold + fanOuts
	return f.measure(ctx, a.Lanes, fmt.Sprintf("%s/events/stream?after=%d", prefix, sold),
		fmt.Sprintf("%s/events?after=%d", prefix, last), fmt.Sprintf("%s/events?wait=60&after=%d", prefix, last))
}

// nextEvent returns a channel that gets the instant at which the next event is durable.
func nextEvent(r *actors.Range) <-chan time.Time {
	_, next := r.FollowEvents()
	_, wake := next()
	at := make(chan time.Time, 1)
	go func() {
		<-wake
		at <- time.Now()
	}()
	return at
}

// bareEventStreams writes the same bytes to as many bare requests.
func bareEventStreams(ctx context.Context, a isolated) (had []float64, err error) {
	b := &bareEvents{wake: make(chan struct{})}
	server, address, err := serve(b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	f := readersFixture{address: strings.TrimPrefix(address, "http://"), server: server, publish: b.publish}
	return f.measure(ctx, a.Lanes, "/stream", "/quick", "/poll")
}

// bareEvents wakes all requests by closing a channel.
type bareEvents struct {
	mu   sync.Mutex
	wake chan struct{}
}

const bareEvent = "id: 1042\ndata: " +
	"{\"cursor\":\"1042\",\"id\":\"7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d\",\"occurred_at\":\"2026-05-01T10:00:00.000Z\"," +
	"\"payload\":{\"event\":\"sessionPaused\",\"session_id\":\"7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d\",\"lane_id\":\"44444444-4444-4444-8444-000000000001\"}," +
	"\"simulated\":false,\"attempt\":{\"at\":\"2026-05-01T10:00:00.000Z\",\"status\":null,\"error\":\"not sent: " +
	"no webhook is configured\"," +
	"\"duration_ms\":0,\"outcome\":\"not_sent\"}}\n\n"

func (b *bareEvents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/poll":
		<-r.Context().Done()
		return
	case "/quick":
		say(w, http.StatusOK, []byte(`{"events":[],"next":"32"}`))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	connection := http.NewResponseController(w)
	_ = connection.SetWriteDeadline(time.Time{})
	for text := []byte("retry: 1000\n\n"); ; text = []byte(bareEvent) {
		b.mu.Lock()
		wake := b.wake
		b.mu.Unlock()
		if _, err := w.Write(text); err != nil || connection.Flush() != nil {
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}

func (b *bareEvents) publish(context.Context) (time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wake := b.wake
	b.wake = make(chan struct{})
	now := time.Now()
	close(wake)
	return now, nil
}

// measure returns the kilobytes of a stream, the milliseconds until the last one has an event, and the
// kilobytes of a poll.
func (f readersFixture) measure(ctx context.Context, n int, stream, quick, poll string) ([]float64, error) {
	files(n + 100)
	each, fanOut, err := f.streams(ctx, n, stream)
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Second) // until the server has noticed that they are gone
	waiting, err := f.polls(n, quick, poll)
	return []float64{each, fanOut, waiting}, err
}

// streams opens streams, and returns the kilobytes of each and the milliseconds until the last one has an event.
func (f readersFixture) streams(ctx context.Context, n int, path string) (kilobytes, fanOut float64, err error) {
	before := inUse()
	readers, err := newPeer("event-readers")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, readers.close()) }()
	var have readersHave
	if err := readers.question(readersWanted{Address: f.address, Header: f.header, Stream: path, Open: n},
		&have); err != nil {
		return 0, 0, err
	}
	var took []float64
	for event := 1; event <= fanOuts; event++ {
		time.Sleep(20 * time.Millisecond) // every stream waits again
		at, err := f.publish(ctx)
		if err == nil {
			err = readers.question(readersWanted{Event: event}, &have)
		}
		if err != nil {
			return 0, 0, err
		}
		took = append(took, milliseconds(time.Unix(0, have.At).Sub(at)))
	}
	return each(before, n), figures.Percentile(took, 50), nil
}

// polls opens connections, and returns the kilobytes that a request adds to each while it gets no answer.
func (f readersFixture) polls(n int, quick, poll string) (kilobytes float64, err error) {
	readers, err := newPeer("event-readers")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, readers.close()) }()
	var have readersHave
	if err := readers.question(readersWanted{Address: f.address, Header: f.header, Open: n, Quick: quick},
		&have); err != nil {
		return 0, err
	}
	time.Sleep(time.Second) // until all connections are idle
	before := inUse()
	if err := readers.question(readersWanted{Address: f.address, Header: f.header, Poll: poll}, &have); err != nil {
		return 0, err
	}
	time.Sleep(time.Second) // until all requests wait
	kilobytes = each(before, n)
	return kilobytes, readers.question(readersWanted{}, &have)
}
