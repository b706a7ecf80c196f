package staffops

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

var (
	bay    = uuid.MustParse("55555555-5555-4555-8555-000000000001")
	lane   = uuid.MustParse("44444444-4444-4444-8444-000000000001")
	nobody = uuid.MustParse("99999999-9999-4999-8999-999999999999")
)

// fakeRange has one bay with one lane, and notes what is asked of it.
type fakeRange struct {
	Range
	held, lifted []lanes.Scope
	press        uuid.UUID // that a lift named
	inForce      lanes.Holds
	who          string
	reached      lanes.Reached
	err          error
	unresolved   []lanes.OpenPurchase
}

func (f *fakeRange) Layout() lanes.Layout {
	return lanes.Layout{Bays: []lanes.Bay{{ID: bay, Name: "Bay A"}}, Lanes: []lanes.Place{{ID: lane, Bay: bay}}}
}

func (f *fakeRange) Holds() lanes.Holds { return f.inForce }

func (f *fakeRange) Hold(_ context.Context, scope lanes.Scope, staff string) (lanes.Reached, error) {
	f.held, f.who = append(f.held, scope), staff
	return f.reached, f.err
}

func (f *fakeRange) Lift(_ context.Context, scope lanes.Scope, press uuid.UUID, staff string) (lanes.Reached, error) {
	f.lifted, f.press, f.who = append(f.lifted, scope), press, staff
	return f.reached, f.err
}

func (f *fakeRange) Unresolved() []lanes.OpenPurchase { return f.unresolved }

// A hold lies over something that the range has, or over nothing: a lane's id with the scope bay holds no lane.
func TestAHoldLiesOverWhatTheRangeHas(t *testing.T) {
	for _, c := range []struct {
		scope lanes.Scope
		fault string
	}{
		{lanes.Scope{Kind: lanes.OverRange}, ""},
		{lanes.Scope{Kind: lanes.OverBay, ID: bay}, ""},
		{lanes.Scope{Kind: lanes.OverLane, ID: lane}, ""},
		{lanes.Scope{Kind: lanes.OverRange, ID: lane}, "must not be given with the scope range"},
		{lanes.Scope{Kind: lanes.OverBay}, "must be a bay of this range"},
		{lanes.Scope{Kind: lanes.OverBay, ID: lane}, "must be a bay of this range"},
		{lanes.Scope{Kind: lanes.OverLane, ID: bay}, "must be a lane of this range"},
		{lanes.Scope{Kind: lanes.OverLane, ID: nobody}, "must be a lane of this range"},
	} {
		for _, on := range []bool{true, false} {
			r := &fakeRange{}
			_, err := HoldChange{Scope: c.scope, On: on}.Apply(t.Context(), r, "sam")
			if c.fault != "" {
				require.Equal(t, endpoint.Faults{"id": c.fault}, err, c.scope)
				require.Empty(t, append(r.held, r.lifted...))
				continue
			}
			require.NoError(t, err)
			require.Equal(t, "sam", r.who)
			if on {
				require.Equal(t, []lanes.Scope{c.scope}, r.held)
				require.Empty(t, r.lifted)
			} else {
				require.Equal(t, []lanes.Scope{c.scope}, r.lifted)
				require.Empty(t, r.held)
			}
		}
	}
}

// The configuration has lost the lane under a hold while the gateway was down: staff can lift it.
func TestAHoldOverWhatTheRangeHasNoMoreCanBeLifted(t *testing.T) {
	lost := lanes.Scope{Kind: lanes.OverLane, ID: nobody}
	r := &fakeRange{inForce: lanes.Holds{}.Set(lost, "kim", time.Now())}
	_, err := HoldChange{Scope: lost, On: true}.Apply(t.Context(), r, "sam")
	require.Equal(t, endpoint.Faults{"id": "must be a lane of this range"}, err)
	_, err = HoldChange{Scope: lost}.Apply(t.Context(), r, "sam")
	require.NoError(t, err)
	require.Equal(t, []lanes.Scope{lost}, r.lifted)
}

