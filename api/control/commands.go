package control

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/staffops"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// order is a command to a session or to a lane.
type order struct {
	id      uuid.UUID
	command lanes.Command
}

func (c *screen) sessionEndpoints() []endpoint.Endpoint {
	command := func(name, summary string, read func(in *endpoint.Input, id uuid.UUID) lanes.Command) endpoint.Endpoint {
		readOrder := func(in *endpoint.Input) order {
			id := readSession(in)
			return order{id, read(in, id)}
		}
		return endpoint.Handle("POST", "/sessions/{id}/"+name, 204, summary, readOrder,
			endpoint.WithTarget(c.rangeOf, commandSession))
	}
	return []endpoint.Endpoint{
		endpoint.Handle("POST", "/sessions", 201, "Sell time on a lane", readSale,
			endpoint.WithTarget(c.rangeOf, sell)),
		command("start", "Start now", func(_ *endpoint.Input,
			id uuid.UUID,
		) lanes.Command {
			return lanes.Enter{Session: id}
		}),
		command("pause", "Pause", func(_ *endpoint.Input,
			id uuid.UUID,
		) lanes.Command {
			return lanes.Pause{Session: id}
		}),
		command("resume", "Resume", func(_ *endpoint.Input,
			id uuid.UUID,
		) lanes.Command {
			return lanes.Resume{Session: id}
		}),
		command("stop", "Stop", func(_ *endpoint.Input, id uuid.UUID) lanes.Command {
			return lanes.Stop{
				Session: id,
				By:      lanes.ByStaff,
			}
		}),
		command("modify", "Add minutes or take them away", readModify),
		command("make-up", "Settle the time that ran while the gateway was down",
			func(in *endpoint.Input, id uuid.UUID) lanes.Command {
				return lanes.MakeUp{Session: id, Give: in.YesOrNo("give", "Whether the time is given back")}
			}),
		endpoint.Handle("POST", "/sessions/{id}/move", 204, "Move to another lane", readMove,
			endpoint.WithTarget(c.rangeOf, moveSession)),
		endpoint.Handle("POST", "/sessions/{id}/reopen", 201, "Go on with a session that has ended, on a free lane",
			readReopening, endpoint.WithTarget(c.rangeOf, reopenSession)),
	}
}

func (c *screen) startEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("POST", "/starts", 201, "Let sessions begin together", v2.ReadStartOrder,
			endpoint.WithTarget(c.rangeOf, scheduleStart)),
		endpoint.Handle("DELETE", "/starts/{id}", 204, "Let them not begin together after all",
			func(in *endpoint.Input) uuid.UUID { return in.PathID("id", "The start") },
			endpoint.WithTarget(c.rangeOf, deleteStart)),
	}
}

func scheduleStart(ctx context.Context, r staffRange, order v2.StartOrder) (v2.StartView, error) {
	at, err := order.Instant(r.Now())
	if err != nil {
		return v2.StartView{}, err
	}
	start, err := r.StaffScheduleStart(ctx, r.staff, order.Sessions, at)
	if err != nil {
		return v2.StartView{}, err
	}
	return v2.ViewOfStart(start), nil
}

func deleteStart(ctx context.Context, r staffRange, start uuid.UUID) (endpoint.Empty, error) {
	return endpoint.Empty{}, r.StaffDeleteStart(ctx, r.staff, start)
}

func readSession(in *endpoint.Input) uuid.UUID { return in.PathID("id", "The session") }

func commandSession(ctx context.Context, r staffRange, o order) (endpoint.Empty, error) {
	if m, ok := o.command.(lanes.Modify); ok && m.Minutes == 0 {
		return endpoint.Empty{}, endpoint.Faults{"minutes": "must not be 0"}
	}
	_, err := r.StaffOn(ctx, r.staff, o.id, o.command)
	return endpoint.Empty{}, err
}

