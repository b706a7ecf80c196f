package lanes_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// purchaseFixture is a lane with a session that may buy.
type purchaseFixture struct {
	*testing.T
	lane lanes.Lane
	now  lanes.Instant
}

func newPurchaseFixture(t *testing.T) *purchaseFixture {
	f := &purchaseFixture{T: t, lane: lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true, Purchasing: true}}
	f.now = lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Mono: time.Hour}
	require.NoError(t, f.decide(lanes.Create{Session: uuid.New(), Minutes: 30, Purchasing: true}))
	return f
}

func (f *purchaseFixture) decide(command lanes.Command) error {
	change, err := f.lane.Decide(f.now, command)
	if err == nil {
		f.lane = change.Lane
	}
	return err
}

func (f *purchaseFixture) buy(purchase uuid.UUID) error {
	return f.decide(lanes.Buy{
		Session: f.lane.Session.ID, Purchase: purchase,
		Items: []lanes.Item{{ID: "targets", Qty: 1}},
	})
}

// buyWith makes a purchase that ends as the attempt says.
func (f *purchaseFixture) buyWith(attempt lanes.Attempt) uuid.UUID {
	f.Helper()
	purchase := uuid.New()
	require.NoError(f, f.buy(purchase))
	settle := lanes.Verdict(attempt, lanes.Answer{})
	settle.Session, settle.Purchase = f.lane.Session.ID, purchase
	require.NoError(f, f.decide(settle))
	return purchase
}

// The record of a lane stays small even if staff settle nothing.
func TestALaneKeepsAtMost100PurchasesForStaff(t *testing.T) {
	f := newPurchaseFixture(t)
	var first uuid.UUID
	for i := range 100 {
		purchase := f.buyWith(lanes.Attempt{Error: lanes.TimedOut})
		if i == 0 {
			first = purchase
		}
	}
	require.ErrorIs(t, f.buy(uuid.New()), lanes.ErrTooManyOpen)
	require.NoError(t, f.decide(lanes.Clear{Session: f.lane.Session.ID, Purchase: first}))
	require.NoError(t, f.buy(uuid.New()))
}

// The record of a session stays small however often the customer buys. A repeat of one of the latest 33
// purchases is recognised.
func TestASessionRemembersItsLatestPurchases(t *testing.T) {
	f := newPurchaseFixture(t)
	var purchases []uuid.UUID
	for range 1000 {
		purchases = append(purchases, f.buyWith(lanes.Attempt{Status: 200}))
	}
	require.Len(t, f.lane.Session.Purchase.Earlier, 32)
	last := f.lane.Session
	for _, purchase := range purchases[len(purchases)-33:] {
		require.NoError(t, f.buy(purchase))
		require.Same(t, last, f.lane.Session, "the same purchase changes nothing")
	}
}

// The record of a session stays small however often it is reopened. It continues the latest 32 that it goes on with.
func TestASessionRemembersWhichOnesItGoesOnWith(t *testing.T) {
	f := newPurchaseFixture(t)
	var ended []uuid.UUID
	for range 40 {
		ended = append(ended, f.lane.Session.ID)
		stopped, err := f.lane.Decide(f.now, lanes.Stop{Session: f.lane.Session.ID, By: lanes.ByPOS})
		require.NoError(t, err)
		f.lane = stopped.Lane
		require.NoError(t, f.decide(lanes.Reopen{Ended: *stopped.Ended}))
	}
	slices.Reverse(ended)
	require.Equal(t, ended[:32], f.lane.Session.GoesOnWith)
	require.True(t, f.lane.Session.Continues(ended[31]))
	require.False(t, f.lane.Session.Continues(ended[32]))
}

