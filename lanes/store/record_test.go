package store_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestARecordReadsWell(t *testing.T) {
	record, err := store.Encode(lanes.KeptAnswer{
		Name: "k-1", Fingerprint: "f", Status: 201, Body: `{"name":"Jo & <Ann>"}`,
		At: time.Date(2025, 6, 1, 9, 30, 0, 123456789, time.UTC),
	})
	require.NoError(t, err)
	assert.Equal(t, `{"v":1,"name":"k-1","fingerprint":"f","status":201,`+
		`"body":"{\"name\":\"Jo & <Ann>\"}","at":"2025-06-01T09:30:00.123456789Z"}`, string(record))
}

func TestTheRecordOfHoldsReadsWell(t *testing.T) {
	since := time.Date(2025, 6, 1, 9, 30, 0, 0, time.UTC)
	record, err := store.Encode(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "Jo & <Ann>", since).
		Set(lanes.Scope{Kind: lanes.OverLane, ID: uuid.UUID{1}}, "Jo", since).
		Lift(lanes.Scope{Kind: lanes.OverLane, ID: uuid.UUID{1}}, since.Add(time.Minute)))
	require.NoError(t, err)
	assert.Equal(t, `{"v":1,"in_force":[{"scope":"range","id":"00000000-0000-0000-0000-000000000000",`+
		`"who":"Jo & <Ann>","since":"2025-06-01T09:30:00Z"}],"lifted":[{"scope":"lane",`+
		`"id":"01000000-0000-0000-0000-000000000000","at":"2025-06-01T09:31:00Z"}]}`, string(record))
	record, err = store.Encode(lanes.Holds{})
	require.NoError(t, err)
	assert.Equal(t, `{"v":1,"in_force":null,"lifted":null}`, string(record))
}

func TestAnEmptyRecordHasItsVersion(t *testing.T) {
	record, err := store.Encode(struct{}{})
	require.NoError(t, err)
	assert.Equal(t, `{"v":1}`, string(record))
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
	assert.EqualError(t, err, "written by a newer version: its format is 7, this gateway reads up to 1")
	_, err = store.Decode[lanes.Checkpoint]([]byte(`{"v":2}`))
	assert.ErrorContains(t, err, "newer version")
}

func TestADamagedRecordIsAnError(t *testing.T) {
	whole := `{"v":1,"at":{"wall":"2025-06-01T09:30:00Z","mono_ns":5},"boot":"b"}`
	_, err := store.Decode[lanes.Checkpoint]([]byte(whole))
	require.NoError(t, err)
	for length := range len(whole) {
		_, err := store.Decode[lanes.Checkpoint]([]byte(whole[:length]))
		assert.Error(t, err, whole[:length])
	}
	for name, record := range map[string]string{
		"something behind it":     whole + "x",
		"another record behind":   whole + whole,
		"no version":              strings.Replace(whole, `"v":1,`, "", 1),
		"the version not first":   `{"boot":"b","v":1}`,
		"version 0":               strings.Replace(whole, `"v":1`, `"v":0`, 1),
		"a version below 0":       strings.Replace(whole, `"v":1`, `"v":-1`, 1),
		"a version in quotes":     strings.Replace(whole, `"v":1`, `"v":"1"`, 1),
		"a broken version":        strings.Replace(whole, `"v":1`, `"v":1.5`, 1),
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

// names are any text in UTF-8, with what breaks careless writers of JSON or HTML more often than chance would.
func names() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "O'Brien & <sons>", `back\slash "quoted"`, "line\nbreak\ttab\x00nul\x7f", "\u2028\u2029\ufeff\ufffd",
		"Зоя Щукина", "山田太郎", "👩‍👩‍👧‍👦", "e\u0301 \u202eright to left", "\U0010ffff",
	}))
}

