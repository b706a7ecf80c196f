// Package simulate is the playground's simulation API (SPEC.md 4.6, WIRE.md, Simulate): it sends events to the
// integrator's webhook, fetches the integrator's products, advances a session's clock, and brings a range into the
// states that a POS has to cope with: a customer who enters, a ceasefire, a fault of a lane, an error as an answer.
package simulate

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/staffops"
	"rangegate/catalog"
	"rangegate/lanes"
	"rangegate/webhook"
)

// Range is the part of a running range that the simulation uses.
type Range interface {
	// Epoch is higher with each process that claims the range, one after the other.
	Epoch() uint64
	// On sends a command to an active session.
	On(ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key) (*lanes.SessionView, error)
	// LaneOn gives a lane a command of its own hardware or screen.
	LaneOn(ctx context.Context, lane uuid.UUID, command lanes.Command) (*lanes.SessionView, error)
	staffops.Holdable
	// Simulate sends an event to the webhook at once and records it as simulated. The event has the lane of
	// an active session; without one (uuid.Nil, or unknown) both ids are invented. lanes.ErrWebhookFailed
	// means that the receiver gave no response, lanes.ErrWebhookGone that nothing was sent after its 410,
	// lanes.ErrDurationOutOfRange that the session would exceed lanes.MaxMinutes.
	Simulate(ctx context.Context, kind lanes.Kind, session uuid.UUID, items []lanes.Item) (lanes.Logged, error)
}

// Products is the integrator's products API. The session is sent as the header session-id; an empty one is not sent.
type Products interface {
	Fetch(ctx context.Context, t catalog.Type, session string) ([]catalog.Product, error)
	All(ctx context.Context, session string) (catalog.Catalogue, error)
}

// Handlers respond for the range that the request was authenticated for.
type Handlers struct {
	// RangeOf returns the running range of the request, or lanes.ErrStarting, or lanes.ErrNotOwner.
	RangeOf func(ctx context.Context) (Range, error)
	// ProductsOf returns the products API of its integrator, or lanes.ErrProductsNotConfigured.
	ProductsOf func(ctx context.Context) (Products, error)
	// Forced has the errors that requests are answered with.
	Forced *ForcedErrors
}

// Endpoints returns every path of the simulation, below the prefix of version 2.
func (h Handlers) Endpoints() []endpoint.Endpoint {
	return slices.Concat(
		endpoint.Group("Simulation of events", "On the playground only. Each sends an event to the webhook that "+
			"is configured, and answers with what it sent and, in `webhook-status`, how it was answered. The events "+
			"take no part in a lane's order.",
			h.event("help", lanes.Help, "A customer calls for help"),
			h.event("carrierHit", lanes.CarrierHit, "A carrier is shot, and returns home"),
			h.purchase("purchaseRequest", "A customer wants to buy a product", readPurchase,
				lanes.Item{ID: "9mm-box-50", Qty: 2}),
			h.purchase("addTime", "A customer wants to buy lane time", readTime,
				lanes.Item{ID: lanes.TimeItem, Qty: 30}),
			h.event("sessionCreated", lanes.SessionCreated, "A session is created"),
			h.event("sessionStarted", lanes.SessionStarted, "A customer enters the lane, and the time begins"),
			h.event("sessionPaused", lanes.SessionPaused, "A session is paused"),
			h.event("sessionResumed", lanes.SessionResumed, "A session is resumed after a pause"),
			h.event("sessionStopped", lanes.SessionStopped, "A session ends"),
			h.event("sessionModified", lanes.SessionModified, "A session's duration changes"),
		),
		endpoint.Group("Simulation of products", "On the playground only. The products as the integrator's products "+
			"API answers them at this moment, checked and limited as a lane shows them.",
			endpoint.Handle("GET", "/simulate/products", 200, "The integrator's products of every type",
				readSession, endpoint.WithTarget(h.ProductsOf, allProducts),
				"products_not_configured", "products_failed").WithoutTimeout().Example(exampleCatalogue),
			endpoint.Handle("GET", "/simulate/products/{type}", 200, "The integrator's products of one type",
				readType, endpoint.WithTarget(h.ProductsOf, productsOfType),
				"products_not_configured", "products_failed").WithoutTimeout(),
		),
		endpoint.Group("Simulation of time", "On the playground only.",
			endpoint.Handle("POST", "/simulate/advance", 204, "Let a running session's clock jump ahead",
				readAdvance, endpoint.WithTarget(h.RangeOf, advanceClock),
				"session_not_found", "session_ended", "not_running", "starting", "store_unavailable",
				"overloaded", "not_owner").
				Describe("A jump that reaches the end of the session ends it, as expiry does. Where the session "+
					"has a grace it begins that, of which the rest of the jump passes; a jump in the grace shortens "+
					"it, and ends the session with it."),
		),
		endpoint.Group("Simulation of states",
			"On the playground only. Each brings the range into a state that a POS has to cope with.", h.states()...),
	)
}

// event declares the endpoint of an event without data of its own.
func (h Handlers) event(name string, kind lanes.Kind, summary string) endpoint.Endpoint {
	read := func(in *endpoint.Input) event { return event{kind: kind, session: readActive(in)} }
	return h.send(name, summary, read, example(kind))
}

