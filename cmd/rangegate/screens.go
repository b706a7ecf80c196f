package main

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/api"
	"rangegate/api/control"
	"rangegate/api/lanescreen"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/webhook/egress"
)

// picturesFetched is how many connections a range may have to where its products' pictures are.
const picturesFetched = 8

// screensOf is what the control screen and the lane screens are made of. Their streams end when the arrangement is over.
func screensOf(a *arrangement, gateway *actors.Gateway, seen *control.Sessions) api.Screens {
	c := a.config
	s := api.Screens{
		Staff: map[uuid.UUID]map[string]string{}, Sessions: seen, Lanes: map[uuid.UUID]lanescreen.Lane{}, Closing: a.over.Done(),
		Control: func(id uuid.UUID) (control.Range, error) { return gateway.Range(id) },
		Lane:    func(id uuid.UUID) (lanescreen.Range, error) { return gateway.Range(id) },
		Shop: func(id uuid.UUID) (lanescreen.Shop, error) {
			if products := a.products(id); products != nil {
				return products, nil
			}
			return nil, lanes.ErrProductsNotConfigured
		},
	}
	transports := map[uuid.UUID]http.RoundTripper{}
	for _, r := range c.Ranges {
		s.Staff[r.ID] = map[string]string{}
		for _, member := range r.Staff {
			s.Staff[r.ID][strings.TrimSpace(member.Name)] = member.PinHash.Reveal()
		}
		for _, lane := range r.Lanes {
			if lane.ScreenKey != "" {
				s.Lanes[lane.ID] = lanescreen.Lane{Range: r.ID, Key: lane.ScreenKey.Reveal()}
			}
		}
		if p := r.Products; p != nil {
			guarded := c.Environment == config.InProduction && !p.AllowPrivate
			transports[r.ID] = egress.Transport(guarded, picturesFetched)
		}
	}
	s.Pictures = lanescreen.NewPictures("rangegate/"+built(), transports)
	return s
}
