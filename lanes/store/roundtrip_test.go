package store_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// requireRoundTrip requires that a value survives encoding and decoding.
func requireRoundTrip[T any](t *rapid.T, values *rapid.Generator[T]) {
	value := values.Draw(t, "value")
	record, err := store.Encode(value)
	require.NoError(t, err)
	got, err := store.Decode[T](record)
	require.NoError(t, err, string(record))
	require.Equal(t, value, got, string(record))
}

func TestRecordsSurviveExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requireRoundTrip(t, snapshots())
		requireRoundTrip(t, checkpoints())
		requireRoundTrip(t, events())
		requireRoundTrip(t, endedSessions())
		requireRoundTrip(t, acts())
		requireRoundTrip(t, answers())
		requireRoundTrip(t, holds())
	})
}

// A saved field that is never drawn would not be tested above.
func TestEveryFieldIsDrawn(t *testing.T) {
	drawn := map[string]bool{} // by type and field name: a value that is not zero was drawn
	draw := func(example func(seed int) any) {
		for seed := range 200 {
			noteFields(drawn, reflect.ValueOf(example(seed)))
		}
	}
	draw(func(seed int) any { return snapshots().Example(seed) })
	draw(func(seed int) any { return checkpoints().Example(seed) })
	draw(func(seed int) any { return events().Example(seed) })
	draw(func(seed int) any { return endedSessions().Example(seed) })
	draw(func(seed int) any { return acts().Example(seed) })
	draw(func(seed int) any { return answers().Example(seed) })
	draw(func(seed int) any { return holds().Example(seed) })
	for field, found := range drawn {
		assert.True(t, found, field)
	}
	assert.Contains(t, drawn, "lanes.HelpCall.Coming")
}

// noteFields notes which fields of the value, also nested ones, are not zero.
func noteFields(drawn map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			noteFields(drawn, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			noteFields(drawn, v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Tag.Get("json") == "-" {
				continue
			}
			name := v.Type().String() + "." + field.Name
			drawn[name] = drawn[name] || !v.Field(i).IsZero()
			noteFields(drawn, v.Field(i))
		}
	}
}

// names draws any text in UTF-8, often one that is hard to encode in JSON or HTML.
func names() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "O'Brien & <sons>", `back\slash "quoted"`, "line\nbreak\ttab\x00nul\x7f", "\u2028\u2029\ufeff\ufffd",
		"Зоя Щукина", "山田太郎", "👩‍👩‍👧‍👦", "e\u0301 \u202eright to left", "\U0010ffff",
	}))
}

func instants() *rapid.Generator[lanes.Instant] {
	return rapid.Custom(func(t *rapid.T) lanes.Instant {
		wall := time.Unix(rapid.Int64Range(0, 200_000_000_000).Draw(t, "s"),
			rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
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
			Facts: rapid.Uint64().Draw(t, "facts"), RanOn: time.Duration(rapid.Int64().Draw(t, "ran on")),
			Advanced: time.Duration(rapid.Int64().Draw(t, "advanced")),
			WarnAt:   durations().Draw(t, "warn at"), Told: time.Duration(rapid.Int64().Draw(t, "told")),
			OpenEnd:    time.Duration(rapid.Int64().Draw(t, "open end")),
			Settled:    time.Duration(rapid.Int64().Draw(t, "settled")),
			GoneBeyond: rapid.Bool().Draw(t, "gone beyond"),
			Uncharged:  time.Duration(rapid.Int64().Draw(t, "uncharged")),
		}
		if rapid.Bool().Draw(t, "is unproven") {
			s.Unproven = new(instants().Draw(t, "unproven"))
		}
		if rapid.Bool().Draw(t, "has a start") {
			s.Start = &lanes.Start{ID: ids().Draw(t, "start"), At: instants().Draw(t, "starts at")}
		}
		if s.Grace = rapid.Bool().Draw(t, "grace"); rapid.Bool().Draw(t, "is in it") {
			s.StaysUntil = new(instants().Draw(t, "stays until"))
		}
		if rapid.Bool().Draw(t, "has begun") {
			began := instants().Draw(t, "began")
			s.Began = &began
			if rapid.Bool().Draw(t, "has a turn") {
				s.Turn = new(time.Duration(rapid.Int64().Draw(t, "turn")))
			}
		}
		if rapid.Bool().Draw(t, "buys") {
			s.Purchase = new(purchases().Draw(t, "purchase"))
		}
		if rapid.Bool().Draw(t, "was reopened") {
			s.GoesOnWith = rapid.SliceOfN(ids(), 1, 3).Draw(t, "goes on with")
		}
		s.Correlation = correlations().Draw(t, "correlation")
		return s
	})
}