// The answer has every list, and what the range says of the save: a hold that is not saved is in force all the same.
func TestHowFarAHoldHasCome(t *testing.T) {
	r := &fakeRange{reached: lanes.Reached{Sent: []uuid.UUID{lane}}}
	result, err := HoldChange{Scope: lanes.Scope{Kind: lanes.OverRange}, On: true}.Apply(t.Context(), r, "sam")
	require.NoError(t, err)
	text, err := json.Marshal(result)
	require.NoError(t, err)
	require.JSONEq(t, `{"confirmed":[],"sent":["44444444-4444-4444-8444-000000000001"],"not_reached":[],"saved":false}`,
		string(text))

	r.err = lanes.ErrNotOwnerClosed
	_, err = HoldChange{Scope: lanes.Scope{Kind: lanes.OverRange}, On: true}.Apply(t.Context(), r, "sam")
	require.ErrorIs(t, err, lanes.ErrNotOwnerClosed)
}

// To lift, the press that was seen goes along.
func TestWhichPressAHoldEndsWith(t *testing.T) {
	r := &fakeRange{}
	_, err := HoldChange{Scope: lanes.Scope{Kind: lanes.OverRange}, Press: nobody}.Apply(t.Context(), r, "sam")
	require.NoError(t, err)
	require.Equal(t, nobody, r.press)
}

func TestHoldsAreShownWithWhatTheyLieOver(t *testing.T) {
	since := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	var holds lanes.Holds
	holds = holds.Set(lanes.Scope{Kind: lanes.OverRange}, "sam", since)
	holds = holds.Set(lanes.Scope{Kind: lanes.OverLane, ID: lane}, "kim", since)
	holds = holds.Press(lanes.Scope{Kind: lanes.OverLane, ID: lane}, nobody)
	text, err := json.Marshal(HoldViews(holds, endpoint.Stamp))
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"scope":"range","id":null,"who":"sam","since":"2026-05-01T12:00:00.000Z","press":null},
		{"scope":"lane","id":"44444444-4444-4444-8444-000000000001","who":"kim","since":"2026-05-01T12:00:00.000Z",
		 "press":"99999999-9999-4999-8999-999999999999"}
	]`, string(text))
	require.JSONEq(t, `[]`, mustJSON(t, HoldViews(lanes.Holds{}, endpoint.Stamp)))
}

// Names and prices stand with their items where the products API had told them.
func TestPurchasesThatWaitForStaff(t *testing.T) {
	p := lanes.Purchase{
		ID: nobody, Session: bay, Items: []lanes.Item{{ID: lanes.TimeItem, Qty: 15}, {ID: "9mm", Qty: 2}},
		Reason: "timed out", Trace: "till-1",
		At: lanes.Instant{Wall: time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)},
	}
	r := &fakeRange{unresolved: []lanes.OpenPurchase{{Purchase: p, Lane: lane, CreditSession: bay, CreditLane: nobody}}}
	const head = `{"purchase_id":"99999999-9999-4999-8999-999999999999","lane_id":"44444444-4444-4444-8444-000000000001",
		"session_id":"55555555-5555-4555-8555-000000000001","minutes":15,"asked_at":"2026-05-01T12:00:00.000Z","reason":"timed out",
		"event_id":"00000000-0000-0000-0000-000000000000","trace_id":"till-1",
		"credit_session_id":"55555555-5555-4555-8555-000000000001","credit_lane_id":"99999999-9999-4999-8999-999999999999","items":`
	require.JSONEq(t, `[`+head+`[{"id":"time","qty":15},{"id":"9mm","qty":2}]}]`, mustJSON(t, PurchaseViews(r)))

	r.unresolved[0].Goods = []lanes.Good{{Name: "Lane time", Price: "0.50"}, {Name: "9 mm", Price: "24.90"}}
	require.JSONEq(t, `[`+head+
		`[{"id":"time","qty":15,"name":"Lane time","price":"0.50"},{"id":"9mm","qty":2,"name":"9 mm","price":"24.90"}]}]`,
		mustJSON(t, PurchaseViews(r)))
}

func mustJSON(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
