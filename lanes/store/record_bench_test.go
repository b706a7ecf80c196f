package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// BenchmarkRecord writes and reads the record of a lane with a running session.
func BenchmarkRecord(b *testing.B) {
	now := lanes.Instant{Wall: time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC), Mono: time.Hour}
	lane := lanes.Snapshot{Boot: uuid.NewString(), Lane: lanes.Lane{ID: uuid.New(), Session: &lanes.Session{
		ID: uuid.New(), Group: uuid.New(), Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running, Left: time.Hour,
		Since: now, Created: now, Began: &now, Facts: 2,
	}}}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := store.Encode(lane); err != nil {
				b.Fatal(err)
			}
		}
	})
	record, err := store.Encode(lane)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := store.Decode[lanes.Snapshot](record); err != nil {
				b.Fatal(err)
			}
		}
	})
}
