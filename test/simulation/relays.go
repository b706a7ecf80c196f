package simulation

import (
	"context"
	"slices"
	"time"

	"rangegate/test/linear"
	"rangegate/test/support"
)

// relays sells a relay of short sessions on the last lanes of a range, one after the other, until ctx ends. They begin
// together, their time is used up, and in their graces some play on, some go, and one moves; so do those that have an
// open end.
func (w *world) relays(ctx context.Context, r *rangeOf) {
	c := &client{world: w, number: 400 + r.number}
	for sleep(ctx, w.upTo(3*time.Second)) == nil {
		var sold []string
		for lane := relayFrom; lane < laneCount; lane++ {
			sale := linear.Call{Kind: "create", Lane: lane, Minutes: 1, Waiting: true, Grace: c.draw(3) > 0}
			if r.number != forAll && c.draw(2) == 0 {
				sale.Grace, sale.OpenEnd = false, 2+c.draw(2)
			}
			got := c.command(ctx, r, alone, sale)
			if got.Outcome == linear.Done {
				sold = append(sold, got.State.Session)
			}
		}
		if len(sold) > 0 {
			c.beginTogether(ctx, r, sold)
			c.playOn(ctx, r, sold)
		}
	}
}

// onLane is a session that is on a lane, as the POS sees it.
type onLane struct {
	ID   string          `json:"session_id"`
	Lane string          `json:"lane_id"`
	Left support.Minutes `json:"minutes_remaining"`
	// Grace is until when it stays, nil outside a grace.
	Grace *time.Time `json:"grace_ends_at"`
	// Beyond is nil without an open end.
	Beyond *support.Minutes `json:"minutes_beyond"`
}

// isUsedUp reports whether what was sold is: it is in its grace, or goes on.
func (s onLane) isUsedUp() bool {
	return s.Grace != nil || s.Beyond != nil && s.Beyond.Duration > 0 && s.Left.Duration == 0
}

// playOn waits until the sessions have ended. In its grace, or beyond what was sold, each one is asked for one thing at
// most.
func (c *client) playOn(ctx context.Context, r *rangeOf, sold []string) {
	asked := map[string]bool{}
	for sleep(ctx, 500*time.Millisecond+c.upTo(time.Second)) == nil {
		var shown []onLane
		if c.tryGet(r, "/sessions", &shown) != nil {
			continue
		}
		shown = slices.DeleteFunc(shown, func(s onLane) bool { return !slices.Contains(sold, s.ID) })
		if len(shown) == 0 {
			return
		}
		for _, s := range shown {
			if !s.isUsedUp() || asked[s.ID] {
				continue
			}
			if asked[s.ID] = true; s.Left.Duration != 0 {
				c.fail("range %d: session %s has %v left in its grace", r.number, s.ID, s.Left)
			}
			switch c.draw(5) {
			case 0, 1:
				c.command(ctx, r, alone, linear.Call{Kind: "modify", Session: s.ID, Minutes: 1})
			case 2:
				c.command(ctx, r, alone, linear.Call{Kind: "stop", Session: s.ID})
			case 3:
				other := relayFrom
				if s.Lane == r.lanes[relayFrom].String() {
					other++
				}
				c.command(ctx, r, alone, linear.Call{Kind: "move", Session: s.ID, Lane: other})
			}
		}
	}
}
