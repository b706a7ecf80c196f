package store_test

import (
	"math"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

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
			Facts: rapid.Uint64().Draw(t, "facts"), RanOn: time.Duration(rapid.Int64().Draw(t, "ran on")),
		}
		if rapid.Bool().Draw(t, "has begun") {
			began := instants().Draw(t, "began")
			s.Began = &began
		}
		if rapid.Bool().Draw(t, "buys") {
			s.Purchase = new(purchases().Draw(t, "purchase"))
		}
		return s
	})
}

func purchases() *rapid.Generator[lanes.Purchase] {
	return rapid.Custom(func(t *rapid.T) lanes.Purchase {
		return lanes.Purchase{
			ID: ids().Draw(t, "id"), Session: ids().Draw(t, "session"), Items: items().Draw(t, "items"),
			Phase: lanes.PurchasePhase(names().Draw(t, "phase")), At: instants().Draw(t, "at"), Event: ids().Draw(t, "event"),
			UserMessage: names().Draw(t, "user message"), Reason: names().Draw(t, "reason"), Trace: names().Draw(t, "trace"),
			Earlier: list(ids()).Draw(t, "earlier"), RequestTrace: names().Draw(t, "request trace"),
		}
	})
}

func items() *rapid.Generator[[]lanes.Item] {
	return list(rapid.Custom(func(t *rapid.T) lanes.Item {
		return lanes.Item{ID: names().Draw(t, "product"), Qty: rapid.Int().Draw(t, "qty")}
	}))
}

// list is nil or has something in it.
func list[T any](of *rapid.Generator[T]) *rapid.Generator[[]T] {
	return rapid.OneOf(rapid.Just[[]T](nil), rapid.SliceOfN(of, 1, 3))
}

// snapshots have everything of a lane that is saved.
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
		for _, open := range list(purchases()).Draw(t, "open") {
			s.Open = append(s.Open, &open)
		}
		return s
	})
}

func events() *rapid.Generator[lanes.Logged] {
	return rapid.Custom(func(t *rapid.T) lanes.Logged {
		e := lanes.Logged{
			Cursor: cursors().Draw(t, "cursor"), Simulated: rapid.Bool().Draw(t, "simulated"), Trace: names().Draw(t, "trace"),
			Event: lanes.Event{
				ID: ids().Draw(t, "event"), Kind: lanes.Kind(names().Draw(t, "kind")), Session: ids().Draw(t, "session"),
				Lane: ids().Draw(t, "lane"), At: instants().Draw(t, "at").Wall, Items: items().Draw(t, "items"),
			},
		}
		if rapid.Bool().Draw(t, "attempted") {
			e.Attempt = &lanes.Attempt{
				At: instants().Draw(t, "at").Wall, Status: rapid.Int().Draw(t, "status"), Error: names().Draw(t, "error"),
				Duration: time.Duration(rapid.Int64().Draw(t, "duration")),
			}
		}
		return e
	})
}

func cursors() *rapid.Generator[uint64] {
	return rapid.OneOf(rapid.Uint64(), rapid.Just(uint64(math.MaxUint64)))
}

func over() *rapid.Generator[lanes.Ended] {
	return rapid.Custom(func(t *rapid.T) lanes.Ended {
		return lanes.Ended{
			Cursor: cursors().Draw(t, "cursor"), Session: sessions().Draw(t, "session"), Lane: ids().Draw(t, "lane"),
			At: instants().Draw(t, "at").Wall, Reason: lanes.EndReason(names().Draw(t, "reason")),
			Used: time.Duration(rapid.Int64().Draw(t, "used")), Paused: time.Duration(rapid.Int64().Draw(t, "paused")),
		}
	})
}

func acts() *rapid.Generator[lanes.Act] {
	return rapid.Custom(func(t *rapid.T) lanes.Act {
		return lanes.Act{
			Cursor: cursors().Draw(t, "cursor"), At: instants().Draw(t, "at").Wall, Who: names().Draw(t, "who"),
			What: names().Draw(t, "what"), Lane: ids().Draw(t, "lane"), Session: ids().Draw(t, "session"),
			Detail: names().Draw(t, "detail"),
		}
	})
}

func answers() *rapid.Generator[lanes.KeptAnswer] {
	return rapid.Custom(func(t *rapid.T) lanes.KeptAnswer {
		return lanes.KeptAnswer{
			Name: names().Draw(t, "name"), Fingerprint: names().Draw(t, "fingerprint"), Status: rapid.Int().Draw(t, "status"),
			Body: names().Draw(t, "body"), At: instants().Draw(t, "at").Wall,
		}
	})
}

func checkpoints() *rapid.Generator[lanes.Checkpoint] {
	return rapid.Custom(func(t *rapid.T) lanes.Checkpoint {
		return lanes.Checkpoint{At: instants().Draw(t, "at"), Boot: names().Draw(t, "boot")}
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
