package api

import (
	"maps"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"rangegate/api/control"
	"rangegate/api/endpoint"
	"rangegate/api/lanescreen"
	"rangegate/api/screens"
	"rangegate/api/web"
	"rangegate/lanes"
)

// Screens is what the control screen and the lane screens are made of.
type Screens struct {
	// Staff is who may sign in, by range: names and the argon2id hashes of their PINs.
	Staff map[uuid.UUID]map[string]string
	// Seen is the sessions of staff that this process has seen.
	Seen *control.Seen
	// Lanes are those that have a screen.
	Lanes map[uuid.UUID]lanescreen.Lane
	// Control and Lane are the running range with that id, or why there is none.
	Control func(id uuid.UUID) (control.Range, error)
	Lane    func(id uuid.UUID) (lanescreen.Range, error)
	// Shop is the products of the range's integrator, or lanes.ErrProductsNotConfigured.
	Shop     func(rangeID uuid.UUID) (lanescreen.Shop, error)
	Pictures *lanescreen.Pictures
	Closing  <-chan struct{} // closed when the gateway stops: open streams end
}

// mount puts the screens' routes on the router. What staff and shooters do is bounded by people, not by the limits on a
// POS: a ceasefire is never one request too many.
func (s Screens) mount(r chi.Router, t *Traffic) {
	a := &endpoint.API{Errors: screenErrors, Timeout: patience, Defect: defect}
	r.Route("/screens", func(r chi.Router) {
		r.Use(screens.Guard(a.Fail))
		r.Get("/*", screens.Load(web.Files).Handler(a.Fail))
	})
	control.Mount(r, a, control.Settings{
		Staff: s.Staff, Seen: s.Seen, Range: s.Control, Network: network, Note: note, Log: logOf, Closing: s.Closing,
		Streams: t.streams.WithLabelValues("control"),
	})
	lanescreen.Mount(r, a, lanescreen.Settings{
		Lanes: s.Lanes, Range: s.Lane, Shop: s.Shop, Pictures: s.Pictures, Network: network, Note: note, Log: logOf, Closing: s.Closing,
		Streams: t.streams.WithLabelValues("lane"),
	})
}

// screenErrors has beside the errors of the API those that only a screen can meet.
var screenErrors = func() endpoint.Errors {
	all := maps.Clone(errors)
	maps.Copy(all, endpoint.Errors{
		"cross_site":          {Status: http.StatusForbidden, Sentence: "the request comes from a page of another site"},
		"not_waiting":         refusal(409, lanes.ErrNotWaiting),
		"no_purchasing":       refusal(409, lanes.ErrNoPurchasing),
		"purchase_pending":    refusal(409, lanes.ErrPurchasePending),
		"too_many_unresolved": refusal(409, lanes.ErrTooManyOpen),
		"purchase_malformed":  refusal(400, lanes.ErrItems),
	})
	return all
}()
