package simulation

import (
	"context"
	"net/http"
	"sync"
	"time"

	"rangegate/config"
	"rangegate/test/simulation/memory"
)

// harm brings faults, some at the same time, until ctx ends, and ends them all.
func (w *world) harm(ctx context.Context) {
	var underWay sync.WaitGroup
	defer underWay.Wait()
	faults := []struct {
		name string
		run  func()
	}{
		{"a machine's process is killed", w.killOne},
		{"a gateway is restarted", w.restartOne},
		{"a machine freezes", w.freezeOne},
		{"the store stands still", w.hang},
		{"the store is slow", w.slowStore},
		{"a link breaks", w.breakLink},
		{"nothing gets through to a controller", w.cutController},
		{"a controller loses power", w.cutPower},
		{"a wall clock is set", func() { w.oneMachine().clk.step(w.upTo(4*time.Second) - 2*time.Second) }},
		{"a clock drifts", func() { w.oneMachine().clk.drift(int64(w.draw(401) - 200)) }},
		{"the webhook refuses", w.refuseEvents},
		{"a lane panics", func() { w.oneMachine().clk.plantPanics(1) }},
		{"the store fails over, and loses its last writes", w.failOver},
	}
	for sleep(ctx, 500*time.Millisecond+w.upTo(5*time.Second)) == nil {
		fault := faults[w.draw(len(faults))]
		w.trace("FAULT: %s", fault.name)
		underWay.Go(func() { fault.run() })
	}
}

func (w *world) oneMachine() *machine { return w.machines[w.draw(len(w.machines))] }

// failOver replaces the store by a replica that lacks what was written last, on half of the occasions while machines
// are still connected to the master of before, and write to it what is lost with it. An owner that lives has that,
// and writes it again; one that dies at the same time, or counts as dead, takes it along (docs/ownership.md).
// So there is no such fault until the owners have had the time. Nor is one where an owner has given a range away
// within what is lost, and may not know of it: it takes its last writes along, too (docs/store.md). Nor while one that
// has claimed a range reads what the owner before has saved last: what it has not read by then nobody has
// (docs/ownership.md).
func (w *world) failOver() {
	w.lives <- struct{}{}
	defer func() { <-w.lives }()
	w.setCalm(true)
	defer w.setCalm(false)
	restore, from, givenAway := w.judge.copyStore(w.server.Copy), time.Now(), w.givenAway.Load()
	if w.draw(2) == 0 && w.plan.nodes > 1 { // maintenance: somebody gives ranges away at the same time
		r, after := w.ranges[w.draw(len(w.ranges))], w.upTo(time.Second)
		time.AfterFunc(after, func() { w.operate(r, "/drain") })
	}
	time.Sleep(w.upTo(time.Second))
	if w.givenAway.Load() != givenAway || w.isRecalling() {
		return
	}
	former, until := w.server.Former(), time.Now()
	restore()
	if w.draw(2) == 0 {
		until = until.Add(w.stayWith(former))
	}
	w.mu.Lock()
	w.lost = append(w.lost, [2]time.Time{from, until})
	w.mu.Unlock()
	w.trace("the store has failed over")
	if w.plan.nodes > 1 && w.draw(2) == 0 { // both are updated on the same evening
		w.restart(w.oneMachine())
	}
	time.Sleep(time.Until(until) + refilled)
}

// outlived bounds for how long a gateway uses connections to the master of before that outlive a fail-over: one gateway
// alone until it has asked the Sentinels again (docs/store.md), a node until its next renewal, or until 3/5 of a TTL
// after the newest (docs/ownership.md).
const outlived = 10 * time.Second

// stayWith has each machine go on with the master of before for a while, or not at all, and returns the longest such
// time. A start that fails ends what it has served by then, and takes that along.
func (w *world) stayWith(former *memory.Server) (longest time.Duration) {
	longest = outlived
	if w.plan.nodes > 1 {
		longest = config.MinNodesTTL * 3 / 5
	}
	for _, m := range w.machines {
		l, stays := m.life(), w.upTo(longest)
		if w.draw(3) == 0 || !l.serves.Load() {
			continue
		}
		l.former.Store(former)
		w.trace("%s is still connected to the master of before, for %v at most", m.name, stays)
		time.AfterFunc(stays, func() { l.former.Store(nil) })
	}
	return longest
}

// refilled is how long the owners may need to write again what a fail-over has lost.
const refilled = 15 * time.Second

// killOne kills a gateway and starts it again, on half of the occasions with its machine.
func (w *world) killOne() {
	w.lives <- struct{}{}
	defer func() { <-w.lives }()
	m := w.oneMachine()
	m.kill()
	if w.draw(2) == 0 {
		m.clk.reboot()
	}
	time.Sleep(w.upTo(4 * time.Second))
	w.start(m)
}

// restartOne restarts a gateway in order.
func (w *world) restartOne() {
	w.lives <- struct{}{}
	defer func() { <-w.lives }()
	w.restart(w.oneMachine())
}

func (w *world) restart(m *machine) {
	w.trace("%s is restarted in order", m.name)
	m.stop()
	m.isStopped()
	w.start(m)
}

func (w *world) freezeOne() {
	w.lives <- struct{}{}
	defer func() { <-w.lives }()
	m := w.oneMachine()
	m.freeze()
	time.Sleep(w.upTo(15 * time.Second))
	m.unfreeze()
}

func (w *world) slowStore() {
	w.lives <- struct{}{}
	defer func() { <-w.lives }()
	longest := 200*time.Millisecond + w.upTo(4*time.Second)
	w.mu.Lock()
	w.slow = longest
	w.mu.Unlock()
	time.Sleep(w.upTo(15 * time.Second))
	w.mu.Lock()
	w.slow = 0
	w.mu.Unlock()
}

func (w *world) breakLink() {
	r := w.ranges[w.draw(len(w.ranges))]
	w.controller(r.lanes[w.draw(laneCount)]).Cut(errLinkLost)
}

func (w *world) cutController() {
	r := w.ranges[w.draw(len(w.ranges))]
	lane := r.lanes[w.draw(laneCount)]
	w.mu.Lock()
	w.cut[lane] = true
	w.mu.Unlock()
	time.Sleep(w.upTo(25 * time.Second))
	w.mu.Lock()
	delete(w.cut, lane)
	w.mu.Unlock()
}

func (w *world) cutPower() {
	r := w.ranges[w.draw(len(w.ranges))]
	w.judge.powerCut(r.lanes[w.draw(laneCount)])
}

func (w *world) refuseEvents() {
	w.integrator.refuse(http.StatusServiceUnavailable)
	time.Sleep(w.upTo(15 * time.Second))
	w.integrator.refuse(0)
}

// hang makes the store stand still.
func (w *world) hang() {
	w.lives <- struct{}{}
	defer func() { <-w.lives }()
	hung := make(chan struct{})
	w.mu.Lock()
	w.hung = hung
	w.mu.Unlock()
	time.Sleep(w.upTo(9 * time.Second))
	w.mu.Lock()
	w.hung = nil
	w.mu.Unlock()
	close(hung)
}
