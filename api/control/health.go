package control

import (
	"context"
	"maps"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

func (c *screen) healthEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/health", 200, "How the machinery is doing", endpoint.NoInput, c.health, notRunning...),
	}
}

// health is how the machinery behind the range is doing.
type health struct {
	Links  map[lanes.LinkState]int `json:"links"`
	Lanes  []linkHealth            `json:"lanes"`
	Store  storeHealth             `json:"store"`
	Events eventHealth             `json:"events"`
	Timers timerHealth             `json:"timers"`
	Actors actorHealth             `json:"actors"`
}

type linkHealth struct {
	Lane      uuid.UUID       `json:"lane_id"`
	Name      string          `json:"name"`
	Link      lanes.LinkState `json:"link"`
	Since     string          `json:"since"`
	Restarts  int             `json:"restarts"`
	LastError string          `json:"last_error"`
}

type (
	storeHealth struct {
		Writable bool `json:"writable"`
		Unsaved  int  `json:"unsaved"`
	}
	eventHealth struct {
		Waiting int `json:"waiting"`
	}
	timerHealth struct {
		LateP99 float64 `json:"late_p99_ms"`
	}
	actorHealth struct {
		Restarts map[string]int `json:"restarts"`
	}
)

func (c *screen) health(ctx context.Context, _ endpoint.Empty) (health, error) {
	r, _, err := c.staffed(ctx)
	if err != nil {
		return health{}, err
	}
	is := r.Health()
	shown := health{
		Links: is.Links, Lanes: []linkHealth{},
		Store:  storeHealth{is.Writable, is.Unsaved},
		Events: eventHealth{is.Waiting},
		Timers: timerHealth{float64(is.LateP99.Microseconds()) / 1000},
		Actors: actorHealth{map[string]int{}},
	}
	maps.Copy(shown.Actors.Restarts, is.Restarts) // that is {}, not null, where none was started again
	for _, l := range is.Lanes {
		shown.Lanes = append(shown.Lanes, linkHealth{l.Lane, l.Name, l.Link, screens.Stamp(l.Since), l.Restarts, l.LastError})
	}
	return shown, nil
}
