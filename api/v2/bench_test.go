package v2

import (
	"encoding/json"
	"io"
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
	out := json.NewEncoder(io.Discard)
	out.SetEscapeHTML(false)
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := out.Encode(ViewOf(session)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("list of 1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			views := make([]SessionView, 0, 1000)
			for range 1000 {
				views = append(views, ViewOf(session))
			}
			if err := out.Encode(views); err != nil {
				b.Fatal(err)
			}
		}
	})
}