func readModify(in *endpoint.Input, id uuid.UUID) lanes.Command {
	return lanes.Modify{
		Session: id,
		Minutes: in.Integer("minutes", -lanes.MaxMinutes, lanes.MaxMinutes,
			"Minutes to add, or with a minus to take away; not 0", 15),
		AfterClosing: readAfterClosing(in),
	}
}

// staffSale is a sale to a customer with a name, or to one who gives none.
type staffSale struct {
	v2.Sale
	walkIn string // what such a customer is called, before the number
}

func readSale(in *endpoint.Input) staffSale {
	read := v2.ReadSaleTo(func(in *endpoint.Input) string {
		return in.OptionalText("customer_name", 1, v2.MaxCustomer,
			"Name of the customer; without one walk_in is needed", "Jo Smith")
	})
	sale := read(in)
	sale.Command.AfterClosing, sale.Command.Grace, sale.Command.OpenEnd = readAfterClosing(in), v2.ReadGrace(in),
		v2.ReadOpenEnd(in)
	return staffSale{sale, in.OptionalText("walk_in", 1, v2.MaxCustomer-10,
		"What a customer without a name is called; the gateway adds the lowest number that is free", "Walk-in")}
}

func readAfterClosing(in *endpoint.Input) bool {
	return in.Flag("after_closing", false, "Whether the minutes are sold although the range closes before they "+
		"would be used; the record says so")
}

// soldView is a session that was sold, with the name that its customer has.
type soldView struct {
	v2.SessionView
	Customer string `json:"customer_name"`
}

func sell(ctx context.Context, r staffRange, s staffSale) (soldView, error) {
	if faults := v2.CheckSale(r.Layout(), s.Command); faults != nil {
		return soldView{}, faults
	}
	if s.Command.Customer == "" {
		if s.walkIn == "" {
			return soldView{}, endpoint.Faults{"customer_name": "must be given, or walk_in"}
		}
		name, done := r.walkIns.give(r, s.walkIn)
		defer done()
		s.Command.Customer = name
	}
	s.Command.Session, s.Command.ByStaff = uuid.New(), true
	created, err := r.StaffCreate(ctx, r.staff, s.Lane, s.Command)
	if err != nil {
		return soldView{}, err
	}
	return soldView{v2.ViewOf(created), s.Command.Customer}, nil
}

type move struct {
	session, lane uuid.UUID
	afterClosing  bool // of one to a lane that closes earlier
}

func readReopening(in *endpoint.Input) move {
	return move{session: readSession(in), lane: in.ID("lane_id", "The lane to go on in", v2.ExampleLane)}
}

func readMove(in *endpoint.Input) move {
	m := readReopening(in)
	m.afterClosing = in.Flag("after_closing", false,
		"Whether it moves although that lane closes before its end; the record says so")
	return m
}

func moveSession(ctx context.Context, r staffRange, m move) (endpoint.Empty, error) {
	_, err := r.StaffMove(ctx, r.staff, m.session, m.lane, m.afterClosing)
	return endpoint.Empty{}, err
}

func reopenSession(ctx context.Context, r staffRange, m move) (v2.SessionView, error) {
	reopened, err := r.StaffReopen(ctx, r.staff, m.session, m.lane)
	if err != nil {
		return v2.SessionView{}, err
	}
	return v2.ViewOf(reopened), nil
}

