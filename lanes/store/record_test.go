package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestARecordReadsWell(t *testing.T) {
	record, err := store.Encode(lanes.KeptAnswer{
		Name: "k-1", Fingerprint: "f", Status: 201, Body: `{"name":"Jo & <Ann>"}`,
		At: time.Date(2025, 6, 1, 9, 30, 0, 123456789, time.UTC),
	})
	require.NoError(t, err)
	assert.Equal(t, `{"v":5,"name":"k-1","fingerprint":"f","status":201,`+
		`"body":"{\"name\":\"Jo & <Ann>\"}","at":"2025-06-01T09:30:00.123456789Z"}`, string(record))
}

func TestTheRecordOfHoldsReadsWell(t *testing.T) {
	since := time.Date(2025, 6, 1, 9, 30, 0, 0, time.UTC)
	record, err := store.Encode(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "Jo & <Ann>", since).
		Set(lanes.Scope{Kind: lanes.OverLane, ID: uuid.UUID{1}}, "Jo", since).
		Lift(lanes.Scope{Kind: lanes.OverLane, ID: uuid.UUID{1}}, since.Add(time.Minute)))
	require.NoError(t, err)
	assert.Equal(t, `{"v":5,"in_force":[{"scope":"range","id":"00000000-0000-0000-0000-000000000000",`+
		`"who":"Jo & <Ann>","since":"2025-06-01T09:30:00Z"}],"lifted":[{"scope":"lane",`+
		`"id":"01000000-0000-0000-0000-000000000000","at":"2025-06-01T09:31:00Z"}]}`, string(record))
	record, err = store.Encode(lanes.Holds{})
	require.NoError(t, err)
	assert.Equal(t, `{"v":5,"in_force":null,"lifted":null}`, string(record))
}

func TestAnEmptyRecordHasItsVersion(t *testing.T) {
	record, err := store.Encode(struct{}{})
	require.NoError(t, err)
	assert.Equal(t, `{"v":5}`, string(record))
	_, err = store.Decode[struct{}](record)
	assert.NoError(t, err)
}

