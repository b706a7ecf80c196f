package v2

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// BenchmarkSessionJSON writes one session as the wire shows it, and the list of many.
func BenchmarkSessionJSON(b *testing.B) {
	began := time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
	session := &lanes.SessionView{
		ID: uuid.New(), Lane: uuid.New(), Group: uuid.New(), Minutes: 60,
		Began: &began, Created: began, Remaining: 59*time.Minute + 1234*time.Millisecond,
	}
	var to []byte
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			to = written(session)(to[:0])
		}
	})
	all := slices.Repeat([]*lanes.SessionView{session}, 1000)
	b.Run("list of 1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			to = writtenAll(all)(to[:0])
		}
	})
}