func instants() *rapid.Generator[lanes.Instant] {
	return rapid.Custom(func(t *rapid.T) lanes.Instant {
		wall := time.Unix(rapid.Int64Range(0, 200_000_000_000).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		return lanes.Instant{Wall: wall.UTC(), Mono: time.Duration(rapid.Int64().Draw(t, "mono"))}
	})
}

func ids() *rapid.Generator[uuid.UUID] {
	return rapid.Custom(func(t *rapid.T) uuid.UUID {
		return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	})
}

func sessions() *rapid.Generator[lanes.Session] {
	return rapid.Custom(func(t *rapid.T) lanes.Session {
		s := lanes.Session{
			ID: ids().Draw(t, "id"), Group: ids().Draw(t, "group"), Customer: names().Draw(t, "customer"),
			Purchasing: rapid.Bool().Draw(t, "purchasing"), Sold: time.Duration(rapid.Int64().Draw(t, "sold")),
			Phase: rapid.SampledFrom([]lanes.Phase{lanes.Waiting, lanes.Running, lanes.Paused}).Draw(t, "phase"),
			Left:  time.Duration(rapid.Int64().Draw(t, "left")),
			Since: instants().Draw(t, "since"), Created: instants().Draw(t, "created"),
			Rested: time.Duration(rapid.Int64().Draw(t, "rested")), ByHold: rapid.Bool().Draw(t, "hold"),
			Facts: rapid.Uint64().Draw(t, "facts"),
		}
		if rapid.Bool().Draw(t, "has begun") {
			began := instants().Draw(t, "began")
			s.Began = &began
		}
		return s
	})
}

// holds have lists that are nil, empty, or neither: each comes back as it was.
func holds() *rapid.Generator[lanes.Holds] {
	return rapid.Custom(func(t *rapid.T) (h lanes.Holds) {
		over := func() lanes.Scope { return lanes.Scope{Kind: names().Draw(t, "kind"), ID: ids().Draw(t, "over")} }
		if rapid.Bool().Draw(t, "has holds") {
			h.InForce = []lanes.HoldRecord{}
		}
		for range rapid.IntRange(0, 3).Draw(t, "holds") {
			h.InForce = append(h.InForce, lanes.HoldRecord{
				Scope: over(), Who: names().Draw(t, "who"), Since: instants().Draw(t, "since").Wall,
			})
		}
		if rapid.Bool().Draw(t, "has lifts") {
			h.Lifted = []lanes.LiftRecord{}
		}
		for range rapid.IntRange(0, 3).Draw(t, "lifts") {
			h.Lifted = append(h.Lifted, lanes.LiftRecord{Scope: over(), At: instants().Draw(t, "at").Wall})
		}
		return h
	})
}

// comesBack checks that a value is the same after it was saved.
func comesBack[T any](t *rapid.T, value T) {
	record, err := store.Encode(value)
	require.NoError(t, err)
	got, err := store.Decode[T](record)
	require.NoError(t, err, string(record))
	require.Equal(t, value, got, string(record))
}

func TestRecordsComeBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		snapshot := lanes.Snapshot{Boot: names().Draw(t, "boot")}
		snapshot.ID = ids().Draw(t, "lane")
		snapshot.Held = rapid.Bool().Draw(t, "held")
		snapshot.Log = lanes.Log{ID: names().Draw(t, "log"), Seq: rapid.Uint64().Draw(t, "seq")}
		if rapid.Bool().Draw(t, "occupied") {
			session := sessions().Draw(t, "session")
			snapshot.Session = &session
		}
		comesBack(t, snapshot)

		comesBack(t, lanes.Checkpoint{At: instants().Draw(t, "at"), Boot: names().Draw(t, "boot")})

		event := lanes.Logged{
			Cursor: rapid.OneOf(rapid.Uint64(), rapid.Just(uint64(math.MaxUint64))).Draw(t, "cursor"),
			Event: lanes.Event{
				ID: ids().Draw(t, "event"), Kind: lanes.SessionStarted, Session: ids().Draw(t, "session"),
				Lane: ids().Draw(t, "lane"), At: instants().Draw(t, "at").Wall,
			},
			Simulated: rapid.Bool().Draw(t, "simulated"),
		}
		comesBack(t, event)
		event.Attempt = &lanes.Attempt{
			At: instants().Draw(t, "at").Wall, Status: rapid.Int().Draw(t, "status"), Error: names().Draw(t, "error"),
			Duration: time.Duration(rapid.Int64().Draw(t, "duration")),
		}
		comesBack(t, event)

		comesBack(t, lanes.Ended{
			Cursor: event.Cursor, Session: sessions().Draw(t, "session"), Lane: ids().Draw(t, "lane"),
			At: instants().Draw(t, "at").Wall, Reason: lanes.EndReason(names().Draw(t, "reason")),
			Used: time.Duration(rapid.Int64().Draw(t, "used")), Paused: time.Duration(rapid.Int64().Draw(t, "paused")),
		})
		comesBack(t, lanes.KeptAnswer{
			Name: names().Draw(t, "name"), Fingerprint: names().Draw(t, "fingerprint"),
			Status: rapid.Int().Draw(t, "status"), Body: names().Draw(t, "body"), At: instants().Draw(t, "at").Wall,
		})
		comesBack(t, holds().Draw(t, "holds"))
	})
}
