package lanes_test

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// till is an onlooker beside the model of TestPaidTimeIsKept, who counts what is bought at the lanes. It knows nothing
// of how a purchase is settled, only how it ended.
type till struct {
	bought   map[uuid.UUID]*bought
	ids      []uuid.UUID                 // of them, in the order in which they were asked for
	counter  map[uuid.UUID]time.Duration // session → what the POS sold it, modified and all
	credited map[uuid.UUID]time.Duration // session → what its purchases added
}

type bought struct {
	session uuid.UUID
	minutes time.Duration
	phase   lanes.PurchasePhase
	sent    int
}

func (b bought) open() bool { return b.phase == lanes.Pending || b.phase == lanes.Unresolved }

func newTill() *till {
	return &till{
		bought:  map[uuid.UUID]*bought{},
		counter: map[uuid.UUID]time.Duration{}, credited: map[uuid.UUID]time.Duration{},
	}
}

// purchase is one that was asked for, mostly, or another.
func (b *till) purchase(t *rapid.T) uuid.UUID {
	if len(b.ids) == 0 || rapid.IntRange(0, 20).Draw(t, "an unknown one") == 0 {
		return uuid.Max
	}
	recent := b.ids[max(0, len(b.ids)-5):]
	return rapid.SampledFrom(recent).Draw(t, "purchase")
}

func (b *till) sessionOf(purchase uuid.UUID) uuid.UUID {
	if known := b.bought[purchase]; known != nil {
		return known.session
	}
	return uuid.Max
}

func (b *till) basket(t *rapid.T) (items []lanes.Item) {
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		items = append(items, lanes.Item{
			ID: rapid.SampledFrom([]string{"time", "targets", "time", ""}).Draw(t, "product"), Qty: rapid.IntRange(-1, 300).Draw(t, "qty"),
		})
	}
	return items
}

// purchasing is what customers, the POS and staff do about purchases.
func (m *model) purchasing() map[string]func(*rapid.T) {
	id := func(t *rapid.T) uuid.UUID {
		if rapid.IntRange(0, 4).Draw(t, "again") == 0 && m.lane.Session != nil {
			if again := m.till.purchase(t); m.till.sessionOf(again) == m.lane.Session.ID {
				return again
			}
		}
		return uuid.UUID(rapid.SliceOfN(rapid.ByteRange(1, 254), 16, 16).Draw(t, "purchase"))
	}
	outcomes := rapid.SampledFrom([]lanes.Attempt{
		{Status: 200}, {Status: 200}, {Status: 402, Error: lanes.Refused}, {Error: lanes.TimedOut}, {Error: lanes.Interrupted}, {Error: lanes.Unreachable},
	})
	return map[string]func(*rapid.T){
		"buy": func(t *rapid.T) {
			m.ask(t, lanes.Buy{Session: m.session(t), Purchase: id(t), Items: m.till.basket(t)})
		},
		"buy, as the controller reports it": func(t *rapid.T) {
			m.ask(t, lanes.Report{
				Log:  lanes.Log{ID: "purchases", Seq: rapid.Uint64Range(1, 20).Draw(t, "seq")},
				Kind: lanes.ReportPurchase, Session: m.session(t), Purchase: id(t), Items: m.till.basket(t),
			})
		},
		"request": func(t *rapid.T) {
			purchase := m.till.purchase(t)
			m.ask(t, lanes.Request{Session: m.till.sessionOf(purchase), Purchase: purchase})
		},
		"settle": func(t *rapid.T) {
			settle := lanes.Verdict(outcomes.Draw(t, "outcome"), lanes.Answer{})
			settle.Purchase = m.till.purchase(t)
			settle.Session = m.till.sessionOf(settle.Purchase)
			m.ask(t, settle)
		},
		"clear": func(t *rapid.T) {
			m.ask(t, lanes.Clear{Purchase: m.till.purchase(t), Credit: rapid.Bool().Draw(t, "credit")})
		},
	}
}

