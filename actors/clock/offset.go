package clock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"rangegate/lanes"
)

// Reference is a clock that the machines have in common.
type Reference interface {
	// Time reads it, and names it: another name means another clock.
	Time(ctx context.Context) (now time.Time, name string, err error)
}

// Shared is a Clock of a machine whose wall clock is compared with a reference.
type Shared struct {
	Clock
	reference Reference

	mu       sync.Mutex
	measured *measurement // nil before the first
}

// measurement is one reading of the reference.
type measurement struct {
	at   time.Duration // of the boot clock: a wall clock that is set later is off by so much more
	read time.Time
	name string
}

const (
	// MeasureEvery is how often the offset is measured.
	MeasureEvery = 10 * time.Second
	// OffsetTolerated is the offset up to which nobody has to look at the clocks.
	OffsetTolerated = 250 * time.Millisecond
	// OffsetRefused is the offset over which a node takes no ranges.
	OffsetRefused = 2 * time.Second

	samples      = 5
	sampleWithin = time.Second
)

// NewShared returns a clock whose offset is not known before Measure.
func NewShared(machine Clock, reference Reference) *Shared {
	return &Shared{Clock: machine, reference: reference}
}

// Measure reads the reference a few times, each within a second, and keeps the reading of the shortest exchange: it is off by half of
// that at most. After an error the measurement before stays.
func (s *Shared) Measure(ctx context.Context) error {
	var best *measurement
	var shortest time.Duration
	for range samples {
		began := s.Now()
		limited, cancel := context.WithTimeout(ctx, sampleWithin)
		read, name, err := s.reference.Time(limited)
		cancel()
		if err != nil {
			if best != nil {
				break
			}
			return fmt.Errorf("reading the clock of the store: %w", err)
		}
		took := s.Now().Since(began)
		if best == nil || took < shortest {
			best, shortest = &measurement{began.Mono + took/2, read, name}, took
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.measured = best
	return nil
}

// Offset returns the offset of the wall clock at that reading, nil before the first measurement. Between measurements the boot clock
// goes on for the reference.
func (s *Shared) Offset(at lanes.Instant) *lanes.Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.measured == nil {
		return nil
	}
	reference := s.measured.read.Add(at.Mono - s.measured.at)
	return &lanes.Offset{Ahead: at.Wall.Sub(reference), Clock: s.measured.name}
}

// Refusing returns why this node should take no ranges now, empty if the clock is no reason: also while its offset is not known.
func (s *Shared) Refusing() string {
	offset := s.Offset(s.Now())
	if offset == nil || offset.Ahead.Abs() <= OffsetRefused {
		return ""
	}
	return fmt.Sprintf("its clock is %v off that of the store", offset.Ahead.Round(time.Millisecond))
}

// Read reads the clock, with its offset where that is known.
func Read(c Clock) lanes.Checkpoint {
	reading := lanes.Checkpoint{At: c.Now(), Boot: c.Boot()}
	if shared, ok := c.(interface {
		Offset(at lanes.Instant) *lanes.Offset
	}); ok {
		reading.Offset = shared.Offset(reading.At)
	}
	return reading
}