// correlations draws nil too.
func correlations() *rapid.Generator[*lanes.Correlation] {
	metadata := rapid.OneOf(rapid.Just[map[string]string](nil), rapid.MapOfN(names(), names(), 1, 3))
	return rapid.OneOf(rapid.Just[*lanes.Correlation](nil), rapid.Custom(func(t *rapid.T) *lanes.Correlation {
		return &lanes.Correlation{ExternalID: names().Draw(t, "external id"), Metadata: metadata.Draw(t, "metadata")}
	}))
}

func purchases() *rapid.Generator[lanes.Purchase] {
	return rapid.Custom(func(t *rapid.T) lanes.Purchase {
		return lanes.Purchase{
			ID: ids().Draw(t, "id"), Session: ids().Draw(t, "session"), Items: items().Draw(t, "items"),
			Phase: lanes.PurchasePhase(names().Draw(t, "phase")), At: instants().Draw(t, "at"),
			Event:       ids().Draw(t, "event"),
			UserMessage: names().Draw(t, "user message"), Reason: names().Draw(t, "reason"),
			Trace:   names().Draw(t, "trace"),
			Earlier: list(ids()).Draw(t, "earlier"), RequestTrace: names().Draw(t, "request trace"),
			Goods: list(rapid.Custom(func(t *rapid.T) lanes.Good {
				return lanes.Good{Name: names().Draw(t, "name"), Price: names().Draw(t, "price")}
			})).Draw(t, "goods"),
		}
	})
}

func items() *rapid.Generator[[]lanes.Item] {
	return list(rapid.Custom(func(t *rapid.T) lanes.Item {
		return lanes.Item{ID: names().Draw(t, "product"), Qty: rapid.Int().Draw(t, "qty")}
	}))
}

// list draws nil or one to three values.
func list[T any](values *rapid.Generator[T]) *rapid.Generator[[]T] {
	return rapid.OneOf(rapid.Just[[]T](nil), rapid.SliceOfN(values, 1, 3))
}

// snapshots draws every saved field of a lane.
func snapshots() *rapid.Generator[lanes.Snapshot] {
	return rapid.Custom(func(t *rapid.T) lanes.Snapshot {
		s := lanes.Snapshot{Boot: names().Draw(t, "boot")}
		s.ID = ids().Draw(t, "lane")
		s.Held, s.Fault = rapid.Bool().Draw(t, "held"), names().Draw(t, "fault")
		s.Log = lanes.Log{ID: names().Draw(t, "log"), Seq: rapid.Uint64().Draw(t, "seq")}
		s.Sale = lanes.Sale(names().Draw(t, "sale"))
		if rapid.Bool().Draw(t, "occupied") {
			s.Session = new(sessions().Draw(t, "session"))
		}
		if rapid.Bool().Draw(t, "released") {
			s.Released = new(instants().Draw(t, "released"))
		}
		if rapid.Bool().Draw(t, "calls") {
			s.Help = &lanes.HelpCall{At: instants().Draw(t, "call").Wall, Coming: rapid.Bool().Draw(t, "coming")}
		}
		if rapid.Bool().Draw(t, "hit") {
			s.Stray = new(instants().Draw(t, "stray").Wall)
		}
		if rapid.Bool().Draw(t, "not clear") {
			s.Uncleared = &lanes.Uncleared{Session: ids().Draw(t, "last session"), Since: instants().Draw(t, "its end")}
		}
		if rapid.Bool().Draw(t, "reserved") {
			s.Reservation = &lanes.Reservation{
				ID: ids().Draw(t, "reservation"), Token: names().Draw(t, "token"), Holder: names().Draw(t, "holder"),
				By: names().Draw(t, "by"), Made: instants().Draw(t, "made"),
				Term: time.Duration(rapid.Int64().Draw(t, "term")), Minutes: rapid.IntRange(0, lanes.MaxMinutes).
					Draw(t, "minutes"),
				Group: ids().Draw(t, "for group"),
			}
		}
		if rapid.Bool().Draw(t, "between sessions") {
			s.Turn = &lanes.Turn{
				After: ids().Draw(t, "session before"), Counted: time.Duration(rapid.Int64().Draw(t, "counted")),
				Since: instants().Draw(t, "counted since"), Counts: rapid.Bool().Draw(t, "counts"),
			}
		}
		if rapid.Bool().Draw(t, "turned") {
			s.LastTurn = &lanes.TurnTime{
				At:   instants().Draw(t, "turned at").Wall,
				Took: time.Duration(rapid.Int64().Draw(t, "turn")),
			}
		}
		for _, open := range list(purchases()).Draw(t, "open") {
			s.Open = append(s.Open, &open)
		}
		return s
	})
}

