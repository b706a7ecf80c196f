package v2

import (
	"slices"

	"rangegate/api/endpoint"
)

// Endpoints is every path of version 2 below its prefix.
func (h Handlers) Endpoints() []endpoint.Endpoint {
	return slices.Concat(
		endpoint.Group("Range information", "What the range is made of, and how its lanes stand. Bays, groups and lanes hardly ever "+
			"change: read them when the POS starts, and once a day at most.",
			endpoint.Handle("GET", "/bays", 200, "The range's bays, in display order", endpoint.NoInput, h.Bays, "starting", "not_owner"),
			endpoint.Handle("GET", "/groups", 200, "The range's access groups", endpoint.NoInput, h.Groups, "starting", "not_owner"),
			endpoint.Handle("GET", "/lanes", 200, "The range's lanes, in display order, not grouped by bay",
				endpoint.NoInput, h.Lanes, "starting", "not_owner"),
			endpoint.Handle("GET", "/lanes/status", 200, "How every lane stands, in display order",
				endpoint.NoInput, h.laneStatus, "starting", "not_owner").
				Describe("Who is on a lane, whether the fire line is locked, and why a lane is not usable."),
		),
		endpoint.Group("Sessions", "Sell lane time, change it, end it.",
			endpoint.Handle("GET", "/sessions", 200, "The active sessions, in the display order of their lanes",
				endpoint.NoInput, Sessions(h, writtenAll), "starting", "not_owner").
				Describe("Sessions made at the control screen are among them. Without a webhook, poll this every 30 to 60 seconds."),
			endpoint.Handle("GET", "/sessions/{id}", 200, "One active session", readID, h.get,
				"starting", "not_owner", "session_not_found", "session_ended", "store_unavailable"),
			endpoint.Command("POST", "/sessions", 201, "Sell time on a free lane", ReadSale("customer_name"), h.Create,
				sold, Selling()...).
				Describe("With `auto_start` the time runs at once, otherwise from when the customer enters the lane."),
			endpoint.Command("POST", "/sessions/{id}/modify", 204, "Add minutes to a session, or take minutes away", readModify, h.modify,
				endpoint.NoBody, OnSession("duration_out_of_range", "no_time_left")...).
				Describe("The new total must be within 1 to 480 minutes and must leave the session some time: to end it, stop it."),
			endpoint.Command("POST", "/sessions/{id}/stop", 204, "End a session", readID, h.stop,
				endpoint.NoBody, OnSession("not_saved")...),
			endpoint.Command("POST", "/sessions/{id}/pause", 204, "Stop a session's clock until it is resumed", readID, h.pause,
				endpoint.NoBody, OnSession("not_running", "not_saved")...),
			endpoint.Command("POST", "/sessions/{id}/resume", 204, "Start a paused session's clock again", readID, h.resume,
				endpoint.NoBody, OnSession("not_paused", "ceasefire")...),
			endpoint.Command("POST", "/sessions/{id}/move", 204, "Let a session go on in another lane, with its time left",
				readMove, h.move, endpoint.NoBody,
				OnSession("lane_not_found", "lane_occupied", "lane_not_accessible", "lane_not_usable")...),
		),
		endpoint.Group("Records", "What has happened, page by page: read behind the cursor `next` of the page before.",
			endpoint.Handle("GET", "/events", 200, "The event log behind a cursor, oldest first",
				readPage, h.events, "starting", "not_owner", "store_unavailable").
				Describe("What a webhook receiver missed can be read again here."),
			endpoint.Handle("GET", "/history", 200, "The ended sessions behind a cursor, in the order in which they ended",
				readPage, h.history, "starting", "not_owner", "store_unavailable"),
		),
	)
}

// Commands is the codes of every command, and those of this one.
func Commands(own ...string) []string {
	return append(own, "idempotency_key_reused", "store_unavailable", "starting", "overloaded", "not_owner")
}

// OnSession is the codes of a command to a session, and those of this one.
func OnSession(own ...string) []string {
	return Commands(append(own, "session_not_found", "session_ended")...)
}

// Selling is the codes of selling time on a lane.
func Selling() []string {
	return Commands("lane_not_found", "group_not_found", "lane_occupied", "lane_not_accessible", "lane_not_usable")
}
