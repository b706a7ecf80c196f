package websocket_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/linktest"
	"rangegate/lanes/link/websocket"
)

func TestLink(t *testing.T) {
	for name, key := range map[string]string{"with a key": laneKey, "without a key": ""} {
		t.Run(name, func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) linktest.Bench { return bench(t, key) })
		})
	}
}

func bench(t *testing.T, key string) linktest.Bench {
	now := clock()
	lane := link.Lane{Range: uuid.New(), ID: uuid.New(), Epoch: 7}
	hardware, err := lanesim.New(lanesim.Settings{Now: now}, lanesim.Lane{
		ID: lane.ID, Listen: "127.0.0.1:0",
		Path: "/lane", Key: key,
	})
	require.NoError(t, err)
	t.Cleanup(hardware.Close)
	simulated := hardware.Controller(lane.ID)
	driver := websocket.New(websocket.Settings{
		Now: now, Lanes: map[uuid.UUID]websocket.Target{lane.ID: {Address: simulated.Address(), Key: key}},
	})
	return linktest.Bench{Driver: driver, Lane: lane, Now: now, Controller: controller{simulated}}
}

type controller struct{ *lanesim.Controller }

func (c controller) Shown() linktest.Shown { return linktest.Shown(c.Controller.Shown()) }
func (c controller) Cut()                  { c.Controller.Cut(errors.New("cut by the test")) }

// clock returns a clock that starts now.
func clock() func() lanes.Instant {
	start := time.Now()
	return func() lanes.Instant {
		now := time.Now()
		return lanes.Instant{Wall: now.UTC(), Mono: now.Sub(start)}
	}
}