func events() *rapid.Generator[lanes.Logged] {
	return rapid.Custom(func(t *rapid.T) lanes.Logged {
		e := lanes.Logged{
			Cursor: cursors().Draw(t, "cursor"), Simulated: rapid.Bool().Draw(t, "simulated"),
			Delivery: lanes.Delivery{Webhook: names().Draw(t, "webhook"), Copy: rapid.Bool().Draw(t, "copy")},
			Trace:    names().Draw(t, "trace"),
			Event: lanes.Event{
				ID: ids().Draw(t, "event"), Kind: lanes.Kind(names().Draw(t, "kind")),
				Session: ids().Draw(t, "session"),
				Lane:    ids().Draw(t, "lane"), At: instants().Draw(t, "at").Wall, Items: items().Draw(t, "items"),
				Correlation: correlations().Draw(t, "correlation"),
			},
		}
		if rapid.Bool().Draw(t, "is ending") {
			e.Event.Ending = &lanes.Ending{
				Remaining: time.Duration(rapid.Int64().Draw(t, "remaining")),
				EndsAt:    instants().Draw(t, "ends at").Wall,
			}
		}
		if rapid.Bool().Draw(t, "has a grace") {
			e.Event.GraceEndsAt = new(instants().Draw(t, "grace ends at").Wall)
		}
		if rapid.Bool().Draw(t, "has an open end") {
			e.Event.Beyond = &lanes.Beyond{
				Used:    time.Duration(rapid.Int64().Draw(t, "beyond")),
				Settled: time.Duration(rapid.Int64().Draw(t, "settled")),
			}
		}
		if rapid.Bool().Draw(t, "has a decision") {
			e.Event.Decision = new(decisions().Draw(t, "decision"))
		}
		if rapid.Bool().Draw(t, "attempted") {
			e.Attempt = new(attempts().Draw(t, "attempt"))
			e.Again = rapid.Bool().Draw(t, "again")
			e.Earlier = rapid.SliceOfN(attempts(), 0, 2).Draw(t, "earlier")
		}
		if len(e.Earlier) == 0 {
			e.Earlier = nil
		}
		return e
	})
}

func decisions() *rapid.Generator[lanes.Decision] {
	return rapid.Custom(func(t *rapid.T) lanes.Decision {
		d := lanes.Decision{
			Command: names().Draw(t, "command"), By: lanes.By(names().Draw(t, "by")), Held: rapid.Bool().
					Draw(t, "held"),
			Passed: time.Duration(rapid.Int64().Draw(t, "passed")), Late: time.Duration(rapid.Int64().Draw(t, "late")),
			Stepped: time.Duration(rapid.Int64().Draw(t, "stepped")),
			Minutes: rapid.Int().Draw(t, "minutes"), Phase: lanes.Phase(names().Draw(t, "phase")),
			ByHand:   rapid.Bool().Draw(t, "by hand"),
			Advanced: time.Duration(rapid.Int64().Draw(t, "advanced")),
			Told: durations().Filter(func(all []time.Duration) bool { return all == nil || len(all) > 0 }).
				Draw(t, "told"),

			TellsExpired: rapid.Bool().Draw(t, "tells expired"),
			Grace:        time.Duration(rapid.Int64().Draw(t, "grace")),
			InGrace:      time.Duration(rapid.Int64().Draw(t, "in grace")),
			OpenEnd:      time.Duration(rapid.Int64().Draw(t, "open end")),
			Uncharged:    time.Duration(rapid.Int64().Draw(t, "uncharged")),
		}
		if rapid.Bool().Draw(t, "is unproven") {
			d.Unproven = new(time.Duration(rapid.Int64().Draw(t, "unproven")))
		}
		return d
	})
}

// durations are a list, an empty one, or none.
func durations() *rapid.Generator[[]time.Duration] {
	return rapid.OneOf(rapid.Just[[]time.Duration](nil), rapid.Custom(func(t *rapid.T) []time.Duration {
		all := []time.Duration{}
		for range rapid.IntRange(0, 3).Draw(t, "durations") {
			all = append(all, time.Duration(rapid.Int64().Draw(t, "duration")))
		}
		return all
	}))
}

