package redis

import "rangegate/lanes"

// What a flush adds to the logs, as flush.lua takes it: of each kind all in a row, for commands that take many.

// events adds the cursor and the record of each, the place of each, and what that makes of those that are pending. An
// event that is there twice is attempted with the second: hence those that are attempted come last.
func (a *arguments) events(all []lanes.Logged) {
	places := make([]string, len(all))
	for i, event := range all {
		a.add(decimal(event.Cursor))
		a.record(event)
		places[i] = place(event.Cursor, event.Event.At, "")
	}
	for _, place := range places {
		a.add(place)
	}
	for i, event := range all {
		if pending(event) {
			a.add("0") // the score
			a.add(places[i][:rankSize])
		}
	}
	for i, event := range all {
		if !pending(event) {
			a.add(places[i][:rankSize])
		}
	}
}

func pending(event lanes.Logged) bool { return event.Attempt == nil }

// ended adds the cursor and the record of each, without the customer's name, the place of each, the cursors by session,
// and the names by cursor.
func (a *arguments) ended(all []lanes.Ended) {
	for _, ended := range all {
		ended.Session.Customer = ""
		a.add(decimal(ended.Cursor))
		a.record(ended)
	}
	for _, ended := range all {
		a.add(place(ended.Cursor, ended.At, ended.Session.ID.String()))
	}
	for _, ended := range all {
		a.add(ended.Session.ID.String())
		a.add(decimal(ended.Cursor))
	}
	for _, ended := range all {
		if named(ended) {
			a.add(decimal(ended.Cursor))
			a.add(ended.Session.Customer)
		}
	}
}

func named(ended lanes.Ended) bool { return ended.Session.Customer != "" }

// count is how many of them are so.
func count[T any](all []T, so func(T) bool) (n int) {
	for _, one := range all {
		if so(one) {
			n++
		}
	}
	return n
}
