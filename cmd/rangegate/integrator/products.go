package integrator

import (
	"encoding/json"
	"net/http"
)

// product is one as SPEC.md part 2 has it. Minimum and step are for time only.
type product struct {
	ID          string      `json:"id"`
	DisplayName string      `json:"display_name"`
	Price       json.Number `json:"price"` // of one; of time, a minute's
	MaxQty      int         `json:"max_qty"`
	MinQty      int         `json:"min_qty,omitempty"`
	IncrementBy int         `json:"increment_by,omitempty"`
	PictureURL  string      `json:"picture_url"`
}

// onSale is everything that this integrator sells, by type. The picture of a product is called after its id.
var onSale = map[string][]product{
	"time": {
		{ID: "time", DisplayName: "Lane time", Price: "0.40", MinQty: 15, MaxQty: 120, IncrementBy: 15},
	},
	"targets": {
		{ID: "bullseye", DisplayName: "Bull's-eye, 50 cm", Price: "1.20", MaxQty: 20},
		{ID: "silhouette", DisplayName: "Silhouette, life size", Price: "1.95", MaxQty: 20},
		{ID: "steel-plates", DisplayName: "Falling plates, one lane hour", Price: "9.50", MaxQty: 1},
	},
	"ammo": {
		{ID: "9mm-box-50", DisplayName: "9 mm, box of 50", Price: "18.90", MaxQty: 10},
		{ID: "22lr-box-100", DisplayName: ".22 LR, box of 100", Price: "12.50", MaxQty: 10},
		{ID: "12-gauge-box-25", DisplayName: "12 gauge, box of 25", Price: "14.75", MaxQty: 6},
	},
	"rentals": {
		{ID: "ear-muffs", DisplayName: "Ear muffs", Price: "3.00", MaxQty: 4},
		{ID: "safety-glasses", DisplayName: "Safety glasses", Price: "2.50", MaxQty: 4},
		{ID: "pistol", DisplayName: "Pistol, 9 mm", Price: "15.00", MaxQty: 1},
	},
}

// products is the products API. Pictures are at the address that it was asked at.
func (in *Integrator) products(w http.ResponseWriter, r *http.Request) {
	sold, known := onSale[r.URL.Query().Get("type")]
	if !known {
		fault(w, http.StatusBadRequest, "type must be time, targets, ammo or rentals")
		return
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	list := make([]product, len(sold))
	for i, p := range sold {
		p.PictureURL = scheme + "://" + r.Host + "/pictures/" + p.ID + ".jpg"
		list[i] = p
	}
	answer(w, http.StatusOK, list)
}
