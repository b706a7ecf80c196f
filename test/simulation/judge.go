package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
)

// judge stands before the hardware and before the store, and checks at every step what always holds:
//
//   - the hardware is shown what is saved, or what closes, and nothing else;
//   - a hold ends on the hardware only by its release, which is saved then;
//   - a controller obeys no gateway of a lower epoch than it has seen;
//   - what a session has used and what is left of it make up what was sold, in every record of its end;
//   - a session ends once, and is on one lane at a time;
//   - graces, starts, reservations and open ends keep their promises (graces.go, starts.go, reservations.go,
//     openends.go).
type judge struct {
	world *world

	mu    sync.Mutex
	lanes map[uuid.UUID]*laneRecord
	holds map[uuid.UUID]lanes.Holds // by range: as they are saved
	ended map[uuid.UUID]lanes.Ended // by session

	applied map[uuid.UUID]store.Batch    // by range: the newest
	known   map[owned]lanes.Holds        // by owner: as it has saved them last
	graces  map[uuid.UUID]lanes.Snapshot // by session: one that is in its grace, as it was saved last

	sessions  map[uuid.UUID]lanes.Snapshot // by session: as it was saved last
	starts    map[uuid.UUID]*given         // by id
	notBefore map[uuid.UUID]time.Time      // by session: when a start was asked for it
	entered   map[uuid.UUID]bool           // by session: one that was asked to begin by itself

	newest         map[uuid.UUID]lanes.Snapshot // by lane: as it was saved last
	reserved       []*reserved
	reservedAtOnce map[uuid.UUID][]uuid.UUID // by reservation: the lanes of the first write that has it

	settled map[uuid.UUID]time.Duration // by session with an open end: as it was saved last
	open    map[uuid.UUID]time.Duration // by session: for how long its lines were open beyond what was sold, at most

	figures map[string]int // how often what is judged has come
}

// owned is a range in one epoch.
type owned struct {
	of    uuid.UUID
	epoch uint64
}

// laneRecord is what is known of one lane.
type laneRecord struct {
	place   lanes.Place
	of      uuid.UUID            // its range
	saved   []lanes.Snapshot     // every state that was saved, oldest first
	holds   map[lanes.Scope]wish // of staff, over this lane
	pressed bool                 // a hold was shown that staff have asked for, and no release of it is saved
	lifting bool                 // staff have asked for its end since
	newest  uint64
	shown   uint64 // epoch of the state in force
	line    sim.Shown
	since   time.Time // of that

	// confirmed has, by hold of staff, the epoch whose owner has said that this lane has confirmed it, saved or not.
	// Until staff ask for its end, the hold stays as long as that owner does.
	confirmed map[lanes.Scope]uint64
}

// wish is what is known of a hold that staff have asked for.
type wish int

const (
	askedFor wish = iota + 1 // and not answered: it may be in force
	granted                  // in force until its end is asked for
)

func newJudge(w *world) *judge {
	return &judge{
		world: w, lanes: map[uuid.UUID]*laneRecord{}, holds: map[uuid.UUID]lanes.Holds{},
		ended:   map[uuid.UUID]lanes.Ended{},
		applied: map[uuid.UUID]store.Batch{}, known: map[owned]lanes.Holds{}, graces: map[uuid.UUID]lanes.Snapshot{},
		figures:  map[string]int{},
		sessions: map[uuid.UUID]lanes.Snapshot{}, starts: map[uuid.UUID]*given{}, notBefore: map[uuid.UUID]time.Time{},
		entered: map[uuid.UUID]bool{},
		settled: map[uuid.UUID]time.Duration{}, open: map[uuid.UUID]time.Duration{},
		newest: map[uuid.UUID]lanes.Snapshot{}, reservedAtOnce: map[uuid.UUID][]uuid.UUID{},
	}
}

// lane returns the record of a lane. mu is held.
func (j *judge) lane(id uuid.UUID) *laneRecord {
	l := j.lanes[id]
	if l == nil {
		l = &laneRecord{holds: map[lanes.Scope]wish{}, confirmed: map[lanes.Scope]uint64{}}
		for _, r := range j.world.ranges {
			if i := slices.Index(r.lanes, id); i >= 0 {
				l.of, l.place = r.id, lanes.Place{ID: id}
				if i >= wildFrom && i < relayFrom {
					l.place.Bay = r.bay
				}
			}
		}
		j.lanes[id] = l
	}
	return l
}

