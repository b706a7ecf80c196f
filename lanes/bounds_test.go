package lanes_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// counter is a lane with a session that may buy, which is asked without a word between.
type counter struct {
	*testing.T
	lane lanes.Lane
	now  lanes.Instant
}

func newCounter(t *testing.T) *counter {
	c := &counter{T: t, lane: lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true, Purchasing: true}}
	c.now = lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Mono: time.Hour}
	require.NoError(t, c.ask(lanes.Create{Session: uuid.New(), Minutes: 30, Purchasing: true}))
	return c
}

func (c *counter) ask(command lanes.Command) error {
	change, err := c.lane.Decide(c.now, command)
	if err == nil {
		c.lane = change.Lane
	}
	return err
}

func (c *counter) buy(purchase uuid.UUID) error {
	return c.ask(lanes.Buy{Session: c.lane.Session.ID, Purchase: purchase, Items: []lanes.Item{{ID: "targets", Qty: 1}}})
}

// bought buys something, and it turns out so.
func (c *counter) bought(attempt lanes.Attempt) uuid.UUID {
	c.Helper()
	purchase := uuid.New()
	require.NoError(c, c.buy(purchase))
	settle := lanes.Verdict(attempt, lanes.Answer{})
	settle.Session, settle.Purchase = c.lane.Session.ID, purchase
	require.NoError(c, c.ask(settle))
	return purchase
}

// Staff who settle nothing do not make a lane's record grow without end.
func TestALaneKeepsSoManyPurchasesForStaff(t *testing.T) {
	c := newCounter(t)
	var first uuid.UUID
	for i := range 100 {
		purchase := c.bought(lanes.Attempt{Error: lanes.TimedOut})
		if i == 0 {
			first = purchase
		}
	}
	require.ErrorIs(t, c.buy(uuid.New()), lanes.ErrTooManyOpen)
	require.NoError(t, c.ask(lanes.Clear{Purchase: first}))
	require.NoError(t, c.buy(uuid.New()))
}

// Nor does a customer who buys all day. What was bought a while ago is known still.
func TestASessionRemembersItsLatestPurchases(t *testing.T) {
	c := newCounter(t)
	var purchases []uuid.UUID
	for range 1000 {
		purchases = append(purchases, c.bought(lanes.Attempt{Status: 200}))
	}
	require.Len(t, c.lane.Session.Purchase.Earlier, 32)
	last := c.lane.Session
	for _, purchase := range purchases[len(purchases)-33:] {
		require.NoError(t, c.buy(purchase))
		require.Same(t, last, c.lane.Session, "the same purchase changes nothing")
	}
}

// Who was not reached sold nothing; who was cut off, or said nothing in time, may have.
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
