package api

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// shelf is a range with one purchase that waits for staff.
type shelf struct {
	credited *bool
	over     lanes.Scope
	who      string
	lifted   bool
}

const thePurchase = "77777777-7777-4777-8777-000000000001"

func (s *shelf) Unresolved() []lanes.OpenPurchase {
	return []lanes.OpenPurchase{{Lane: uuid.MustParse(theLane), Purchase: lanes.Purchase{
		ID: uuid.MustParse(thePurchase), Session: uuid.MustParse(theSession), At: lanes.Instant{Wall: noon},
		Items: []lanes.Item{{ID: lanes.TimeItem, Qty: 15}, {ID: "9mm", Qty: 1}}, Reason: "timed out",
	}}}
}

func (s *shelf) Clear(_ context.Context, who string, purchase uuid.UUID, credit bool) error {
	if purchase != uuid.MustParse(thePurchase) {
		return lanes.ErrPurchaseNotFound
	}
	s.credited, s.who = &credit, who
	return nil
}

func (s *shelf) Layout() lanes.Layout { return (&stand{}).Layout() }

func (s *shelf) Holds() lanes.Holds {
	return lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "operator", noon).
		Set(lanes.Scope{Kind: lanes.OverBay, ID: uuid.MustParse(theBay)}, "sam", noon)
}

func (s *shelf) Hold(_ context.Context, over lanes.Scope, who string) (lanes.Reached, error) {
	s.over, s.who = over, who
	return lanes.Reached{Confirmed: []uuid.UUID{uuid.MustParse(theLane)}, Saved: true}, nil
}

func (s *shelf) Lift(_ context.Context, over lanes.Scope, who string) (lanes.Reached, error) {
	s.over, s.who, s.lifted = over, who, true
	return lanes.Reached{}, lanes.ErrStoreUnavailable
}

func operationsOf(registry prometheus.Gatherer) http.Handler {
	return operationsWith(registry, &shelf{}, "operator")
}

func operationsWith(registry prometheus.Gatherer, s *shelf, token string) http.Handler {
	return NewOperations(Operations{
		Ready: func() error { return nil }, Metrics: registry, Token: token, Log: zerolog.Nop(),
		Range: func(id uuid.UUID) (Operated, error) {
			switch id {
			case uuid.MustParse(someRange):
				return s, nil
			case uuid.MustParse(otherRange):
				return nil, lanes.ErrNotOwner
			}
			return nil, ErrNoRange
		},
		Ranges:  func() []uuid.UUID { return []uuid.UUID{uuid.MustParse(someRange), uuid.MustParse(otherRange)} },
		Waiting: func() map[string]int { return map[string]int{"lane": 3} },
	})
}

// Until there is a control screen, staff settle purchases with the operator's token.
func TestPurchasesThatWaitForStaff(t *testing.T) {
	waiting := &shelf{}
	h := operationsWith(prometheus.NewRegistry(), waiting, "operator")
	at := "/ranges/" + someRange + "/purchases"
	answer := known(h, "GET", at, "")
	require.Equal(t, 200, answer.Code)
	require.Equal(t, `[{"purchase_id":"`+thePurchase+`","lane_id":"`+theLane+`","session_id":"`+theSession+
		`","items":[{"id":"time","qty":15},{"id":"9mm","qty":1}],"minutes":15,"asked_at":"2026-05-01T12:00:00.250Z",`+
		`"reason":"timed out","event_id":"00000000-0000-0000-0000-000000000000","trace_id":""}]`+"\n", answer.Body.String())

	require.Equal(t, 204, known(h, "POST", at+"/"+thePurchase+"/credit", "").Code)
	require.True(t, *waiting.credited)
	require.Equal(t, "operator", waiting.who)
	require.Equal(t, 204, known(h, "POST", at+"/"+thePurchase+"/drop", "").Code)
	require.False(t, *waiting.credited)
	require.Equal(t, 404, known(h, "POST", at+"/"+theLane+"/drop", "").Code)
	for _, page := range []string{"/purchases", "/holds"} {
		require.Equal(t, 404, known(h, "GET", "/ranges/"+theLane+page, "").Code)
		require.Contains(t, known(h, "GET", "/ranges/"+otherRange+page, "").Body.String(), `"code":"not_owner"`)
	}
	require.Equal(t, 400, known(h, "GET", "/ranges/lane/purchases", "").Code)
}

func TestTheOperationsToken(t *testing.T) {
	path := "/ranges/" + someRange + "/purchases"
	h := operationsWith(prometheus.NewRegistry(), &shelf{}, "operator")
	for _, wrong := range []string{"", "operator", "Bearer", "Bearer ", "Bearer operatox", "Basic operator"} {
		require.Equal(t, 401, send(h, "GET", path, "", "Authorization", wrong).Code, wrong)
	}
	unset := operationsWith(prometheus.NewRegistry(), &shelf{}, "")
	require.Equal(t, 401, send(unset, "GET", path, "", "Authorization", "Bearer ").Code, "no token is nobody's token")
}

func TestProfilesAreTheOperators(t *testing.T) {
	h := operationsOf(prometheus.NewRegistry())
	heap := send(h, "GET", "/debug/pprof/heap?debug=1", "", "Authorization", "Bearer operator")
	require.Equal(t, 200, heap.Code)
	require.Contains(t, heap.Body.String(), "heap profile")
}
