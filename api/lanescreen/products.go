package lanescreen

import (
	"context"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/catalog"
	"rangegate/lanes"
)

// product is one that can be bought. The price is text: a browser would make a binary fraction of a number.
type product struct {
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	Price       string `json:"price"`
	MaxQty      int    `json:"max_qty"`
	MinQty      int    `json:"min_qty"`
	IncrementBy int    `json:"increment_by"`
	Picture     string `json:"picture"` // a path of ours; empty when there is none
}

// products is everything that is for sale, by type.
type products struct {
	Time    []product `json:"time"`
	Targets []product `json:"targets"`
	Ammo    []product `json:"ammo"`
	Rentals []product `json:"rentals"`
}

func (l *screen) products(ctx context.Context, _ endpoint.Empty) (products, error) {
	at := laneIn(ctx)
	r, err := l.Range(at.Range)
	if err != nil {
		return products{}, err
	}
	buyer, err := buyerOn(r, at.id)
	if err != nil {
		return products{}, err
	}
	shop, err := l.Shop(at.Range)
	if err != nil {
		return products{}, err
	}
	all, err := shop.All(ctx, buyer.String())
	if err != nil {
		return products{}, err
	}
	return products{at.list(all.Time), at.list(all.Targets), at.list(all.Ammo), at.list(all.Rentals)}, nil
}

// buyerOn is the session on the lane, if it may buy.
func buyerOn(r Range, lane uuid.UUID) (uuid.UUID, error) {
	all, _, _ := r.Changes(0)
	i := slices.IndexFunc(all, func(s lanes.LaneStatus) bool { return s.ID == lane })
	if i < 0 || all[i].Lane.Session == nil {
		return uuid.Nil, lanes.ErrSessionNotFound
	}
	view := all[i].Lane.View(r.Now())
	if !view.Purchasing {
		return uuid.Nil, lanes.ErrNoPurchasing
	}
	return view.ID, nil
}

func (at theLane) list(all []catalog.Product) []product {
	list := make([]product, len(all))
	for i, p := range all {
		list[i] = product{
			ID: p.ID, DisplayName: p.DisplayName, Price: p.Amount().String(),
			MaxQty: p.MaxQty, MinQty: p.MinQty, IncrementBy: p.IncrementBy, Picture: at.picturePath(p.PictureURL),
		}
		if written := p.Amount(); written.Exponent() < 0 {
			list[i].Price = written.StringFixed(-written.Exponent()) // with the digits that the integrator gave it
		}
	}
	return list
}

// picturePath is where the screen gets the picture: from the gateway, which fetches what it has signed and nothing else.
func (at theLane) picturePath(address string) string {
	if address == "" {
		return ""
	}
	query := url.Values{"url": {address}, "signed": {at.signed("picture", address)}}
	return "/lane/" + at.id.String() + "/picture?" + query.Encode()
}
