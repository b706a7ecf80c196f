package crash

import (
	"sync"
	"testing"
	"time"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"

	"rangegate/test/support"
)

// hardware is the lane controllers that answer over real WebSockets. They outlive every gateway, and the test
// knows their state without asking it.
type hardware struct {
	controllers *support.Controllers
	shooters    []*shooter           // by lane
	stillness   func() time.Duration // how long the gateway, or the machine, stood still at most

	mu      sync.Mutex
	welcome map[string]bool // sessions that their customers may enter: until then they get no command
	entered map[string]span // of those, when the controller was told
}

// powerUp starts the controllers of the first lanes until the test ends.
func powerUp(t *testing.T, seed uint64) *hardware {
	h := &hardware{
		controllers: support.NewControllers(t, 0, wiredCount-1), welcome: map[string]bool{},
		entered: map[string]span{},
	}
	for n := range wiredCount {
		h.shooters = append(h.shooters, newShooter(h, n, seed))
	}
	return h
}

// addresses is where the controllers answer.
func (h *hardware) addresses() (all []string) {
	for _, s := range h.shooters {
		all = append(all, s.controller.Address())
	}
	return all
}

// admit lets the customer of a waiting session enter.
func (h *hardware) admit(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.welcome[id] = true
}

// awaits tells whether the session was left to its customer to enter.
func (h *hardware) awaits(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.welcome[id]
}

// enter has the customer of the lane's session enter, if it was admitted, and records when.
func (h *hardware) enter(controller *lanesim.Controller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	shown := controller.Shown()
	id := shown.Session.String()
	if shown.Phase != lanes.Waiting || !h.welcome[id] {
		return
	}
	if _, again := h.entered[id]; again {
		return // the gateway does not know yet
	}
	at := span{lo: now()}
	if controller.Enter() == nil {
		at.hi = now()
		h.entered[id] = at
	}
}

// enteredAt is when the customer entered as far as the gateway knows, if that has happened.
func (h *hardware) enteredAt(id string) (at span, entered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, entered = h.entered[id]
	at.hi += maxTransit + h.stillness()
	return at, entered
}

// unacked is the number of reports that the gateway has not acked.
func (h *hardware) unacked() (many int) {
	for _, s := range h.shooters {
		many += s.controller.Unacked()
	}
	return many
}