func (h Handlers) purchase(name, summary string, read func(*endpoint.Input) event, shown lanes.Item) endpoint.Endpoint {
	return h.send(name, summary, read, example(lanes.PurchaseRequest, shown), "duration_out_of_range").
		Describe("Sends a purchaseRequest. Where a real session is given and the receiver accepts, its time is " +
			"added to the session.")
}

// send declares an endpoint that sends an event. It waits for the webhook's response as long as the webhook may take.
func (h Handlers) send(
	name, summary string, read func(*endpoint.Input) event, example Sent, codes ...string,
) endpoint.Endpoint {
	return endpoint.Handle("POST", "/simulate/"+name, 201, summary, read, endpoint.WithTarget(h.RangeOf, sendEvent),
		append(codes, "webhook_not_configured", "webhook_gone", "webhook_failed", "starting", "store_unavailable",
			"overloaded", "not_owner")...).
		Example(example).WithoutTimeout()
}

// example returns the example of an event for the document.
func example(kind lanes.Kind, items ...lanes.Item) Sent {
	return Sent{Body: webhook.BodyOf(lanes.Event{
		Kind:    kind,
		Session: uuid.MustParse(endpoint.ExampleID),
		Lane:    uuid.MustParse("44444444-4444-4444-8444-000000000001"),
		Items:   items,
	})}
}

// event is an event to be sent.
type event struct {
	kind    lanes.Kind
	session uuid.UUID // uuid.Nil: invented
	items   []lanes.Item
}

func readActive(in *endpoint.Input) uuid.UUID {
	return in.OptionalID("session_id", "An active session, whose lane the event then has. Without one, or where "+
		"there is no such session, both ids are made up")
}

func readPurchase(in *endpoint.Input) event {
	return event{
		kind: lanes.PurchaseRequest, session: readActive(in),
		items: []lanes.Item{{
			ID: in.Text("product_id", 1, lanes.MaxProductID,
				"The integrator's product identifier; it is trimmed, and has no control characters", "9mm-box-50"),
			Qty: in.Integer("qty", 1, lanes.MaxQty, "How many of it", 2),
		}},
	}
}

func readTime(in *endpoint.Input) event {
	return event{
		kind: lanes.PurchaseRequest, session: readActive(in),
		items: []lanes.Item{{ID: lanes.TimeItem, Qty: in.Integer("qty", 1, lanes.MaxQty, "Minutes", 30)}},
	}
}

// Sent is an event as it was sent, and the status of the receiver's response.
type Sent struct {
	webhook.Body
	Status int `json:"-" header:"webhook-status" doc:"The HTTP status that the receiver answered with" example:"200" min:"100" max:"999"`
}

func sendEvent(ctx context.Context, r Range, e event) (Sent, error) {
	logged, err := r.Simulate(ctx, e.kind, e.session, e.items)
	if err != nil {
		return Sent{}, err
	}
	if logged.Attempt == nil || !logged.Attempt.Answered() {
		return Sent{}, lanes.ErrWebhookFailed
	}
	return Sent{webhook.BodyOf(logged.Event), logged.Attempt.Status}, nil
}

// advance is a jump of a session's clock.
type advance struct {
	session uuid.UUID
	minutes float64
}

// longestJump is the longest jump in minutes. It exceeds every session.
const longestJump = 1_000_000

func readAdvance(in *endpoint.Input) advance {
	return advance{
		session: in.ID("session_id", "An active session whose time is running", endpoint.ExampleID),
		minutes: in.Positive("minutes", longestJump, "Minutes to jump, with or without decimals", 12.5),
	}
}

func advanceClock(ctx context.Context, r Range, a advance) (endpoint.Empty, error) {
	jump := max(1, time.Duration(a.minutes*float64(time.Minute)))
	_, err := r.On(ctx, a.session, lanes.Advance{Session: a.session, By: jump}, nil)
	return endpoint.Empty{}, err
}

// exampleCatalogue is the example of the products for the document.
var exampleCatalogue = catalog.Catalogue{
	Time: []catalog.Product{{
		ID: "time", DisplayName: "Lane time", Price: "0.40", MaxQty: 120, MinQty: 15, IncrementBy: 15,
	}},
	Targets: []catalog.Product{},
	Ammo: []catalog.Product{{
		ID: "9mm-box-50", DisplayName: "9 mm, box of 50", Price: "24.50", MaxQty: 10, MinQty: 1, IncrementBy: 1,
		PictureURL: "https://pos.example.com/9mm.jpg",
	}},
	Rentals: []catalog.Product{},
}

// query selects the products of a type.
type query struct {
	productType catalog.Type
	session     string
}

func readSession(in *endpoint.Input) string {
	return in.Header("session-id", 255, "Passed on to the products API; without it, none is")
}

func readType(in *endpoint.Input) query {
	return query{
		productType: catalog.Type(in.PathOneOf("type", "The type of the products", string(catalog.Ammo),
			string(catalog.Targets),
			string(catalog.Rentals), string(catalog.Time))),
		session: readSession(in),
	}
}

func allProducts(ctx context.Context, p Products, session string) (catalog.Catalogue, error) {
	return p.All(ctx, session)
}

func productsOfType(ctx context.Context, p Products, q query) ([]catalog.Product, error) {
	return p.Fetch(ctx, q.productType, q.session)
}
