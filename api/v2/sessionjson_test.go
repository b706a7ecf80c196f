package v2

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
	"rangegate/webhook"
)

// asJSON returns what encoding/json writes of a value on the wire.
func asJSON(t require.TestingT, v any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(v))
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// drawSession draws a session, also ones that no lane shows.
func drawSession(t *rapid.T) *lanes.SessionView {
	id := func(name string) (id uuid.UUID) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), len(id), len(id)).Draw(t, name))
		return id
	}
	zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		year := rapid.Int64Range(-1<<36, 1<<36).Draw(t, "seconds")
		return time.Unix(year, rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds")).In(zone)
	})
	s := &lanes.SessionView{
		ID: id("session"), Lane: id("lane"), Group: id("group"), Minutes: rapid.Int().Draw(t, "minutes"),
		Created: instant.Draw(t, "created"), Purchasing: rapid.Bool().Draw(t, "purchasing"),
	}
	if rapid.Bool().Draw(t, "has a correlation") {
		s.Correlation = &lanes.Correlation{
			ExternalID: rapid.String().Draw(t, "external id"),
			Metadata:   rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "metadata"),
		}
	}
	if rapid.Bool().Draw(t, "has begun") {
		began := rapid.OneOf(instant, rapid.Just(s.Created)).Draw(t, "began")
		s.Began = &began
		s.Remaining = time.Duration(rapid.Int64Range(0, int64(lanes.MaxMinutes*time.Minute)).Draw(t, "remaining"))
	}
	if rapid.Bool().Draw(t, "has a start") {
		s.StartsAt = new(instant.Draw(t, "starts at"))
	}
	if rapid.Bool().Draw(t, "is in its grace") {
		s.GraceEndsAt = new(instant.Draw(t, "grace ends at"))
	}
	if rapid.Bool().Draw(t, "has an open end") {
		beyond := rapid.Int64Range(0, int64(lanes.MaxMinutes*time.Minute))
		s.OpenEnd = rapid.IntRange(2, lanes.MaxMinutes).Draw(t, "up to")
		s.Beyond = lanes.Beyond{
			Used:    time.Duration(beyond.Draw(t, "beyond")),
			Settled: time.Duration(beyond.Draw(t, "settled")),
		}
	}
	return s
}

// The hand-written encoding has the same bytes as encoding/json.
func TestASessionIsEncodedAsItsView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSession(t)
		require.Equal(t, asJSON(t, ViewOf(s)), string(appendView(s)(nil)))
	})
}

func TestAListIsEncodedAsItsViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawSession), 0, 3).Draw(t, "sessions")
		views := make([]SessionView, len(all))
		for i, s := range all {
			views[i] = ViewOf(s)
		}
		require.Equal(t, asJSON(t, views), string(appendViews(all)(nil)))
	})
}

// Minutes are exact to the millisecond.
func TestEveryMillisecondIsEncoded(t *testing.T) {
	for d := time.Duration(0); d <= 3*time.Minute; d += time.Millisecond {
		require.Equal(t, math.Round(d.Minutes()*1e5)/1e5, webhook.Minutes(d))
		require.Equal(t, asJSON(t, webhook.Minutes(d)), strconv.FormatFloat(webhook.Minutes(d), 'f', -1, 64))
	}
}

// BenchmarkSessionJSON encodes one session, and a list of 1,000.
func BenchmarkSessionJSON(b *testing.B) {
	began := time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
	session := &lanes.SessionView{
		ID: uuid.New(), Lane: uuid.New(), Group: uuid.New(), Minutes: 60,
		Began: &began, Created: began, Remaining: 59*time.Minute + 1234*time.Millisecond,
	}
	var buffer []byte
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buffer = appendView(session)(buffer[:0])
		}
	})
	all := slices.Repeat([]*lanes.SessionView{session}, 1000)
	b.Run("list of 1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buffer = appendViews(all)(buffer[:0])
		}
	})
}