func (c *screen) laneEndpoints() []endpoint.Endpoint {
	command := func(name, summary string, read func(*endpoint.Input) lanes.Command) endpoint.Endpoint {
		readOrder := func(in *endpoint.Input) order { return order{in.PathID("id", "The lane"), read(in)} }
		return endpoint.Handle("POST", "/lanes/{id}/"+name, 204, summary, readOrder,
			endpoint.WithTarget(c.rangeOf, commandLane))
	}
	return []endpoint.Endpoint{
		endpoint.Handle("PUT", "/holds", 200, "Set a hold, or lift it", staffops.ReadHoldChange,
			endpoint.WithTarget(c.rangeOf, changeHold)),
		command("sale", "Offer the lane, or not", readOffer),
		command("help", "Help is coming, or was given", readHelp),
		command("cleared", "The lane is clear", readCleared),
		command("end-reservation", "The lane is not kept for a POS any more", func(in *endpoint.Input) lanes.Command {
			return lanes.EndReservation{Reservation: in.ID("reservation_id", "The reservation", endpoint.ExampleID)}
		}),
		command("stray-hit", "The hit without a session is known", readHitNoted),
		endpoint.Handle("GET", "/purchases", 200, "The purchases that wait for staff", endpoint.NoInput,
			endpoint.WithTarget(c.rangeOf, purchases)),
		endpoint.Handle("POST", "/purchases/{id}/settle", 204, "Settle one by hand", readClear,
			endpoint.WithTarget(c.rangeOf, settle)),
	}
}

func commandLane(ctx context.Context, r staffRange, o order) (endpoint.Empty, error) {
	return endpoint.Empty{}, r.StaffLane(ctx, r.staff, o.id, o.command)
}

func readOffer(in *endpoint.Input) lanes.Command {
	sales := map[string]lanes.Sale{
		lanes.AsConfigured.String(): lanes.AsConfigured, lanes.OnSale.String(): lanes.OnSale,
		lanes.OffSale.String(): lanes.OffSale,
	}
	word := in.OneOf("sale", "What staff decide", lanes.AsConfigured.String(), lanes.OnSale.String(),
		lanes.OffSale.String())
	return lanes.Offer{Sale: sales[word]}
}

func readHelp(in *endpoint.Input) lanes.Command {
	called := in.OptionalTime("called_at", "When the call was made, as `help.at` of the lane: nothing changes about "+
		"another one. "+ofAnEarlierRelease)
	if in.YesOrNo("done", "Whether the call is over; otherwise somebody is on their way") {
		return lanes.HelpDone{Called: called}
	}
	return lanes.HelpComing{Called: called}
}

func readCleared(in *endpoint.Input) lanes.Command {
	return lanes.Cleared{Session: in.OptionalID("session_id", "The session whose customers have left, as "+
		"`uncleared.session_id` of the lane: nothing changes about another one. "+ofAnEarlierRelease)}
}

func readHitNoted(in *endpoint.Input) lanes.Command {
	return lanes.HitNoted{Hit: in.OptionalTime("hit_at", "When the carrier was hit, as `stray_hit` of the lane: "+
		"nothing changes about another hit. "+ofAnEarlierRelease)}
}

// ofAnEarlierRelease describes a field that says what a press was about.
const ofAnEarlierRelease = "A page of an earlier release does not say it: then it is whichever there is"

func changeHold(ctx context.Context, r staffRange, h staffops.HoldChange) (staffops.HoldResult, error) {
	if !h.On && h.Scope.Kind == lanes.OverRange && !r.releases {
		return staffops.HoldResult{}, endpoint.Refusal("officer_required")
	}
	return h.Apply(ctx, r, r.staff)
}

func purchases(_ context.Context, r staffRange, _ endpoint.Empty) ([]staffops.PurchaseView, error) {
	return staffops.PurchaseViews(r), nil
}

func readClear(in *endpoint.Input) lanes.Clear {
	return lanes.Clear{
		Purchase: in.PathID("id", "The purchase"),
		Session: in.OptionalID("session_id", "The session that it belongs to. A page of an earlier release does "+
			"not say it: a purchase whose id another session has too is refused then"),
		Credit: in.YesOrNo("credit", "Whether the minutes that were bought are added"),
	}
}

func settle(ctx context.Context, r staffRange, command lanes.Clear) (endpoint.Empty, error) {
	return endpoint.Empty{}, r.Clear(ctx, r.staff, command)
}
