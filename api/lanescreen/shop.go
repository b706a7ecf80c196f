package lanescreen

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/catalog"
	"rangegate/lanes"
)

// product is a product that can be bought. The price is text: a browser would convert a number to a binary fraction.
type product struct {
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	Price       string `json:"price"`
	MaxQty      int    `json:"max_qty"`
	MinQty      int    `json:"min_qty"`
	IncrementBy int    `json:"increment_by"`
	Picture     string `json:"picture"` // a path of the gateway; empty if there is none
}

// products is everything that is for sale, by type.
type products struct {
	Time    []product `json:"time"`
	Targets []product `json:"targets"`
	Ammo    []product `json:"ammo"`
	Rentals []product `json:"rentals"`
}

func (l *screen) products(ctx context.Context, t target, _ endpoint.Empty) (products, error) {
	session, shop, err := l.shopOf(t)
	if err != nil {
		return products{}, err
	}
	all, err := shop.All(ctx, session.String())
	if err != nil {
		return products{}, err
	}
	return products{
		endpoint.Views(t.fitting(all.Time), t.product), endpoint.Views(all.Targets, t.product),
		endpoint.Views(all.Ammo, t.product), endpoint.Views(all.Rentals, t.product),
	}, nil
}

// time returns the product that is lane time, in a list that is empty if the session may buy none: the screen
// offers more at one touch, and asks the integrator for nothing else.
func (l *screen) time(ctx context.Context, t target, _ endpoint.Empty) ([]product, error) {
	session, shop, err := l.shopOf(t)
	if err != nil {
		return nil, err
	}
	found, err := shop.Fetch(ctx, catalog.Time, session.String())
	return endpoint.Views(t.fitting(found), t.product), err
}

// fitting returns what can be bought of lane time before the range closes: as much of each product as fits, and none of
// which too little does.
func (t target) fitting(offered []catalog.Product) (fitting []catalog.Product) {
	status, _ := t.LaneStatus(t.lane.ID)
	room := status.Lane.Room(t.Now())
	for _, p := range offered {
		if p.MaxQty = min(p.MaxQty, room); p.MaxQty >= p.MinQty {
			fitting = append(fitting, p)
		}
	}
	return fitting
}

// shopOf returns the session that buys, and the products API. Its errors are those of buyingSession and of
// Settings.Shop.
func (l *screen) shopOf(t target) (session uuid.UUID, shop Shop, err error) {
	if session, err = t.buyingSession(); err != nil {
		return uuid.Nil, nil, err
	}
	shop, err = l.Shop(t.lane.Range)
	return session, shop, err
}

// buyingSession returns the session on the lane, or lanes.ErrSessionNotFound, or lanes.ErrNoPurchasing if it
// may not buy.
func (t target) buyingSession() (uuid.UUID, error) {
	status, found := t.LaneStatus(t.lane.ID)
	if !found || status.Lane.Session == nil {
		return uuid.Nil, lanes.ErrSessionNotFound
	}
	view := status.Lane.View(t.Now())
	if !view.Purchasing {
		return uuid.Nil, lanes.ErrNoPurchasing
	}
	return view.ID, nil
}

func (t target) product(p catalog.Product) product {
	return product{
		ID: p.ID, DisplayName: p.DisplayName, Price: p.PriceText(),
		MaxQty: p.MaxQty, MinQty: p.MinQty, IncrementBy: p.IncrementBy, Picture: picturePath(t.lane, p.PictureURL),
	}
}

// picturePath returns the path of a picture at the gateway, which fetches only addresses that it has signed.
func picturePath(lane screens.Key, address string) string {
	if address == "" {
		return ""
	}
	query := url.Values{"url": {address}, "signed": {lane.Sign("picture", address)}}
	return "/lane/" + lane.ID.String() + "/picture?" + query.Encode()
}

// cart is what a shooter buys.
type cart struct {
	purchase, session uuid.UUID
	items             json.RawMessage
}

func readPurchase(in *endpoint.Input) cart {
	return cart{
		purchase: in.ID("purchase_id", "Chosen by the screen; the same one again is the same purchase",
			endpoint.ExampleID),
		session: in.ID("session_id", "The session on the lane", endpoint.ExampleID),
		items:   in.JSON("items", "Products and how many of each", []lanes.Item{{ID: lanes.TimeItem, Qty: 30}}),
	}
}

// buy begins the purchase. The stream reports its outcome.
func (l *screen) buy(ctx context.Context, c cart) (endpoint.Empty, error) {
	var items []lanes.Item
	decoder := json.NewDecoder(bytes.NewReader(c.items))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&items); err != nil {
		return endpoint.Empty{}, endpoint.Faults{"items": `must be a list of items like {"id":"time","qty":30}`}
	}
	t, err := l.target(ctx)
	if err != nil {
		return endpoint.Empty{}, err
	}
	return endpoint.Empty{}, t.LaneBuy(ctx, t.lane.ID, c.session, c.purchase, items)
}