// flushed writes a batch of a machine, and notes what is saved by it at that instant; lost: on a server whose place
// another one has taken.
func (j *judge) flushed(from *machine, b store.Batch, lost bool, write func() error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := write(); err != nil {
		return err
	}
	for _, lane := range b.Lanes {
		l := j.lane(lane.ID)
		l.saved = append(l.saved, lane)
		if !lane.Held && l.lifting {
			l.pressed = false
		}
	}
	if b.Holds != nil {
		j.known[owned{b.Range, b.Epoch}] = *b.Holds
		if !lost {
			j.holds[b.Range] = *b.Holds
		}
		// the release of a lane that is parked, and takes no request, is the range's alone
		for _, l := range j.lanes {
			if l.of == b.Range && l.lifting && !b.Holds.Over(l.place) &&
				(len(l.saved) == 0 || !l.saved[len(l.saved)-1].Held) {
				l.pressed = false
			}
		}
	}
	if j.isNew(b) {
		j.judgeSaved(from, b)
	}
	for _, e := range b.Ended {
		j.sessionEnded(e)
	}
	return nil
}

// copyStore copies the store, and returns what restores it: the holds that were saved since are lost with it, unless
// their owner lives and writes them again. A gateway whose start has failed ends by itself, also in a fail-over.
func (j *judge) copyStore(copied func() (restore func())) (restore func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	restoreStore, holds := copied(), maps.Clone(j.holds)
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		restoreStore()
		j.holds = holds
	}
}

// isNew is false for a batch that was written before, and has come once more: it has changed nothing. mu is held.
func (j *judge) isNew(b store.Batch) bool {
	last := j.applied[b.Range]
	if b.Epoch < last.Epoch || b.Epoch == last.Epoch && b.N <= last.N {
		return false
	}
	j.applied[b.Range] = store.Batch{Epoch: b.Epoch, N: b.N}
	return true
}

// judgeSaved compares what is saved with what was saved before. mu is held.
func (j *judge) judgeSaved(from *machine, b store.Batch) {
	j.judgeStarts(from, b.Lanes)
	j.judgeReservations(b)
	for _, lane := range b.Lanes {
		if lane.Session != nil {
			j.judgeGrace(j.lane(lane.ID), lane)
			j.judgeOpenEnd(*lane.Session)
		}
	}
	for _, e := range b.Ended {
		if _, found := j.ended[e.Session.ID]; !found {
			j.judgeGraceEnd(from, e)
			j.judgeReceipt(e)
		}
	}
}

// sessionEnded checks the record of an end. A repeat of the flush, and a refill, write the same record again;
// after a fail-over that has lost it, another owner may have ended the session otherwise.
func (j *judge) sessionEnded(e lanes.Ended) {
	if e.Used+e.Session.Left != e.Session.Sold || e.Used < 0 || e.Session.Left < 0 {
		j.world.fail("session %s ended with %v used and %v left of %v", e.Session.ID, e.Used, e.Session.Left,
			e.Session.Sold)
	}
	if before, found := j.ended[e.Session.ID]; found && before.Cursor != e.Cursor {
		j.world.fail("session %s ended twice: %+v, then %+v", e.Session.ID, before, e)
	}
	j.ended[e.Session.ID] = e
}

// dialled notes that a gateway has dialled a controller. A newer owner knows of the holds that are saved, and
// of those that the hardware shows and whose end it knows nothing of.
func (j *judge) dialled(to link.Lane) {
	shown := j.world.controller(to.ID).Shown()
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.lane(to.ID)
	if to.Epoch <= l.newest {
		return
	}
	l.newest = to.Epoch
	holds := j.holds[l.of]
	// what was not saved is lost, unless the hardware shows a hold that no other one explains
	for scope := range l.holds {
		if !slices.ContainsFunc(holds.InForce, func(h lanes.HoldRecord) bool { return h.Scope == scope }) {
			delete(l.holds, scope)
		}
	}
	l.lifting = !l.isGranted()
	l.pressed = l.pressed && (holds.Over(l.place) || shown.Hold && !holds.KnowsOfEnd(l.place))
}

// knowsNoHold reports whether the range has another owner than that of the epoch, which has saved last that no hold
// lies over the lane. mu is held.
func (j *judge) knowsNoHold(l *laneRecord, epoch uint64) bool {
	known, found := j.known[owned{l.of, epoch}]
	return found && epoch < j.applied[l.of].Epoch && !known.Over(l.place)
}

// sent judges a state that a gateway sends to a controller. A gateway that has lost its range knows no hold
// that was set since, and its connection ends with the first one of the new owner.
func (j *judge) sent(from *machine, to link.Lane, state link.State) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.lane(to.ID)
	j.world.trace("%s sends to lane %.4s in epoch %d: hold %v, %s", from.name, suffix(to.ID), to.Epoch, state.Hold,
		brief(state.Session))
	pressed := l.pressed || l.isConfirmed(to.Epoch)
	if pressed && !state.Hold && to.Epoch == l.newest && !from.frozen() && !j.knowsNoHold(l, to.Epoch) {
		j.world.fail("a hold over lane %s ended without its release: %s", suffix(to.ID), brief(state.Session))
	}
	s := state.Session
	if s == nil {
		return
	}
	j.judgeGraceSent(from, state)
	boot := from.clk.Boot()
	explained := func(saved lanes.Snapshot) bool {
		before := saved.Session
		if before == nil || before.ID != s.ID || before.Sold != s.Sold || !samePurchase(before.Purchase, s.Purchase) ||
			!sameStart(before, s) {
			return false
		}
		ran := before.Phase == lanes.Running
		if s.Phase == lanes.Running && !state.Hold {
			return ran && !saved.Held && (before.Since == s.Since && before.Left == s.Left ||
				saved.Boot != boot && sameByWallClock(before, s))
		}
		left := before.Remaining(s.Since) - before.Beyond(s.Since).Owed()
		unproven := s.HasOpenEnd() && left <= s.Left && s.Left <= max(0, before.Left) // it is saved when it began
		return s.Left == left || unproven || saved.Boot != boot && sameByWallClock(before, s)
	}
	if !slices.ContainsFunc(l.saved, explained) {
		j.world.fail("lane %s is shown what is not saved: hold %v, %s", suffix(to.ID), state.Hold, brief(s))
	}
}

