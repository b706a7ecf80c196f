package simulate

import (
	"slices"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
	"rangegate/webhook"
)

// Endpoints is every path of the simulation, below the prefix of version 2.
func (h Handlers) Endpoints() []endpoint.Endpoint {
	return slices.Concat(
		endpoint.Group("Simulation of events", "On the playground only. Each sends an event to the webhook that is configured, and answers "+
			"with what it sent and, in `webhook-status`, how it was answered. The events take no part in a lane's order.",
			h.event("help", lanes.Help, "A customer calls for help"),
			h.event("carrierHit", lanes.CarrierHit, "A carrier is shot, and returns home"),
			h.purchase("purchaseRequest", "A customer wants to buy a product", readPurchase, lanes.Item{ID: "9mm-box-50", Qty: 2}),
			h.purchase("addTime", "A customer wants to buy lane time", readTime, lanes.Item{ID: lanes.TimeItem, Qty: 30}),
			h.event("sessionCreated", lanes.SessionCreated, "A session is created"),
			h.event("sessionStarted", lanes.SessionStarted, "A customer enters the lane, and the time begins"),
			h.event("sessionPaused", lanes.SessionPaused, "A session is paused"),
			h.event("sessionResumed", lanes.SessionResumed, "A session is resumed after a pause"),
			h.event("sessionStopped", lanes.SessionStopped, "A session ends"),
			h.event("sessionModified", lanes.SessionModified, "A session's duration changes"),
		),
		endpoint.Group("Simulation of products", "On the playground only. The products as the integrator's products API answers them "+
			"at this moment, checked and limited as a lane shows them.",
			endpoint.Handle("GET", "/simulate/products", 200, "The integrator's products of every type", readSession, h.all,
				"products_not_configured", "products_failed").WithoutTimeout().Example(exampleCatalogue),
			endpoint.Handle("GET", "/simulate/products/{type}", 200, "The integrator's products of one type", readType, h.ofType,
				"products_not_configured", "products_failed").WithoutTimeout(),
		),
		endpoint.Group("Simulation of time", "On the playground only.",
			endpoint.Handle("POST", "/simulate/advance", 204, "Let a running session's clock jump ahead", readAdvance, h.advance,
				"session_not_found", "session_ended", "not_running", "starting", "store_unavailable", "overloaded", "not_owner").
				Describe("A jump that reaches the end of the session ends it, as expiry does."),
		),
	)
}

// event simulates one that has nothing but a session.
func (h Handlers) event(name string, kind lanes.Kind, summary string) endpoint.Endpoint {
	simulated := func(in *endpoint.Input) event { return event{kind: kind, session: readActive(in)} }
	return h.sends(name, summary, simulated, example(kind))
}

func (h Handlers) purchase(name, summary string, read func(*endpoint.Input) event, shown lanes.Item) endpoint.Endpoint {
	return h.sends(name, summary, read, example(lanes.PurchaseRequest, shown), "duration_out_of_range").
		Describe("Sends a purchaseRequest. Where a real session is given and the receiver accepts, its time is added to the session.")
}

// sends takes as long as the webhook is given: the answer is what came of it.
func (h Handlers) sends(
	name, summary string, read func(*endpoint.Input) event, example Sent, codes ...string,
) endpoint.Endpoint {
	return endpoint.Handle("POST", "/simulate/"+name, 201, summary, read, h.send,
		append(codes, "webhook_not_configured", "webhook_failed", "starting", "store_unavailable", "overloaded", "not_owner")...).
		Example(example).WithoutTimeout()
}

// example is what the document shows of an event.
func example(kind lanes.Kind, items ...lanes.Item) Sent {
	return Sent{Body: webhook.BodyOf(lanes.Event{
		Kind:    kind,
		Session: uuid.MustParse("7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"),
		Lane:    uuid.MustParse("44444444-4444-4444-8444-000000000001"),
		Items:   items,
	})}
}
