package v2

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/lanes"
)

// ReservationView is a reservation as the wire shows it.
type ReservationView struct {
	ID    uuid.UUID   `json:"reservation_id"`
	Lanes []uuid.UUID `json:"lanes" doc:"That it keeps, in display order" example:"[\"44444444-4444-4444-8444-000000000001\"]"`
	Until string      `json:"until" format:"date-time" doc:"When it is over" example:"2026-05-01T10:03:00.000Z"`
}

// ReservedView is a reservation as whoever makes it sees it.
type ReservedView struct {
	ID    uuid.UUID   `json:"reservation_id"`
	Token string      `json:"token" doc:"Buys the lanes: reservation in the body of POST /sessions. It is shown here alone" example:"nH0u2V4mWm0k3D8i1e6sPq9tYb5cLx7zRj2fGa4hKoE"`
	Lanes []uuid.UUID `json:"lanes" doc:"In display order" example:"[\"44444444-4444-4444-8444-000000000001\"]"`
	Until string      `json:"until" format:"date-time" doc:"When it is over" example:"2026-05-01T10:03:00.000Z"`
}

func viewOfReservation(r lanes.Reserved) ReservationView {
	return ReservationView{r.ID, r.Lanes, endpoint.Stamp(r.Until)}
}

func viewOfReserved(_ reservationOrder, r lanes.Reserved) ReservedView {
	return ReservedView{r.ID, r.Token, r.Lanes, endpoint.Stamp(r.Until)}
}

// maxReservedLanes is how many lanes one reservation has at most.
const maxReservedLanes = 100

// maxReservationToken is how many characters the token of a reservation has at most.
const maxReservationToken = 100

// reservationOrder is a request that lanes are reserved.
type reservationOrder struct {
	wanted  lanes.Wanted
	term    time.Duration
	minutes int
	group   uuid.UUID // uuid.Nil: not given
}

func readReservation(in *endpoint.Input) reservationOrder {
	order := reservationOrder{term: lanes.DefaultReserved, wanted: lanes.Wanted{
		Lanes: in.OptionalIDs("lane_ids", maxReservedLanes, "The lanes, all or none; one of this and `lanes` is given"),
	}}
	order.wanted.Count, _ = in.OptionalInteger("lanes", 1, maxReservedLanes,
		"How many lanes: the first ones that can be sold, in display order", 2)
	order.wanted.Adjacent = in.Flag("adjacent", false, "With `lanes`: side by side in one bay")
	order.wanted.Bay = in.OptionalID("bay_id", "With `lanes`: in that bay")
	shortest, longest := int(lanes.MinReserved/time.Second), int(lanes.MaxReserved/time.Second)
	if seconds, given := in.OptionalInteger("seconds", shortest, longest,
		"For how long; 180 if it is not given", 180); given {
		order.term = time.Duration(seconds) * time.Second
	}
	if minutes, given := in.OptionalInteger("duration", lanes.MinMinutes, lanes.MaxMinutes, "The minutes that are "+
		"to be sold on each lane: then the range's opening hours are checked now, and not when that many, or fewer, "+
		"are sold with the token", 60); given {
		order.minutes = minutes
	}
	order.group = in.OptionalID("group_id",
		"With `duration`: the access group that they are to be sold to, where groups have hours of their own")
	order.wanted.Minutes, order.wanted.Group = order.minutes, order.group
	return order
}

// check returns what is wrong with the order, nil if nothing is.
func (o *reservationOrder) check() error {
	named := len(o.wanted.Lanes) > 0
	o.wanted.Count = max(0, o.wanted.Count)
	switch {
	case named == (o.wanted.Count > 0):
		return endpoint.Faults{"lane_ids": "must be given, or lanes, and not both"}
	case named && o.wanted.Adjacent:
		return endpoint.Faults{"adjacent": "goes with lanes, not with lane_ids"}
	case named && o.wanted.Bay != uuid.Nil:
		return endpoint.Faults{"bay_id": "goes with lanes, not with lane_ids"}
	}
	return nil
}

