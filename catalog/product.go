// Package catalog is the client of the integrator's products API (SPEC.md parts 2, 4.4 and 8; WIRE.md, Products): it
// fetches the products, checks each of them, and checks the quantities of a cart.
package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"
)

// Type is a kind of product.
type Type string

// The types of products.
const (
	Time    Type = "time"
	Targets Type = "targets"
	Ammo    Type = "ammo"
	Rentals Type = "rentals"
)

// Types are all types in display order.
var Types = []Type{Time, Targets, Ammo, Rentals}

// timeID is the id of the product that is lane time.
const timeID = "time"

// limit returns the maximum number of products of the type (SPEC.md part 8).
func (t Type) limit() int {
	if t == Time {
		return 1
	}
	return 8
}

// Product is something that a customer can buy at the lane. A Client returns only products that keep every rule.
type Product struct {
	ID          string      `json:"id" doc:"The integrator's product identifier; lane time has time" example:"9mm-box-50"`
	DisplayName string      `json:"display_name" doc:"Name shown to the customer" example:"9 mm, box of 50"`
	Price       json.Number `json:"price" doc:"Unit price, with the digits that the integrator gave it, rounded to 6 behind the point" example:"24.50"`
	MaxQty      int         `json:"max_qty" doc:"Maximum quantity a customer can buy; of time, in minutes" example:"10"`
	MinQty      int         `json:"min_qty" doc:"Minimum quantity; 1 for all but time" example:"1"`
	IncrementBy int         `json:"increment_by" doc:"Quantity step, counted from min_qty; 1 for all but time" example:"1"`
	PictureURL  string      `json:"picture_url" doc:"Image URL; empty when there is no image" example:"https://pos.example.com/9mm.jpg"`
}

// Amount returns the price as a decimal. It is zero when Price is no number, which a Client never returns.
func (p Product) Amount() decimal.Decimal {
	amount, err := decimal.NewFromString(string(p.Price))
	if err != nil {
		return decimal.Zero
	}
	return amount
}

// PriceText returns the price with the integrator's own zeros: 24.50.
func (p Product) PriceText() string {
	amount := p.Amount()
	return amount.StringFixed(max(0, -amount.Exponent()))
}

// Catalogue holds all products for sale. A Client returns no nil lists, so that an empty one is [] in JSON.
type Catalogue struct {
	Time    []Product `json:"time" doc:"Lane time: one product at most"`
	Targets []Product `json:"targets" doc:"8 at most"`
	Ammo    []Product `json:"ammo" doc:"8 at most"`
	Rentals []Product `json:"rentals" doc:"8 at most"`
}

func (c *Catalogue) list(t Type) *[]Product {
	switch t {
	case Time:
		return &c.Time
	case Targets:
		return &c.Targets
	case Ammo:
		return &c.Ammo
	default:
		return &c.Rentals
	}
}

// Refusal returns why this quantity cannot be bought, in words for the customer, or "". The valid quantities
// are min_qty, min_qty + increment_by and so on, up to and with max_qty.
func (p Product) Refusal(qty int) string {
	switch {
	case qty < p.MinQty:
		return fmt.Sprintf("%s: the least that can be bought is %s.", p.DisplayName, p.measured(p.MinQty))
	case qty > p.MaxQty:
		return fmt.Sprintf("%s: the most that can be bought is %s.", p.DisplayName, p.measured(p.MaxQty))
	case p.IncrementBy > 1 && (qty-p.MinQty)%p.IncrementBy != 0:
		return fmt.Sprintf("%s: can be bought in steps of %s, from %s on.", p.DisplayName,
			p.measured(p.IncrementBy), p.measured(p.MinQty))
	}
	return ""
}

func (p Product) measured(qty int) string {
	switch {
	case p.ID != timeID:
		return fmt.Sprint(qty)
	case qty == 1:
		return "1 minute"
	}
	return fmt.Sprintf("%d minutes", qty)
}

// Find returns the product with that id.
func (c Catalogue) Find(id string) (product Product, found bool) {
	for _, t := range Types {
		for _, p := range *c.list(t) {
			if p.ID == id {
				return p, true
			}
		}
	}
	return Product{}, false
}

// Refusal returns why a cart, quantities by product id, cannot be bought, in words for the customer, or "". It names an
// unknown product first, and then the first product in the catalogue's order.
func (c Catalogue) Refusal(quantities map[string]int) string {
	offered := map[string]bool{}
	refusal := ""
	for _, t := range Types {
		for _, p := range *c.list(t) {
			qty, wanted := quantities[p.ID]
			if wanted && !offered[p.ID] && refusal == "" {
				refusal = p.Refusal(qty)
			}
			offered[p.ID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(quantities)) {
		if !offered[id] {
			return fmt.Sprintf("%q is not sold here.", id)
		}
	}
	return refusal
}
