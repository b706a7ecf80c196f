package lanescreen

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// readStart names the session that the shooter sees, so that a screen that is behind does not start the next one.
func readStart(in *endpoint.Input) lanes.Enter {
	return lanes.Enter{Session: in.ID("session_id", "The session on the lane", exampleID)}
}

const exampleID = "7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"

func (l *screen) start(ctx context.Context, enter lanes.Enter) (endpoint.Empty, error) {
	return l.give(ctx, enter)
}

func (l *screen) help(ctx context.Context, _ endpoint.Empty) (endpoint.Empty, error) {
	return l.give(ctx, lanes.CallHelp{})
}

// give gives a command to the lane that the request is about.
func (l *screen) give(ctx context.Context, c lanes.Command) (endpoint.Empty, error) {
	at := laneIn(ctx)
	r, err := l.Range(at.Range)
	if err != nil {
		return endpoint.Empty{}, err
	}
	_, err = r.LaneOn(ctx, at.id, c)
	return endpoint.Empty{}, err
}

// cart is what is to be bought.
type cart struct {
	purchase, session uuid.UUID
	items             json.RawMessage
}

func readPurchase(in *endpoint.Input) cart {
	return cart{
		purchase: in.ID("purchase_id", "Chosen by the screen; the same one again is the same purchase", exampleID),
		session:  in.ID("session_id", "The session on the lane", exampleID),
		items:    in.JSON("items", "Products and how many of each", []lanes.Item{{ID: lanes.TimeItem, Qty: 30}}),
	}
}

// buy begins the purchase. What it comes to is told by the stream.
func (l *screen) buy(ctx context.Context, c cart) (endpoint.Empty, error) {
	at := laneIn(ctx)
	items, err := itemsOf(c.items)
	if err != nil {
		return endpoint.Empty{}, err
	}
	r, err := l.Range(at.Range)
	if err != nil {
		return endpoint.Empty{}, err
	}
	return endpoint.Empty{}, r.LaneBuy(ctx, at.id, c.session, c.purchase, items)
}

func itemsOf(text json.RawMessage) ([]lanes.Item, error) {
	var items []lanes.Item
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&items); err != nil {
		return nil, endpoint.Faults{"items": `must be a list of items like {"id":"time","qty":30}`}
	}
	return items, nil
}