// clocksDiffer bounds by how much a time may be off that was counted by the clocks of two machines, or of one
// machine before and after a reboot: the wall clocks are set by up to 2 s here.
const clocksDiffer = 8 * time.Second

// sameByWallClock is true if the time left that is shown is what was saved, less what ran since, by the wall
// clocks.
func sameByWallClock(saved, shown *lanes.Session) bool {
	left := saved.Left
	if saved.Phase == lanes.Running {
		left -= shown.Since.Wall.Sub(saved.Since.Wall)
	}
	return (max(0, left) - max(0, shown.Left)).Abs() <= clocksDiffer
}

// sameStart is true unless one of them waits for another start, or for none.
func sameStart(a, b *lanes.Session) bool {
	if a.Phase != lanes.Waiting || b.Phase != lanes.Waiting {
		return true
	}
	return (a.Start == nil) == (b.Start == nil) && (a.Start == nil || a.Start.ID == b.Start.ID)
}

func samePurchase(a, b *lanes.Purchase) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Phase == b.Phase
}

// isOfBefore reports whether the lane's controller has put a state of a later owner than that of this epoch in force.
func (j *judge) isOfBefore(epoch uint64, lane uuid.UUID) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return epoch < j.lane(lane).shown
}

// shown is called with every state that a controller puts in force.
func (j *judge) shown(epoch uint64, lane uuid.UUID, s sim.Shown) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.lane(lane)
	if epoch < l.shown {
		j.world.fail("lane %s put a state of epoch %d in force after one of %d", suffix(lane), epoch, l.shown)
	}
	l.shown = epoch
	l.pressed = l.pressed || s.Hold && l.isGranted()
	j.lineShown(l, s)
}

// isConfirmed is true while the owner of that epoch has said that a hold is in force here.
func (l *laneRecord) isConfirmed(epoch uint64) bool {
	return slices.Contains(slices.Collect(maps.Values(l.confirmed)), epoch)
}

// holdConfirmed notes what the owner of that epoch has answered.
func (j *judge) holdConfirmed(lane uuid.UUID, scope lanes.Scope, epoch uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lane(lane).confirmed[scope] = epoch
}

// isGranted is true while a hold is in force over the lane for certain.
func (l *laneRecord) isGranted() bool {
	for _, wish := range l.holds {
		if wish == granted {
			return true
		}
	}
	return false
}

// wished notes what is known of a hold of staff now; 0: its end is asked for, or nobody will ever know.
func (j *judge) wished(r *rangeOf, scope lanes.Scope, now wish) {
	for _, id := range r.lanes {
		shown := j.world.controller(id).Shown()
		j.wishedOver(id, scope, now, shown)
	}
}

func (j *judge) wishedOver(id uuid.UUID, scope lanes.Scope, now wish, shown sim.Shown) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.lane(id)
	if !scope.Covers(l.place) {
		return
	}
	if now == 0 {
		delete(l.holds, scope)
		delete(l.confirmed, scope)
	} else {
		l.holds[scope] = now
	}
	l.lifting = !l.isGranted()
	l.pressed = l.pressed || !l.lifting && shown.Hold
}

// counted is how often what is judged has come.
func (j *judge) counted() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return fmt.Sprint(j.figures)
}

// suffix is the part of an id that tells it from others here.
func suffix(id uuid.UUID) string { return strings.TrimLeft(id.String()[24:], "0") }

// brief is a session in a line.
func brief(s *lanes.Session) string {
	if s == nil {
		return "no session"
	}
	text := fmt.Sprintf("session %.8s %s, %v left at %v of %v", s.ID, s.Phase, s.Left, s.Since.Mono, s.Sold)
	if s.Purchase != nil {
		text += fmt.Sprintf(", purchase %.8s %s", s.Purchase.ID, s.Purchase.Phase)
	}
	return text
}

// powerCut turns a controller off and on. It forgets what it was shown and which gateways it has seen.
func (j *judge) powerCut(lane uuid.UUID) {
	j.world.controller(lane).PowerCut(false)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lane(lane).shown = 0
}
