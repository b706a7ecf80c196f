package actors

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/store"
)

// The faults of a store, as hooks before it.

// refuses takes nothing, and says so.
func refuses(context.Context, store.Batch, func() error) error { return store.ErrRefused }

func refusesSlowly(context.Context, store.Batch, func() error) error {
	<-time.After(300 * time.Millisecond)
	return store.ErrRefused
}

// hangs writes nothing and gives no answer.
func hangs(ctx context.Context, _ store.Batch, _ func() error) error {
	<-ctx.Done()
	return ctx.Err()
}

// goesSilent writes, and its answers are lost.
func goesSilent(ctx context.Context, _ store.Batch, flush func() error) error {
	if err := flush(); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

var errAnswerLost = errors.New("the connection broke before the answer came")

// losesAnswers writes, and breaks the connection.
func losesAnswers(_ context.Context, _ store.Batch, flush func() error) error {
	if err := flush(); err != nil {
		return err
	}
	return errAnswerLost
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// witness is a driver that notes what the hardware is told, and by how many connections.
type witness struct {
	link.Driver

	mu     sync.Mutex
	states []toldState
	dials  int
	closes int
}

type toldState struct {
	lane  uuid.UUID
	at    time.Time // of the scheduler
	open  bool
	state link.State
}

// watchedBy puts the witness between the range and its simulated hardware.
func watchedBy(w *witness) option {
	return func(g *rig) {
		w.Driver = g.hardware
		g.settings.Driver = w
	}
}

func (w *witness) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	connection, hello, err := w.Driver.Dial(ctx, lane, to)
	if err != nil {
		return nil, hello, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials++
	return &watchedConnection{Connection: connection, by: w, lane: lane.ID}, hello, nil
}

// connections is how many were made, and how many of them were closed.
func (w *witness) connections() (made, closed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials, w.closes
}

// told is what the lane's hardware was told since the instant of the scheduler.
func (w *witness) told(lane uuid.UUID, since time.Time) []toldState {
	w.mu.Lock()
	defer w.mu.Unlock()
	var told []toldState
	for _, s := range w.states {
		if s.lane == lane && !s.at.Before(since) {
			told = append(told, s)
		}
	}
	return told
}

// opened reports whether the lane's hardware was told to open its fire line since the instant of the scheduler.
func (w *witness) opened(lane uuid.UUID, since time.Time) bool {
	for _, s := range w.told(lane, since) {
		if s.open {
			return true
		}
	}
	return false
}

type watchedConnection struct {
	link.Connection
	by     *witness
	lane   uuid.UUID
	closed sync.Once
}

func (c *watchedConnection) Send(s link.State) {
	c.by.mu.Lock()
	running := s.Session != nil && s.Session.Phase == lanes.Running
	c.by.states = append(c.by.states, toldState{c.lane, time.Now(), running && !s.Hold, s})
	c.by.mu.Unlock()
	c.Connection.Send(s)
}

func (c *watchedConnection) Close() {
	c.closed.Do(func() {
		c.by.mu.Lock()
		defer c.by.mu.Unlock()
		c.by.closes++
	})
	c.Connection.Close()
}
