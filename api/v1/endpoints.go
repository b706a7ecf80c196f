// Package v1 is version 1 of the range POS API (SPEC.md 4.3, WIRE.md): the rules of version 2 in older shapes.
package v1

import (
	"context"
	"slices"

	"rangegate/api/endpoint"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// Endpoints is every path of version 1 below its prefix. What they do is what version 2 does.
func Endpoints(current v2.Handlers) []endpoint.Endpoint {
	change := func(ctx context.Context, p patch, key *lanes.Key) (*lanes.SessionView, error) {
		return current.On(ctx, p.session, p.command(), key)
	}
	return slices.Concat(
		endpoint.Group("Range information", "What the range is made of.",
			endpoint.Handle("GET", "/bays", 200, "The range's bays, in display order",
				endpoint.NoInput, each(current.Bays, bay), "starting", "not_owner"),
			endpoint.Handle("GET", "/lanes", 200, "The range's lanes, in display order, not grouped by bay",
				endpoint.NoInput, each(current.Lanes, lane), "starting", "not_owner"),
			endpoint.Handle("GET", "/groups", 200, "The range's access groups", endpoint.NoInput, current.Groups, "starting", "not_owner"),
		),
		endpoint.Group("Sessions", "Sell lane time, change it, end it.",
			endpoint.Handle("GET", "/sessions", 200, "The active sessions, in the display order of their lanes",
				endpoint.NoInput, v2.Sessions(current, writtenAll), "starting", "not_owner").
				Describe("Sessions made at the control screen are among them."),
			endpoint.Command("POST", "/sessions", 201, "Sell time on a free lane", v2.ReadSale("name"), current.Create,
				sold, v2.Selling()...),
			endpoint.Command("PATCH", "/sessions", 200, "Set a session's duration, or end it", readPatch, change, patch.done,
				v2.OnSession("duration_out_of_range", "no_time_left", "not_saved")...).
				Describe("A `duration` above 0 is the session's new total, which must leave it some time; 0 ends the session."),
		),
	)
}

// each is version 2's list in the shapes of version 1.
func each[Current, View any](
	list func(context.Context, endpoint.Empty) ([]Current, error), show func(Current) View,
) func(context.Context, endpoint.Empty) ([]View, error) {
	return func(ctx context.Context, none endpoint.Empty) ([]View, error) {
		current, err := list(ctx, none)
		if err != nil {
			return nil, err
		}
		views := make([]View, len(current))
		for i, one := range current {
			views[i] = show(one)
		}
		return views, nil
	}
}
