package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// switchboard is a driver whose connections a story makes, hears and breaks itself.
type switchboard struct {
	answer func(ctx context.Context) error // how a dial ends; nil: it connects at once

	mu    sync.Mutex
	first []lanes.Report // what every controller says first
	dials []dialling
	lines []*openLine // that were connected, oldest first
}

type dialling struct {
	begun time.Time
	took  time.Duration
}

type openLine struct {
	to     link.Receiver
	on     *switchboard
	states []link.State
	acks   []lanes.Log
	closed bool
	defect bool // the next state makes the driver panic
	clings bool // closing it makes the driver panic
}

var errNoAnswer = errors.New("the controller does not answer")

func (s *switchboard) Dial(ctx context.Context, _ link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	begun := time.Now()
	s.mu.Lock()
	answer, first := s.answer, s.first
	s.mu.Unlock()
	for _, report := range first {
		to.Reported(report)
	}
	var err error
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dials = append(s.dials, dialling{begun, time.Since(begun)})
	}()
	if answer != nil {
		if err = answer(ctx); err != nil {
			return nil, link.Hello{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line := &openLine{to: to, on: s}
	s.lines = append(s.lines, line)
	return line, link.Hello{}, nil
}

// answers says how dials end from now on.
func (s *switchboard) answers(answer func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// says is what controllers say from now on as soon as they are connected.
func (s *switchboard) says(first ...lanes.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = first
}

func fails(context.Context) error { return errNoAnswer }

// newest is the connection that was made last.
func (s *switchboard) newest() *openLine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines[len(s.lines)-1]
}

// made is how many connections there were.
func (s *switchboard) made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

// dialled is the dials so far.
func (s *switchboard) dialled() []dialling {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dials)
}

// gaps is how long the link waited after each dial before the next.
func (s *switchboard) gaps() (gaps []time.Duration) {
	dials := s.dialled()
	for i, dial := range dials[1:] {
		gaps = append(gaps, dial.begun.Sub(dials[i].begun)-dials[i].took)
	}
	return gaps
}

func (l *openLine) Send(s link.State) {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	if l.defect {
		l.defect = false
		panic("a defect of the driver")
	}
	l.states = append(l.states, s)
}

func (l *openLine) Ack(log lanes.Log) {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	l.acks = append(l.acks, log)
}

func (l *openLine) Close() {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	l.closed = true
	if l.clings {
		panic("a defect of the driver")
	}
}

// told is the states that came over the connection.
func (l *openLine) told() []link.State {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	return slices.Clone(l.states)
}

// acked is the acknowledgements that came over the connection.
func (l *openLine) acked() []lanes.Log {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	return slices.Clone(l.acks)
}

func (l *openLine) isClosed() bool {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	return l.closed
}

// breaks lets the connection fail.
func (l *openLine) breaks() {
	l.to.Down(errNoAnswer)
	synctest.Wait()
}

// fails makes the driver panic on the next state.
func (l *openLine) fails() {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	l.defect = true
}

// failsToClose makes the driver panic when the connection is closed.
func (l *openLine) failsToClose() {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	l.clings = true
}
