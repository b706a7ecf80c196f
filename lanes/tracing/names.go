package tracing

import "go.opentelemetry.io/otel/attribute"

// The names of the spans. A dashboard that searches for one finds it under this name in every version.
const (
	Request  = "request"  // an HTTP request, from its header until it is answered
	Hop      = "hop"      // from one node to the owner of the range, until that answers
	Mailbox  = "mailbox"  // from sending a command to a lane until the lane takes it: in its mailbox and its queue
	Decide   = "decide"   // what the rules say of it; linked to the flush that saved it
	Flush    = "flush"    // one write to the store, in a trace of its own; linked to all requests that it saved
	Arrival  = "arrival"  // from a move's being saved until the session is in force on its new lane
	Reach    = "reach"    // a hold, or its end, until the hardware of all lanes that can be reached has confirmed it
	Applied  = "applied"  // from sending the state to the lane's hardware until that confirms it
	Webhook  = "webhook"  // one attempt to deliver an event, or to ask about a purchase
	Purchase = "purchase" // a purchase at a lane, until it is settled or waits for staff
	Products = "products" // one request to the products API
)

// The attributes of the spans. None has a customer's name, a credential or an address's path.
const (
	Method = attribute.Key("http.request.method")
	Route  = attribute.Key("http.route")
	Status = attribute.Key("http.response.status_code")
	Host   = attribute.Key("server.address")
	Cause  = attribute.Key("error.type") // one word

	RangeID   = attribute.Key("rangegate.range_id")
	LaneID    = attribute.Key("rangegate.lane_id")
	SessionID = attribute.Key("rangegate.session_id")
	EventID   = attribute.Key("rangegate.event_id")
	Event     = attribute.Key("rangegate.event")   // its kind
	Command   = attribute.Key("rangegate.command") // what was asked of the lane
	By        = attribute.Key("rangegate.by")      // whom: pos, staff, lane
	Outcome   = attribute.Key("rangegate.outcome") // in one word, as the log and the metrics have it
	Node      = attribute.Key("rangegate.node")    // that has answered a request, or was asked
	Name      = attribute.Key("rangegate.webhook") // the webhook's name
	Type      = attribute.Key("rangegate.product_type")
	Writes    = attribute.Key("rangegate.writes") // in a flush
	Number    = attribute.Key("rangegate.flush")  // n of a flush, as in the log

	Scope      = attribute.Key("rangegate.scope")       // of a hold: range, bay or lane
	ScopeID    = attribute.Key("rangegate.scope_id")    // of the bay or the lane
	Lanes      = attribute.Key("rangegate.lanes")       // how many a hold covers, or its end opens
	Confirmed  = attribute.Key("rangegate.confirmed")   // on how many of them the hardware has confirmed it
	Sent       = attribute.Key("rangegate.sent")        // to how many it was sent and is not confirmed
	NotReached = attribute.Key("rangegate.not_reached") // of how many the link is down
)