// The outcome of a request belongs in the event log if the request does.
func TestWhichPurchasesWereRequested(t *testing.T) {
	f := newPurchaseFixture(t)
	session, purchase := f.lane.Session.ID, uuid.New()
	end := lanes.Settle{Session: session, Purchase: purchase, Phase: lanes.Declined}
	require.False(t, f.lane.Requested(end), "there is none")
	require.NoError(t, f.buy(purchase))
	require.False(t, f.lane.Requested(end), "it waits to be sent")
	require.NoError(t, f.decide(lanes.Request{Session: session, Purchase: purchase}))
	require.True(t, f.lane.Requested(end))
	require.False(t, f.lane.Requested(lanes.Settle{Session: session, Purchase: uuid.New()}), "another one")
	require.NoError(t, f.decide(end))
	require.False(t, f.lane.Requested(end), "it is settled")
}

// An integrator that was not reached sold nothing; one that was cut off, or did not answer in time, may have
// sold something.
func TestVerdicts(t *testing.T) {
	says := lanes.Answer{UserMessage: "Sold out.", Error: "stock", Trace: "trace-1"}
	for text, want := range map[string]lanes.PurchasePhase{
		"":                               lanes.Accepted,
		"refused: status 402":            lanes.Declined,
		"timed out: after 10s":           lanes.Unresolved,
		"interrupted":                    lanes.Unresolved,
		"unreachable: no route":          lanes.Declined,
		lanes.NoWebhook:                  lanes.Declined,
		"interrupted: a defect of the g": lanes.Unresolved,
	} {
		verdict := lanes.Verdict(lanes.Attempt{Error: text}, says)
		require.Equal(t, want, verdict.Phase, text)
		require.Equal(t, "trace-1", verdict.Trace, text)
		require.Equal(t, want == lanes.Accepted, verdict.UserMessage == "", text)
		require.Contains(t, verdict.Reason, text)
	}
	require.Equal(t, "Sold out.", lanes.Verdict(lanes.Attempt{Error: lanes.Refused}, says).UserMessage)
}

// Two sessions may have bought under the same id, which a lane screen makes up.
func TestAPurchaseIsFoundByItsSessionAndItsID(t *testing.T) {
	one, another := uuid.New(), uuid.New()
	first := &lanes.Purchase{ID: uuid.New(), Session: one, Phase: lanes.Unresolved}
	second := &lanes.Purchase{ID: uuid.New(), Session: another, Phase: lanes.Unresolved}
	again := &lanes.Purchase{ID: first.ID, Session: another, Phase: lanes.Unresolved}
	lane := lanes.Lane{Open: []*lanes.Purchase{first, second, again}}
	require.Same(t, first, lane.OpenPurchase(one, first.ID))
	require.Same(t, second, lane.OpenPurchase(another, second.ID))
	require.Same(t, again, lane.OpenPurchase(another, first.ID))
	require.Nil(t, lane.OpenPurchase(one, second.ID))
	require.Nil(t, lane.OpenPurchase(uuid.New(), first.ID))
}

// Staff and the gateway see to what is open: what the lane keeps, and what its session is buying just now.
func TestTheOpenPurchasesOfALane(t *testing.T) {
	kept := &lanes.Purchase{ID: uuid.New(), Phase: lanes.Unresolved}
	pending := &lanes.Purchase{ID: uuid.New(), Phase: lanes.Pending}
	accepted := &lanes.Purchase{ID: uuid.New(), Phase: lanes.Accepted}
	for name, tc := range map[string]struct {
		session *lanes.Session
		want    []*lanes.Purchase
	}{
		"free":                      {nil, []*lanes.Purchase{kept}},
		"nothing bought":            {&lanes.Session{}, []*lanes.Purchase{kept}},
		"a purchase under way":      {&lanes.Session{Purchase: pending}, []*lanes.Purchase{kept, pending}},
		"a purchase that has ended": {&lanes.Session{Purchase: accepted}, []*lanes.Purchase{kept}},
	} {
		lane := lanes.Lane{Session: tc.session, Open: []*lanes.Purchase{kept}}
		require.Equal(t, tc.want, lane.Purchases(), name)
	}
}
