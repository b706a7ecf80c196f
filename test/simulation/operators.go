package simulation

import (
	"context"
	"net/http"
	"time"

	"rangegate/test/support"
)

// operators have lanes restarted, links made anew and the range given to another node, whatever else happens, until
// ctx ends. They ask once, at any machine.
func (w *world) operators(ctx context.Context, r *rangeOf) {
	for sleep(ctx, 200*time.Millisecond+w.upTo(6*time.Second)) == nil {
		lane := "/lanes/" + r.lanes[w.draw(laneCount)].String()
		switch dice := w.draw(20); {
		case dice == 0 && w.plan.nodes > 1:
			w.operate(r, "/drain")
		case dice < 3:
			w.operate(r, lane+"/reconnect")
		default:
			w.operate(r, lane+"/restart")
		}
	}
}

// operate asks for something once.
func (w *world) operate(r *rangeOf, path string) {
	m := w.oneMachine()
	got, err := support.Client{API: "http://" + m.host + ":9090/observer", HTTP: w.http}.
		Do(http.MethodPost, path+"?range="+r.id.String(), "", "Authorization", "Bearer operator")
	w.trace("operator of range %d at %s: %s: %d %s %v", r.number, m.name, path, got.Status, got.Body, err)
	if err == nil && got.Status/100 == 4 && !mayRefuse[got.Code()] {
		w.fail("an operator is refused %s: %d %s", path, got.Status, got.Body)
	}
}

// mayRefuse are the reasons why what an operator wants is not done.
var mayRefuse = map[string]bool{
	"lane_parked": true, "no_other_node": true, "not_owner": true, "too_many_requests": true,
}
