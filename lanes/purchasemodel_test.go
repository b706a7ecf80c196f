package lanes_test

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// purchaseModel is the part of the model of TestPaidTimeIsKept that counts purchases. It knows how each ended
// and nothing of how it is settled.
type purchaseModel struct {
	bought   map[uuid.UUID]*modelPurchase
	ids      []uuid.UUID                 // in the order of the purchases
	sold     map[uuid.UUID]time.Duration // by session: time that the POS sold
	credited map[uuid.UUID]time.Duration // by session: time that purchases added
}

type modelPurchase struct {
	session uuid.UUID
	minutes time.Duration
	phase   lanes.PurchasePhase
	sent    int
}

func (p modelPurchase) open() bool { return p.phase == lanes.Pending || p.phase == lanes.Unresolved }

func newPurchaseModel() *purchaseModel {
	return &purchaseModel{
		bought: map[uuid.UUID]*modelPurchase{},
		sold:   map[uuid.UUID]time.Duration{}, credited: map[uuid.UUID]time.Duration{},
	}
}

// purchase is the id of a recent purchase, or sometimes an unknown one.
func (m *purchaseModel) purchase(t *rapid.T) uuid.UUID {
	if len(m.ids) == 0 || rapid.IntRange(0, 20).Draw(t, "an unknown one") == 0 {
		return uuid.Max
	}
	recent := m.ids[max(0, len(m.ids)-5):]
	return rapid.SampledFrom(recent).Draw(t, "purchase")
}

func (m *purchaseModel) sessionOf(purchase uuid.UUID) uuid.UUID {
	if bought := m.bought[purchase]; bought != nil {
		return bought.session
	}
	return uuid.Max
}

func (m *purchaseModel) items(t *rapid.T) (items []lanes.Item) {
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		items = append(items, lanes.Item{
			ID:  rapid.SampledFrom([]string{"time", "targets", "time", ""}).Draw(t, "product"),
			Qty: rapid.IntRange(-1, 300).Draw(t, "qty"),
		})
	}
	return items
}

// purchaseActions is what customers, the POS and staff do about purchases.
func (m *model) purchaseActions() map[string]func(*rapid.T) {
	id := func(t *rapid.T) uuid.UUID {
		if rapid.IntRange(0, 4).Draw(t, "again") == 0 && m.lane.Session != nil {
			if again := m.purchases.purchase(t); m.purchases.sessionOf(again) == m.lane.Session.ID {
				return again
			}
		}
		return uuid.UUID(rapid.SliceOfN(rapid.ByteRange(1, 254), 16, 16).Draw(t, "purchase"))
	}
	outcomes := rapid.SampledFrom([]lanes.Attempt{
		{Status: 200},
		{Status: 200},
		{Status: 402, Error: lanes.Refused},
		{Error: lanes.TimedOut},
		{Error: lanes.Interrupted},
		{Error: lanes.Unreachable},
	})
	return map[string]func(*rapid.T){
		"buy": func(t *rapid.T) {
			m.decide(t, lanes.Buy{Session: m.session(t), Purchase: id(t), Items: m.purchases.items(t)})
		},
		"buy, as the controller reports it": func(t *rapid.T) {
			m.decide(t, lanes.Report{
				Log:  lanes.Log{ID: "purchases", Seq: rapid.Uint64Range(1, 20).Draw(t, "seq")},
				Kind: lanes.ReportPurchase, Session: m.session(t), Purchase: id(t), Items: m.purchases.items(t),
			})
		},
		"request": func(t *rapid.T) {
			purchase := m.purchases.purchase(t)
			m.decide(t, lanes.Request{Session: m.purchases.sessionOf(purchase), Purchase: purchase})
		},
		"settle": func(t *rapid.T) {
			settle := lanes.Verdict(outcomes.Draw(t, "outcome"), lanes.Answer{})
			settle.Purchase = m.purchases.purchase(t)
			settle.Session = m.purchases.sessionOf(settle.Purchase)
			m.decide(t, settle)
		},
		"clear": func(t *rapid.T) {
			purchase := m.purchases.purchase(t)
			m.decide(t, lanes.Clear{
				Session: m.purchases.sessionOf(purchase), Purchase: purchase, Credit: rapid.Bool().Draw(t, "credit"),
			})
		},
	}
}

// follow records what a change does to purchases and to the time that was sold.
func (m *purchaseModel) follow(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command) {
	session := change.Lane.Session
	if session != nil && session.Purchase != nil && m.bought[session.Purchase.ID] == nil {
		p := session.Purchase
		require.Contains(t, []lanes.PurchasePhase{lanes.Pending, lanes.Declined}, p.Phase,
			"asked for, or refused at once")
		m.ids = append(m.ids, p.ID)
		m.bought[p.ID] = &modelPurchase{
			session: session.ID, minutes: time.Duration(p.Minutes()) * time.Minute,
			phase: p.Phase,
		}
	} else if change.Settled != nil {
		m.recordEnd(t, before, change, command)
	}
	for _, event := range change.Events {
		if event.Kind == lanes.PurchaseRequest {
			sent := m.bought[before.Session.Purchase.ID]
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
		m.sold[session.ID] = session.Sold
	case lanes.Modify, lanes.SetDuration:
		m.sold[session.ID] += session.Sold - before.Session.Sold
	case lanes.MakeUp:
		given := session.Sold - before.Session.Sold
		require.Zero(t, session.RanOn, "it is settled once")
		require.Equal(t, cmd.Give && before.Session.RanOn > 0, given > 0)
		if given > 0 {
			require.GreaterOrEqual(t, given, before.Session.RanOn)
			require.Less(t, given, before.Session.RanOn+time.Minute)
		}
		m.sold[session.ID] += given
	}
}

// recordEnd records the one end of a purchase. Only staff can end an unresolved one.
func (m *purchaseModel) recordEnd(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command) {
	p := m.bought[change.Settled.ID]
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
		m.credited[p.session] += p.minutes
	}
}

// check checks what holds at every instant of the lanes.
func (m *purchaseModel) check(t *rapid.T, on ...lanes.Lane) {
	kept := map[uuid.UUID]int{}
	for _, lane := range on {
		for _, p := range lane.Purchases() {
			kept[p.ID]++
			require.Same(t, p, lane.OpenPurchase(p.Session, p.ID))
			require.Equal(t, m.bought[p.ID].phase, p.Phase)
		}
		s := lane.Session
		if s == nil {
			continue
		}
		require.Equal(t, m.sold[s.ID]+m.credited[s.ID], s.Sold, "sold by the POS and bought at the lane")
		if p := s.Purchase; p != nil && p.Phase == lanes.Pending {
			require.LessOrEqual(t, s.Sold+m.bought[p.ID].minutes, 480*time.Minute,
				"there is room for what is being bought")
		}
	}
	for _, id := range m.ids {
		places := 0
		if m.bought[id].open() {
			places = 1
		}
		require.Equal(t, places, kept[id], "an open purchase is kept in one place, an ended one in none")
	}
}

// requireChanges checks that Changes reports exactly the changes that have to be saved; of an Inspect, which comes once
// for each link, it may report one that has led back to the same value.
func requireChanges(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command) {
	saved := func(lane lanes.Lane) string {
		text, err := json.Marshal(lane)
		require.NoError(t, err)
		return string(text)
	}
	differs := len(change.Events) > 0 || saved(before) != saved(change.Lane)
	if _, inspects := command.(lanes.Inspect); !inspects || differs {
		require.Equal(t, differs, change.Changes(before))
	}
}
