package clock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"rangegate/lanes"
)

// Reference is a clock that the machines have in common.
type Reference interface {
	// Time reads it, and names it: another name means another clock.
	Time(ctx context.Context) (now time.Time, name string, err error)
}

// Shared is a Clock of a machine whose wall clock is compared with a reference. A reference that is replaced,
// as a Redis server that fails over, is remembered: a range whose last checkpoint was compared with it can
// still be taken over exactly.
type Shared struct {
	Clock
	reference Reference
	missing   singleflight.Group // measurements for ranges that are taken over

	mu       sync.Mutex
	measured []measurement // one of each clock, that of the present one first; empty before the first
}

// measurement is one reading of a reference.
type measurement struct {
	at     time.Duration // of the boot clock: a wall clock that is set later is off by so much more
	read   time.Time
	within time.Duration // half the exchange: the reading is off by that at most
	name   string
}

const (
	// MeasureEvery is how often the offset is measured: a checkpoint is to name a clock that has replaced another soon.
	MeasureEvery = time.Second
	// MeasureWithin bounds a measurement.
	MeasureWithin = 2 * time.Second
	// OffsetTolerated is the offset up to which nobody has to look at the clocks.
	OffsetTolerated = 250 * time.Millisecond
	// OffsetRefused is the offset over which a node takes no ranges.
	OffsetRefused = 2 * time.Second

	samples      = 5
	sampleWithin = OffsetTolerated
	driftPer     = 10_000    // a boot clock and a reference drift apart by 1 in so many, more than quartz does
	formerFor    = time.Hour // a former clock is remembered: the drift is 360 ms by then
)

// NewShared returns a clock whose offset is not known before Measure.
func NewShared(machine Clock, reference Reference) *Shared {
	return &Shared{Clock: machine, reference: reference}
}

var errSlow = errors.New("each reading took too long")

// Measure reads the reference a few times and takes the reading of the shortest exchange: it is off by half
// of that at most. A longer exchange than sampleWithin says nothing: the process, or the network, stood still
// meanwhile. After an error the measurement before stays.
func (s *Shared) Measure(ctx context.Context) error {
	var best *measurement
	failed := errSlow
	for range samples {
		began := s.Now()
		limited, cancel := context.WithTimeout(ctx, sampleWithin)
		read, name, err := s.reference.Time(limited)
		cancel()
		took := s.Now().Since(began)
		switch {
		case err != nil:
			failed = err
		case took <= sampleWithin && (best == nil || name != best.name || took/2 < best.within):
			best = &measurement{began.Mono + took/2, read, took / 2, name}
		}
	}
	if best == nil {
		return fmt.Errorf("reading the clock of the store: %w", failed)
	}
	s.keep(*best)
	return nil
}

// keep makes the measurement the present one, unless it says nothing that is not known more exactly.
func (s *Shared) keep(m measurement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.measured) > 0 && s.measured[0].covers(m) {
		return
	}
	former := slices.DeleteFunc(s.measured, func(f measurement) bool {
		return f.name == m.name || m.at-f.at > formerFor
	})
	s.measured = append([]measurement{m}, former...)
}

// covers reports whether m is still more exact than a newer measurement of the same clock, and agrees with
// it: the clock was not set.
func (m measurement) covers(newer measurement) bool {
	age := newer.at - m.at
	within := m.within + age/driftPer
	differ := newer.read.Sub(m.read) - age
	return m.name == newer.name && within < newer.within && differ.Abs() <= within+newer.within
}

// Offset returns the offset of the wall clock at that reading, nil before the first measurement. Between
// measurements the boot clock goes on for the reference.
func (s *Shared) Offset(at lanes.Instant) *lanes.Offset {
	offset, _ := s.offsetFrom("", at)
	return offset
}

// Time returns the time by the present reference, and that one's name; no name before the first measurement.
func (s *Shared) Time() (now time.Time, name string) {
	at := s.Now()
	offset := s.Offset(at)
	if offset == nil {
		return at.Wall, ""
	}
	return at.Wall.Add(-offset.Ahead), offset.Clock
}

// TimeBy returns the time by the reference of that name. found is false if that was not measured here.
func (s *Shared) TimeBy(name string) (now time.Time, found bool) {
	at := s.Now()
	offset, found := s.offsetFrom(name, at)
	if !found {
		return at.Wall, false
	}
	return at.Wall.Add(-offset.Ahead), true
}

// offsetFrom returns the offset from the clock of that name. found is false where it is not known here: the
// offset is that from the present clock then.
func (s *Shared) offsetFrom(name string, at lanes.Instant) (offset *lanes.Offset, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.measured) == 0 {
		return nil, false
	}
	i := slices.IndexFunc(s.measured, func(m measurement) bool { return m.name == name })
	m := s.measured[max(0, i)]
	return &lanes.Offset{Ahead: at.Wall.Sub(m.read.Add(at.Mono - m.at)), Clock: m.name}, i >= 0
}

// Refusing returns why this node should take no ranges now, empty if the clock is no reason. A node that does
// not know its offset would make its wall clock's error session time.
func (s *Shared) Refusing() string {
	offset := s.Offset(s.Now())
	switch {
	case offset == nil:
		return "how far its clock is off that of the store could not be measured yet"
	case offset.Ahead.Abs() > OffsetRefused:
		return fmt.Sprintf("its clock is %v off that of the store", offset.Ahead.Round(time.Millisecond))
	}
	return ""
}

// Read reads the clock, with its offset where that is known.
func Read(c Clock) lanes.Checkpoint {
	reading := lanes.Checkpoint{At: c.Now(), Boot: c.Boot()}
	if shared, ok := c.(*Shared); ok {
		reading.Offset = shared.Offset(reading.At)
	}
	return reading
}

// ReadAfter reads the clock to go on with what another machine has left, as of its last checkpoint: with the
// offset from the clock that the checkpoint names. If that one was never measured here, it may have replaced
// another just now: it is measured, which takes MeasureWithin at most. The offset is that from the present
// clock if it is not known then either.
func ReadAfter(ctx context.Context, c Clock, last lanes.Checkpoint) lanes.Checkpoint {
	shared, ok := c.(*Shared)
	if !ok || last.Offset == nil || last.Boot == c.Boot() {
		return Read(c)
	}
	if _, found := shared.offsetFrom(last.Offset.Clock, c.Now()); !found {
		// After an error what is known counts; the next measurement logs its own.
		_, _, _ = shared.missing.Do("", func() (any, error) {
			ctx, cancel := context.WithTimeout(ctx, MeasureWithin)
			defer cancel()
			return nil, shared.Measure(ctx)
		})
	}
	reading := lanes.Checkpoint{At: c.Now(), Boot: c.Boot()}
	reading.Offset, _ = shared.offsetFrom(last.Offset.Clock, reading.At)
	return reading
}
