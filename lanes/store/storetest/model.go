package storetest

import (
	"flag"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// model is a range in the simplest store.
type model struct {
	owner
	checkpoint *lanes.Checkpoint
	lanes      map[uuid.UUID]lanes.Snapshot
	events     map[uint64]lanes.Logged
	history    []lanes.Ended
	acts       map[uint64]lanes.Act
	keys       map[string]lanes.KeptAnswer
	holds      lanes.Holds
	last       store.Batch // that was written
}

// apply does what a flush does.
func (m *model) apply(b store.Batch) {
	if b.Refill {
		m.lanes = map[uuid.UUID]lanes.Snapshot{}
	}
	if b.Checkpoint != nil {
		m.checkpoint = b.Checkpoint
	}
	for _, lane := range b.Lanes {
		m.lanes[lane.ID] = lane
	}
	for _, event := range b.Events {
		m.events[event.Cursor] = event
	}
	m.history = append(m.history, b.Ended...)
	for _, act := range b.Acts {
		m.acts[act.Cursor] = act
	}
	for _, key := range b.Keys {
		if _, found := m.keys[key.Name]; !found || !key.InStore {
			m.keys[key.Name] = key
		}
	}
	for _, name := range b.Forget {
		delete(m.keys, name)
	}
	if b.Holds != nil {
		m.holds = *b.Holds
	}
	m.n, m.last = b.N, b
}

// want returns what the store must have saved.
func (m *model) want() saved {
	var r store.Recovered
	if m.checkpoint != nil {
		r.Checkpoint = *m.checkpoint
	}
	r.Lanes = slices.Collect(maps.Values(m.lanes))
	r.Keys = slices.Collect(maps.Values(m.keys))
	r.Holds = m.holds
	log := []lanes.Logged{}
	for _, cursor := range slices.Sorted(maps.Keys(m.events)) {
		event := m.events[cursor]
		log = append(log, event)
		if event.Pending() {
			r.Pending = append(r.Pending, event)
		}
		r.LastEvent = cursor
	}
	history := append([]lanes.Ended{}, m.history...)
	if len(history) > 0 {
		r.LastEnded = history[len(history)-1].Cursor
	}
	acts := []lanes.Act{}
	for _, cursor := range slices.Sorted(maps.Keys(m.acts)) {
		acts = append(acts, m.acts[cursor])
		r.LastAct = cursor
	}
	return saved{Recovered: normalize(r), Events: log, History: history, Acts: acts}
}

// externalIDs are what sessions are drawn with; most have none.
var externalIDs = []string{"", "a", "a:", "00000000000000000001"}

// draw returns a random next batch of the range.
func (m *model) draw(t *rapid.T, lanePool []uuid.UUID) store.Batch {
	b := m.batch()
	b.Now = opening.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "now")) * time.Second)
	stored := m.want()
	if rapid.Bool().Draw(t, "checkpoint") {
		b.Checkpoint = &lanes.Checkpoint{At: at(b.Now.Sub(opening)), Boot: "b"}
	}
	for _, lane := range rapid.SliceOfNDistinct(rapid.SampledFrom(lanePool), 0, 3, rapid.ID).Draw(t, "lanes") {
		if rapid.Bool().Draw(t, "occupied") {
			b.Lanes = append(b.Lanes, occupied(lane, rapid.String().Draw(t, "customer")))
		} else {
			b.Lanes = append(b.Lanes, free(lane))
		}
	}
	for _, event := range stored.Recovered.Pending {
		if rapid.Bool().Draw(t, "attempted") {
			b.Events = append(b.Events, delivered(event.Reopened()))
		}
	}
	for _, event := range stored.Events {
		if !event.Pending() && rapid.Bool().Draw(t, "again") {
			event.Again = true
			b.Events = append(b.Events, event)
		}
	}
	gap := rapid.Uint64Range(1, 300)
	for cursor := stored.Recovered.LastEvent; rapid.Bool().Draw(t, "another event"); {
		cursor += gap.Draw(t, "gap")
		b.Events = append(b.Events, pending(cursor))
	}
	for cursor := stored.Recovered.LastEnded; rapid.Bool().Draw(t, "another ended"); {
		cursor += gap.Draw(t, "gap")
		session := ended(cursor, rapid.String().Draw(t, "customer"))
		if id := rapid.SampledFrom(externalIDs).Draw(t, "external id"); id != "" {
			session.Session.Correlation = &lanes.Correlation{ExternalID: id}
		}
		b.Ended = append(b.Ended, session)
	}
	if b.Refill { // a refill repeats stored acts
		for _, act := range stored.Acts {
			if rapid.Bool().Draw(t, "act again") {
				b.Acts = append(b.Acts, act)
			}
		}
	}
	for cursor := stored.Recovered.LastAct; rapid.Bool().Draw(t, "another act"); {
		cursor += gap.Draw(t, "gap")
		b.Acts = append(b.Acts, act(cursor, rapid.String().Draw(t, "who")))
	}
	names := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
	for _, name := range rapid.SliceOfNDistinct(names, 0, 3, rapid.ID).Draw(t, "keys") {
		b.Keys = append(b.Keys, answer(name))
	}
	for _, name := range rapid.SliceOfNDistinct(names, 0, 2, rapid.ID).Draw(t, "forget") {
		if !slices.ContainsFunc(b.Keys, func(k lanes.KeptAnswer) bool { return k.Name == name }) {
			b.Forget = append(b.Forget, name)
		}
	}
	if rapid.Bool().Draw(t, "holds") {
		b.Holds = new(drawHolds(t, m.holds, lanePool))
	}
	return b
}

