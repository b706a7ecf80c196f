package v2

import (
	"rangegate/api/endpoint"
)

// Endpoints is every path of version 2 below its prefix.
func (h Handlers) Endpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/bays", 200, "The range's bays, in display order", endpoint.NoInput, h.bays, "starting"),
		endpoint.Handle("GET", "/groups", 200, "The range's access groups", endpoint.NoInput, h.groups, "starting"),
		endpoint.Handle("GET", "/lanes", 200, "The range's lanes, in display order, not grouped by bay",
			endpoint.NoInput, h.lanes, "starting"),
		endpoint.Handle("GET", "/lanes/status", 200, "How every lane stands, in display order",
			endpoint.NoInput, h.laneStatus, "starting"),

		endpoint.Handle("GET", "/sessions", 200, "The active sessions, in the display order of their lanes",
			endpoint.NoInput, h.list, "starting"),
		endpoint.Handle("GET", "/sessions/{id}", 200, "One active session", readID, h.get,
			"starting", "session_not_found", "session_ended", "store_unavailable"),
		endpoint.Command("POST", "/sessions", 201, "Sell time on a free lane", readCreate, h.create, viewOf,
			commands("lane_not_found", "group_not_found", "lane_occupied", "lane_not_accessible", "lane_not_usable")...),
		endpoint.Command("POST", "/sessions/{id}/modify", 204, "Add minutes to a session, or take minutes away",
			readModify, h.modify, endpoint.NoBody, onSession("duration_out_of_range", "no_time_left")...),
		endpoint.Command("POST", "/sessions/{id}/stop", 204, "End a session", readID, h.stop, endpoint.NoBody, onSession("not_saved")...),
		endpoint.Command("POST", "/sessions/{id}/pause", 204, "Stop a session's clock until it is resumed", readID, h.pause,
			endpoint.NoBody, onSession("not_running", "not_saved")...),
		endpoint.Command("POST", "/sessions/{id}/resume", 204, "Start a paused session's clock again", readID, h.resume,
			endpoint.NoBody, onSession("not_paused", "ceasefire")...),
		endpoint.Command("POST", "/sessions/{id}/move", 204, "Let a session go on in another lane, with its time left",
			readMove, h.move, endpoint.NoBody,
			onSession("lane_not_found", "lane_occupied", "lane_not_accessible", "lane_not_usable")...),

		endpoint.Handle("GET", "/events", 200, "The event log behind a cursor, oldest first: what a receiver missed can be read again",
			readPage, h.events, "starting", "store_unavailable"),
		endpoint.Handle("GET", "/history", 200, "The ended sessions behind a cursor, in the order in which they ended",
			readPage, h.history, "starting", "store_unavailable"),
	}
}

// commands is the codes of every command, and those of this one.
func commands(own ...string) []string {
	return append(own, "idempotency_key_reused", "store_unavailable", "starting", "overloaded", "not_owner")
}

func onSession(own ...string) []string {
	return commands(append(own, "session_not_found", "session_ended")...)
}