// reserve reserves lanes. The token follows from the reservation's id and the token for the API that it was asked with,
// which is not kept either: a repeat with the key is answered with the same one, and nobody else can find it.
func (h Handlers) reserve(ctx context.Context, order reservationOrder,
	key *lanes.KeyOf[lanes.Reserved],
) (lanes.Reserved, error) {
	if err := order.check(); err != nil {
		return lanes.Reserved{}, err
	}
	r, err := h.RangeOf(ctx)
	if err != nil {
		return lanes.Reserved{}, err
	}
	if order.wanted.Bay != uuid.Nil && !slices.ContainsFunc(r.Layout().Bays,
		func(b lanes.Bay) bool { return b.ID == order.wanted.Bay }) {
		return lanes.Reserved{}, endpoint.Faults{"bay_id": "must be a bay of this range"}
	}
	if order.group != uuid.Nil && !r.Layout().HasGroup(order.group) {
		return lanes.Reserved{}, lanes.ErrGroupNotFound
	}
	credential := request.Credential(ctx)
	tokenOf := func(id uuid.UUID) string { return derived(credential, id[:]) }
	reservation := lanes.Reservation{
		ID: uuid.New(), Holder: derived(credential, []byte("holder")), Term: order.term,
		Minutes: order.minutes, Group: order.group,
	}
	reservation.Token = lanes.TokenDigest(tokenOf(reservation.ID))
	if key != nil {
		own := *key
		own.Fingerprint += " " + reservation.Holder
		key = &own
	}
	reserved, err := r.Reserve(ctx, order.wanted, reservation, key)
	var repeat *lanes.Repeat
	if errors.As(err, &repeat) {
		return reserved, withToken(repeat.Kept, tokenOf)
	}
	reserved.Token = tokenOf(reserved.ID)
	return reserved, err
}

// derived returns a text that only somebody with the secret can find.
func derived(secret [sha256.Size]byte, of []byte) string {
	mac := hmac.New(sha256.New, secret[:])
	mac.Write(of)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// withToken returns the repeat of an answer whose token was not kept.
func withToken(kept lanes.KeptAnswer, tokenOf func(uuid.UUID) string) error {
	var view ReservedView
	if err := json.Unmarshal([]byte(kept.Body), &view); err != nil {
		return fmt.Errorf("reading the answer that was kept: %w", err)
	}
	view.Token = tokenOf(view.ID)
	body, err := json.Marshal(view)
	if err != nil {
		return fmt.Errorf("answering a repeat: %w", err)
	}
	kept.Body = string(body) + "\n"
	return &lanes.Repeat{Kept: kept}
}

func readReservationID(in *endpoint.Input) uuid.UUID { return in.PathID("id", "The reservation") }

func reservation(_ context.Context, r Range, id uuid.UUID) (ReservationView, error) {
	reserved, err := r.Reservation(id)
	if err != nil {
		return ReservationView{}, err
	}
	return viewOfReservation(reserved), nil
}

func (h Handlers) endReservation(ctx context.Context, id uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, r.EndReservation(ctx, id, key)
}

func (h Handlers) reservationEndpoints() []endpoint.Endpoint {
	return endpoint.Group("Reservations", "Keep lanes while the customer pays.",
		endpoint.Command("POST", "/reservations", 201, "Keep lanes from everybody else for a while", readReservation,
			h.reserve, viewOfReserved,
			commandCodes("lane_not_found", "group_not_found", "lane_occupied", "lane_reserved", "lane_not_accessible",
				"lane_not_usable", "lane_not_clear",
				"no_lanes_fit", "reservation_limit", afterClosing)...).
			Describe("Reserve, take the money, and sell with the `token`: meanwhile nobody else gets the lanes, "+
				"and the sale is not refused for the lane's hardware or a ceasefire, nor, where `duration` was "+
				"given, for the range's closing. It is refused where staff have closed the lane for sale or ended "+
				"the reservation. All of the lanes are reserved or, after an error, none; of named ones the error "+
				"has the `lane_id`. One token for the API has at most half of the range's lanes reserved at a time."),
		endpoint.Handle("GET", "/reservations/{id}", 200, "A reservation and the lanes that it still keeps",
			readReservationID, endpoint.WithTarget(h.RangeOf, reservation),
			"starting", "not_owner", "reservation_not_found").
			Describe("A lane that was sold is not among them. Without any, the reservation is not found."),
		endpoint.Command("DELETE", "/reservations/{id}", 204, "Give the lanes of a reservation free", readReservationID,
			h.endReservation, endpoint.NoBody,
			commandCodes("lane_not_found", "lane_not_usable")...).
			Describe("Also where it is over, was used or never was: then there is nothing to do. Sessions that "+
				"were sold with it stay."),
	)
}
