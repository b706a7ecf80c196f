package cluster

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes/link/sim"
	"rangegate/test/linear"
	"rangegate/test/support"
)

// Every range has three lanes. The clients contend for the first one of some ranges; the second one has one
// session, from the beginning to the end, which shows whether its range is served and whether its time is
// right. Clients move it to the third one, and back.
const (
	busyLane  = 0
	longLane  = 1
	spareLane = 2
	laneCount = 3
)

// rangeFixture is one range, as its clients know it.
type rangeFixture struct {
	*cluster
	number int
	lanes  [spareLane]*lane // by the lane that their session is sold on
	longAt linear.Span      // when the session on the second lane was sold
	newest atomic.Uint64    // the highest epoch of an owner that any client or controller has shown so far
}

// see notes an epoch that was shown.
func (r *rangeFixture) see(epoch uint64) {
	for newest := r.newest.Load(); epoch > newest && !r.newest.CompareAndSwap(newest, epoch); {
		newest = r.newest.Load()
	}
}

func (r *rangeFixture) id() string { return fmt.Sprintf("11111111-1111-4111-8111-%012d", r.number) }

func (r *rangeFixture) token() string { return fmt.Sprintf("22222222-2222-4222-8222-%012d", r.number) }

func (r *rangeFixture) groupID() string {
	return fmt.Sprintf("33333333-3333-4333-8333-%012d", r.number)
}

func (r *rangeFixture) bayID() string       { return fmt.Sprintf("55555555-5555-4555-8555-%012d", r.number) }
func (r *rangeFixture) laneID(n int) string { return laneID(r.number, n) }

func laneID(rangeNumber, n int) string {
	return fmt.Sprintf("44444444-4444-4444-8444-%06d%06d", rangeNumber, n)
}

func newRange(c *cluster, number int) *rangeFixture {
	r := &rangeFixture{cluster: c, number: number}
	for n := range r.lanes {
		r.lanes[n] = &lane{r: r, number: n}
	}
	return r
}

// configuration is that of a node: the ranges are the same for all.
func (c *cluster) configuration(store string, sections ...string) string {
	config := support.Config{HTTP: support.NoLimit, Store: store, Sections: sections}
	for _, r := range c.ranges {
		config.Ranges = append(config.Ranges, support.Range{
			ID: r.id(), Name: fmt.Sprintf("Range %d", r.number), Tokens: []string{r.token()},
			Groups: []string{support.Entry(r.groupID(), "Public")},
			Bays:   []string{support.Entry(r.bayID(), "Bay")},
			Lanes: []string{
				support.Entry(r.laneID(busyLane), "Busy", "bay: "+r.bayID(), c.hardware.link(r.number, busyLane)),
				support.Entry(r.laneID(longLane), "Long", "bay: "+r.bayID(), c.hardware.link(r.number, longLane)),
				support.Entry(r.laneID(spareLane), "Spare", "bay: "+r.bayID(), c.hardware.link(r.number, spareLane)),
			},
			Settings: []string{"purchasing: true", c.receiver.Setting("timeout: 5s")},
		})
	}
	return config.String()
}

// hardware is the controllers of all lanes. They outlive every process of the gateway.
type hardware struct {
	controllers *lanesim.Controllers

	mu    sync.Mutex
	heard map[uuid.UUID][]applied // every state that each controller has put in force
}

// applied is a state that a controller has put in force.
type applied struct {
	epoch uint64 // of the gateway that has sent it
	sim.Shown
}

// dialsIn tells whether the controllers of the range dial the gateway: half of them do, the others are dialled.
func dialsIn(rangeNumber int) bool { return rangeNumber%2 == 1 }

// powerUp starts the controllers until the test ends. The gateway is where those that dial find it.
func powerUp(t *testing.T, ranges int, gateway string) *hardware {
	h := &hardware{heard: map[uuid.UUID][]applied{}}
	var served []lanesim.Lane
	for r := range ranges {
		for n := range laneCount {
			id := uuid.MustParse(laneID(r, n))
			lane := lanesim.Lane{ID: id, Listen: "127.0.0.1:0", Key: id.String()}
			if dialsIn(r) {
				lane.Listen, lane.Dial = "", "ws://"+gateway+"/link/v1/"+id.String()
			}
			served = append(served, lane)
		}
	}
	controllers, err := lanesim.New(lanesim.Settings{Now: support.Now, OnState: h.record}, served...)
	require.NoError(t, err)
	t.Cleanup(controllers.Close)
	h.controllers = controllers
	return h
}