func TestWhatCannotBeARecord(t *testing.T) {
	for _, value := range []any{12, "text", []int{1}, nil, func() {}, lanes.Checkpoint{
		At: lanes.Instant{Wall: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
	}} {
		_, err := store.Encode(value)
		assert.ErrorContains(t, err, "encode record", "%T", value)
	}
}

func TestANewerRecordSaysSo(t *testing.T) {
	_, err := store.Decode[lanes.Checkpoint]([]byte(`{"v":7,"at":{"wall":"2025-06-01T09:30:00Z","mono_ns":5}}`))
	assert.EqualError(t, err, "written by a newer version: its format is 7, this gateway reads up to 5")
	assert.ErrorIs(t, err, store.ErrNewer)
	_, err = store.Decode[lanes.Checkpoint](fmt.Appendf(nil, `{"v":%d}`, store.Version+1))
	assert.ErrorIs(t, err, store.ErrNewer)
}

// Records of older versions lack newer fields.
func TestAnOlderRecordIsRead(t *testing.T) {
	lane, err := store.Decode[lanes.Snapshot]([]byte(`{"v":1,"lane_id":"01000000-0000-0000-0000-000000000000",` +
		`"session":{"customer_name":"Jo Smith","sold_ns":60000000000},"held":true,"log":{"id":"log","seq":4},"boot":"b"}`))
	require.NoError(t, err)
	assert.Equal(t, lanes.Snapshot{Boot: "b", Lane: lanes.Lane{
		ID: uuid.UUID{1}, Held: true, Log: lanes.Log{ID: "log", Seq: 4},
		Session: &lanes.Session{Customer: "Jo Smith", Sold: time.Minute},
	}}, lane)
}

func TestADamagedRecordIsAnError(t *testing.T) {
	whole := `{"v":5,"at":{"wall":"2025-06-01T09:30:00Z","mono_ns":5},"boot":"b"}`
	_, err := store.Decode[lanes.Checkpoint]([]byte(whole))
	require.NoError(t, err)
	for length := range len(whole) {
		_, err := store.Decode[lanes.Checkpoint]([]byte(whole[:length]))
		assert.Error(t, err, whole[:length])
	}
	for name, record := range map[string]string{
		"something behind it":     whole + "x",
		"another record behind":   whole + whole,
		"no version":              strings.Replace(whole, `"v":5,`, "", 1),
		"the version not first":   `{"boot":"b","v":1}`,
		"version 0":               strings.Replace(whole, `"v":5`, `"v":0`, 1),
		"a version below 0":       strings.Replace(whole, `"v":5`, `"v":-1`, 1),
		"a version in quotes":     strings.Replace(whole, `"v":5`, `"v":"1"`, 1),
		"a broken version":        strings.Replace(whole, `"v":5`, `"v":1.5`, 1),
		"no field":                `{"v":1,}`,
		"a field that is unknown": strings.Replace(whole, `"boot"`, `"boog"`, 1),
		"a value of another kind": strings.Replace(whole, `"b"`, `5`, 1),
		"not an object":           `[1]`,
		"zeros":                   strings.Repeat("\x00", 40),
	} {
		got, err := store.Decode[lanes.Checkpoint]([]byte(record))
		assert.Error(t, err, name)
		assert.Zero(t, got, name)
	}
}

// What an event follows from makes the log at most 1.3 times as large. The session is of the kind that most are: sold
// and begun at the lane, paused by a ceasefire, extended, stopped, each event of a request with a trace and delivered.
func TestTheLogGrowsLittleByWhatItsEventsFollowFrom(t *testing.T) {
	now := lanes.Instant{Wall: time.Date(2026, time.November, 21, 19, 0, 0, 123456789, time.UTC), Mono: 123 * time.Hour}
	lane := lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}
	session := uuid.New()
	with, without := 0, 0
	for i, step := range []struct {
		command lanes.Command
		by      lanes.By
		trace   bool
	}{
		{lanes.Create{Session: session, Minutes: 60}, lanes.ByPOS, true},
		{
			lanes.Report{Log: lanes.Log{ID: "a", Seq: 1}, Kind: lanes.ReportEntered, Session: session, Age: 1234567},
			lanes.ByLane, false,
		},
		{lanes.Hold{}, lanes.ByStaff, true},
		{lanes.Release{}, lanes.ByStaff, true},
		{lanes.Modify{Session: session, Minutes: 15}, lanes.ByPOS, true},
		{
			lanes.Report{Log: lanes.Log{ID: "a", Seq: 2}, Kind: lanes.ReportCarrierHit, Session: session},
			lanes.ByLane, false,
		},
		{lanes.Stop{Session: session, By: lanes.ByPOS}, lanes.ByPOS, true},
	} {
		now = now.Add(7*time.Minute + 1234567*time.Nanosecond)
		change, err := lane.Decide(now, step.command)
		require.NoError(t, err)
		change.AskedBy(step.by)
		lane = change.Lane
		for _, event := range change.Events {
			entry := lanes.Logged{Cursor: uint64(123456 + i), Event: event, Delivery: lanes.Delivery{
				Attempt: &lanes.Attempt{At: now.Wall, Status: 200, Duration: 34567890},
			}}
			if step.trace {
				entry.Trace = "0af7651916cd43dd8448eb211c80319c"
			}
			record, err := store.Encode(entry)
			require.NoError(t, err)
			with += len(record)
			entry.Event.Decision = nil
			record, err = store.Encode(entry)
			require.NoError(t, err)
			without += len(record)
		}
	}
	t.Logf("bytes of the log: %d, without what the events follow from %d: %.2f times", with, without,
		float64(with)/float64(without))
	assert.LessOrEqual(t, with*10, without*13)
}

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
