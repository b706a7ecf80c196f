package integrator

import (
	"slices"
	"sync"
)

// kept is how many arrivals are remembered.
const kept = 500

// desk is where events arrive, one after the other, and where it is known how the next one is answered.
type desk struct {
	mu      sync.Mutex
	list    []Arrival // oldest first
	numbers int       // given out so far
	next    Next
	changed chan struct{} // closed at the next change
}

func newDesk() *desk { return &desk{list: []Arrival{}, next: byDefault, changed: make(chan struct{})} }

// take gives the arrival its number and, unless it was rejected, its answer, and notes it.
func (d *desk) take(a Arrival) (Arrival, Next) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.numbers++
	a.Number = d.numbers
	next := d.next
	if a.Answer != Rejected {
		a.Answer, a.Status = next.Answer, next.status(a.Event)
		if next.Once {
			d.next = byDefault
		}
	}
	d.list = append(d.list, a)
	if len(d.list) > kept {
		d.list = slices.Delete(d.list, 0, len(d.list)-kept)
	}
	d.tell()
	return a, next
}

// choose sets how the next one is answered.
func (d *desk) choose(next Next) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = next
	d.tell()
}

// since is what arrived after that number, as far as it is kept, how the next one is answered, and what is closed when
// there is more to say.
func (d *desk) since(number int) ([]Arrival, Next, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	news := min(d.numbers-number, len(d.list))
	return slices.Clone(d.list[len(d.list)-news:]), d.next, d.changed
}

func (d *desk) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}