func attempts() *rapid.Generator[lanes.Attempt] {
	return rapid.Custom(func(t *rapid.T) lanes.Attempt {
		return lanes.Attempt{
			At: instants().Draw(t, "at").Wall, Status: rapid.Int().Draw(t, "status"), Error: names().Draw(t, "error"),
			Duration: time.Duration(rapid.Int64().Draw(t, "duration")), GivenUp: rapid.Bool().Draw(t, "given up"),
			RetryAt: rapid.OneOf(rapid.Just(time.Time{}),
				rapid.Map(instants(), func(at lanes.Instant) time.Time { return at.Wall })).Draw(t, "retry at"),
		}
	})
}

func cursors() *rapid.Generator[uint64] {
	return rapid.OneOf(rapid.Uint64(), rapid.Just(uint64(math.MaxUint64)))
}

func endedSessions() *rapid.Generator[lanes.Ended] {
	return rapid.Custom(func(t *rapid.T) lanes.Ended {
		return lanes.Ended{
			Cursor: cursors().Draw(t, "cursor"), Session: sessions().Draw(t, "session"), Lane: ids().Draw(t, "lane"),
			At: instants().Draw(t, "at").Wall, Reason: lanes.EndReason(names().Draw(t, "reason")),
			Used: time.Duration(rapid.Int64().Draw(t, "used")), Paused: time.Duration(rapid.Int64().Draw(t, "paused")),
			Beyond: time.Duration(rapid.Int64().Draw(t, "beyond")),
		}
	})
}

func acts() *rapid.Generator[lanes.Act] {
	return rapid.Custom(func(t *rapid.T) lanes.Act {
		return lanes.Act{
			Cursor: cursors().Draw(t, "cursor"), At: instants().Draw(t, "at").Wall, Who: names().Draw(t, "who"),
			What: names().Draw(t, "what"), Lane: ids().Draw(t, "lane"), Session: ids().Draw(t, "session"),
			Detail: names().Draw(t, "detail"), AfterClosing: rapid.Bool().Draw(t, "after closing"),
		}
	})
}

func answers() *rapid.Generator[lanes.KeptAnswer] {
	return rapid.Custom(func(t *rapid.T) lanes.KeptAnswer {
		return lanes.KeptAnswer{
			Name: names().Draw(t, "name"), Fingerprint: names().Draw(t, "fingerprint"),
			Status: rapid.Int().Draw(t, "status"),
			Body:   names().Draw(t, "body"), At: instants().Draw(t, "at").Wall,
		}
	})
}

func checkpoints() *rapid.Generator[lanes.Checkpoint] {
	return rapid.Custom(func(t *rapid.T) lanes.Checkpoint {
		c := lanes.Checkpoint{At: instants().Draw(t, "at"), Boot: names().Draw(t, "boot")}
		c.LogID, c.Place = rapid.Uint64Range(0, lanes.MaxLogID).Draw(t, "log"), names().Draw(t, "place")
		c.Heir = names().Draw(t, "heir")
		if rapid.Bool().Draw(t, "has an offset") {
			c.Offset = &lanes.Offset{
				Ahead: time.Duration(rapid.Int64().Draw(t, "ahead")),
				Clock: names().Draw(t, "clock"),
			}
		}
		return c
	})
}

// holds draws lists that are nil, empty or filled: each must survive as it is.
func holds() *rapid.Generator[lanes.Holds] {
	return rapid.Custom(func(t *rapid.T) (h lanes.Holds) {
		scope := func() lanes.Scope { return lanes.Scope{Kind: names().Draw(t, "kind"), ID: ids().Draw(t, "over")} }
		if rapid.Bool().Draw(t, "has holds") {
			h.InForce = []lanes.HoldRecord{}
		}
		for range rapid.IntRange(0, 3).Draw(t, "holds") {
			h.InForce = append(h.InForce, lanes.HoldRecord{
				Scope: scope(), Who: names().Draw(t, "who"), Since: instants().Draw(t, "since").Wall, Press: ids().
					Draw(t, "press"),
			})
		}
		if rapid.Bool().Draw(t, "has lifts") {
			h.Lifted = []lanes.LiftRecord{}
		}
		for range rapid.IntRange(0, 3).Draw(t, "lifts") {
			h.Lifted = append(h.Lifted, lanes.LiftRecord{Scope: scope(), At: instants().Draw(t, "at").Wall})
		}
		return h
	})
}