// record notes what a controller puts in force. Its lock is held.
func (h *hardware) record(lane lanesim.Lane, epoch uint64, shown sim.Shown) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard[lane.ID] = append(h.heard[lane.ID], applied{epoch, shown})
}

func (h *hardware) controller(rangeNumber, n int) *lanesim.Controller {
	return h.controllers.Controller(uuid.MustParse(laneID(rangeNumber, n)))
}

// link is the link of the lane in the configuration.
func (h *hardware) link(rangeNumber, n int) string {
	if dialsIn(rangeNumber) {
		return fmt.Sprintf("link: {driver: incoming, key: %q}", laneID(rangeNumber, n))
	}
	return support.Link(h.controller(rangeNumber, n).Address(), laneID(rangeNumber, n))
}

// epochs are those of the gateways that the controllers listen to, by lane.
func (h *hardware) epochs() map[uuid.UUID]uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	epochs := map[uuid.UUID]uint64{}
	for lane, states := range h.heard {
		epochs[lane] = states[len(states)-1].epoch
	}
	return epochs
}

// patient waits for an answer that says how far the ceasefire has come, for as long as a node may take.
var patient = &http.Client{Timeout: support.Patience}

// ceasefire sets or lifts a hold over every range, each through one of the nodes, and returns after how long
// every controller has put that in force.
func (c *cluster) ceasefire(on bool) (took time.Duration) {
	c.t.Helper()
	began := now()
	var asked sync.WaitGroup
	c.eachRange(func(probe *client, r *rangeFixture) {
		n := probe.choose()
		asked.Go(func() { // the answer may wait for Redis, the controllers may not
			operator := support.Client{API: n.current().Operations, HTTP: patient}
			answer, err := operator.Do(http.MethodPut, "/ranges/"+r.id()+"/holds",
				fmt.Sprintf(`{"scope":"range","id":null,"on":%v}`, on),
				"Authorization", "Bearer "+support.Operator, "Content-Type", "application/json")
			switch {
			case err != nil:
				c.fault("the ceasefire of range %d: %v", r.number, err)
			case answer.Status != http.StatusOK:
				c.fault("the ceasefire of range %d through %s: %d %s", r.number, n.name, answer.Status, answer.Body)
			}
		})
	})
	support.Eventually(c.t, "every controller has it in force", func() bool {
		for _, r := range c.ranges {
			for lane := range laneCount {
				if c.hardware.controller(r.number, lane).Shown().Hold != on {
					return c.t.Failed() // and Eventually need not wait
				}
			}
		}
		return true
	})
	took = now() - began
	asked.Wait()
	return took
}

// waitBalanced waits until no range has moved for many TTLs, and returns the epochs.
func (c *cluster) waitBalanced() (epochs map[uuid.UUID]uint64) {
	epochs = c.hardware.epochs()
	since := now()
	support.Eventually(c.t, "the nodes have divided the ranges", func() bool {
		c.sleep(0.1)
		if present := c.hardware.epochs(); !maps.Equal(present, epochs) {
			epochs, since = present, now()
		}
		return now()-since > 6*c.ttl
	})
	c.waitControllers() // one may have dialled its new owner late
	return c.hardware.epochs()
}

// epoch is that of the gateway that the lane's controller listens to.
func (h *hardware) epoch(rangeNumber, n int) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if states := h.heard[uuid.MustParse(laneID(rangeNumber, n))]; len(states) > 0 {
		return states[len(states)-1].epoch
	}
	return 0
}

// owners is how many owners of its range, one after the other, the lane's controller has listened to.
func (h *hardware) owners(rangeNumber, n int) (count int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := uint64(0)
	for _, state := range h.heard[uuid.MustParse(laneID(rangeNumber, n))] {
		if state.epoch != last {
			count, last = count+1, state.epoch
		}
	}
	return count
}
