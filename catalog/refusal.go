package catalog

import (
	"fmt"
	"maps"
	"slices"
)

// Refusal returns why this quantity cannot be bought, in words for the customer, or "". The valid quantities are min_qty,
// min_qty + increment_by and so on, up to and with max_qty.
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