// A test run compares 15 sequences on each bench: what a script interpreter and the race detector do to more
// of them takes half a minute of processor time each. make soak passes -rapid.checks for as many as the
// library would draw.
func init() {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
}

func behavesLikeTheModel(s *fixture) {
	lanePool := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	rapid.Check(s.T, func(t *rapid.T) {
		s.reopen(func() { s.bench.Wipe(s.T) })
		models := make([]*model, 2)
		for i := range models {
			models[i] = &model{
				owner: *s.claim(uuid.New()), lanes: map[uuid.UUID]lanes.Snapshot{},
				events: map[uint64]lanes.Logged{}, acts: map[uint64]lanes.Act{}, keys: map[string]lanes.KeptAnswer{},
			}
		}
		pick := func(t *rapid.T) *model { return rapid.SampledFrom(models).Draw(t, "range") }
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				m := pick(t)
				now := opening.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "now")) * time.Second)
				want := max(m.epoch+1, uint64(now.UnixMilli()))
				m.owner = *s.claimAt(m.rangeID, now)
				require.Equal(t, want, m.epoch)
			},
			"flush": func(t *rapid.T) {
				m := pick(t)
				b := m.draw(t, lanePool)
				require.NoError(t, m.try(b))
				m.apply(b)
			},
			"refill": func(t *rapid.T) {
				m := pick(t)
				b := m.draw(t, lanePool)
				b.Refill = true
				b.N += rapid.Uint64Range(0, 5).Draw(t, "ahead")
				require.NoError(t, m.try(b))
				m.apply(b)
			},
			"repeat": func(t *rapid.T) {
				m := pick(t)
				if m.n == 0 {
					return
				}
				require.NoError(t, m.try(m.last))
			},
			"skip": func(t *rapid.T) {
				m := pick(t)
				b := m.draw(t, lanePool)
				b.N += rapid.Uint64Range(1, 5).Draw(t, "ahead")
				require.ErrorIs(t, m.try(b), store.ErrRolledBack)
			},
			"stale": func(t *rapid.T) {
				m := pick(t)
				b := m.draw(t, lanePool)
				b.Epoch -= rapid.Uint64Range(1, 5).Draw(t, "older")
				b.Refill = rapid.Bool().Draw(t, "refill")
				require.ErrorIs(t, m.try(b), store.ErrFenced)
			},
			"reopen": func(*rapid.T) { s.reopen() },
			"": func(t *rapid.T) {
				m := pick(t)
				want := m.want()
				require.Equal(t, want, m.saved())
				for _, id := range externalIDs[1:] {
					byID := []lanes.Ended{}
					for _, ended := range want.History {
						if ended.Session.Correlation.IDOrNone() == id {
							byID = append(byID, ended)
						}
					}
					require.Equal(t, byID, m.historyOf(id))
				}
			},
		})
	})
}