// follow takes in what a change is about purchases and about the time that was sold.
func (b *till) follow(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command) {
	session := change.Lane.Session
	if session != nil && session.Purchase != nil && b.bought[session.Purchase.ID] == nil {
		p := session.Purchase
		require.Contains(t, []lanes.PurchasePhase{lanes.Pending, lanes.Declined}, p.Phase, "asked for, or refused at once")
		b.ids = append(b.ids, p.ID)
		b.bought[p.ID] = &bought{session: session.ID, minutes: time.Duration(p.Minutes()) * time.Minute, phase: p.Phase}
	} else if change.Settled != nil {
		b.ends(t, before, change, command)
	}
	for _, event := range change.Events {
		if event.Kind == lanes.PurchaseRequest {
			sent := b.bought[before.Session.Purchase.ID]
			sent.sent++
			require.Equal(t, 1, sent.sent, "it is sent once")
			require.Equal(t, before.Session.Purchase.Items, event.Items)
		}
	}
	if session == nil {
		return
	}
	switch cmd := command.(type) {
	case lanes.Create:
		b.counter[session.ID] = session.Sold
	case lanes.Modify, lanes.SetDuration:
		b.counter[session.ID] += session.Sold - before.Session.Sold
	case lanes.MakeUp:
		given := session.Sold - before.Session.Sold
		require.Zero(t, session.RanOn, "it is settled once")
		require.Equal(t, cmd.Give && before.Session.RanOn > 0, given > 0)
		if given > 0 {
			require.GreaterOrEqual(t, given, before.Session.RanOn)
			require.Less(t, given, before.Session.RanOn+time.Minute)
		}
		b.counter[session.ID] += given
	}
}

// ends is one purchase ending, each once: what is unresolved only staff can end.
func (b *till) ends(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command) {
	p := b.bought[change.Settled.ID]
	require.NotNil(t, p)
	_, byStaff := command.(lanes.Clear)
	if byStaff {
		require.Equal(t, lanes.Unresolved, p.phase)
		require.NotEqual(t, lanes.Unresolved, change.Settled.Phase)
	} else {
		require.Equal(t, lanes.Pending, p.phase)
	}
	p.phase = change.Settled.Phase
	if p.phase == lanes.Accepted && p.minutes > 0 { // goods may be cleared after the session too
		require.NotNil(t, before.Session)
		require.Equal(t, before.Session.ID, p.session, "its time goes to the session that it was bought for")
		b.credited[p.session] += p.minutes
	}
}

// check is what holds at every instant of the lanes.
func (b *till) check(t *rapid.T, on ...lanes.Lane) {
	kept := map[uuid.UUID]int{}
	for _, lane := range on {
		for _, p := range lane.Purchases() {
			kept[p.ID]++
			require.Same(t, p, lane.OpenPurchase(p.Session, p.ID))
			require.Equal(t, b.bought[p.ID].phase, p.Phase)
		}
		s := lane.Session
		if s == nil {
			continue
		}
		require.Equal(t, b.counter[s.ID]+b.credited[s.ID], s.Sold, "sold at the counter and at the lane")
		if p := s.Purchase; p != nil && p.Phase == lanes.Pending {
			require.LessOrEqual(t, s.Sold+b.bought[p.ID].minutes, 480*time.Minute, "there is room for what is being bought")
		}
	}
	for _, id := range b.ids {
		places := 0
		if b.bought[id].open() {
			places = 1
		}
		require.Equal(t, places, kept[id], "until it has ended it is in one place, and then in none")
	}
}

// requireChanges wants the change to know whether anything is to be saved.
func requireChanges(t *rapid.T, before lanes.Lane, change lanes.Change) {
	saved := func(lane lanes.Lane) string {
		text, err := json.Marshal(lane)
		require.NoError(t, err)
		return string(text)
	}
	differs := len(change.Events) > 0 || saved(before) != saved(change.Lane)
	require.Equal(t, differs, change.Changes(before))
}
