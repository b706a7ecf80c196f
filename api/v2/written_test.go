package v2

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// asJSON is what encoding/json writes of a value on the wire.
func asJSON(t require.TestingT, v any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(v))
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// anySession is any that a lane can show, and some that none does.
func anySession(t *rapid.T) *lanes.SessionView {
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
	if rapid.Bool().Draw(t, "has begun") {
		began := rapid.OneOf(instant, rapid.Just(s.Created)).Draw(t, "began")
		s.Began = &began
		s.Remaining = time.Duration(rapid.Int64Range(0, int64(lanes.MaxMinutes*time.Minute)).Draw(t, "remaining"))
	}
	return s
}

// Sessions are written by hand, and read as if encoding/json had done it.
func TestASessionIsWrittenAsItsView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySession(t)
		require.Equal(t, asJSON(t, ViewOf(s)), string(written(s)(nil)))
	})
}

func TestAListIsWrittenAsItsViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(anySession), 0, 3).Draw(t, "sessions")
		views := make([]SessionView, len(all))
		for i, s := range all {
			views[i] = ViewOf(s)
		}
		require.Equal(t, asJSON(t, views), string(writtenAll(all)(nil)))
	})
}

// Minutes are exact to the millisecond, whichever that is.
func TestEveryMillisecondIsWritten(t *testing.T) {
	for d := time.Duration(0); d <= 3*time.Minute; d += time.Millisecond {
		require.Equal(t, math.Round(d.Minutes()*1e5)/1e5, minutes(d))
		require.Equal(t, asJSON(t, minutes(d)), string(appendMinutes(nil, d)))
	}
}
