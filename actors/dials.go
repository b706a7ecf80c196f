package actors

import "sync"

// dialsAtOnce are under way of a range: a switch that comes back brings all its lanes at once.
const dialsAtOnce = 64

// dials has the dials of a range take turns. Those that wait have no goroutine: there may be a hundred thousand.
type dials struct {
	mu       sync.Mutex
	waiting  []func() // in the order in which they came
	underWay int
	turns    sync.WaitGroup
}

// queue has the dial be made when it is its turn. It never blocks.
func (d *dials) queue(dial func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, dial)
	if d.underWay < dialsAtOnce {
		d.underWay++
		d.turns.Go(d.take)
	}
}

// take makes one dial after the other, until none waits.
func (d *dials) take() {
	for dial := d.next(); dial != nil; dial = d.next() {
		dial()
	}
}

// next is nil when none waits.
func (d *dials) next() func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 {
		d.waiting = nil
		d.underWay--
		return nil
	}
	first := d.waiting[0]
	d.waiting[0] = nil
	d.waiting = d.waiting[1:]
	return first
}
