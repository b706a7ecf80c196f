// Package nodes keeps the ranges of several gateways that share a store: each range has one owner.
//
//	plan.go     decide: what a node does next, a pure function of what it knows
//	lease.go    the node's lease: renewed by a goroutine of its own
//	keeper.go   the loop: reads who owns what, decides, claims, starts and stops
//	owners.go   who owns a range, for whoever routes requests
//
// Safety rests on none of this: the store refuses the writes of whoever has not the newest epoch. A lease
// only decides when others may take a range over.
package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Store is what the nodes share.
type Store interface {
	// Renew renews the node's lease for a TTL, or begins one, and returns all that are alive.
	Renew(ctx context.Context, lease store.Lease, ttl time.Duration) (store.Leases, error)
	// Live returns the leases that have not ended.
	Live(ctx context.Context) ([]store.Lease, error)
	// End ends the lease of a node.
	End(ctx context.Context, run uuid.UUID) error
	// Owners reads who owns the ranges, in their order.
	Owners(ctx context.Context, ranges []uuid.UUID) ([]store.Ownership, error)
	// Claim claims each range whose epoch and owner are the expected ones, on the server that has answered the
	// newest renewal: otherwise store.ErrAnotherServer.
	Claim(ctx context.Context, by store.Claimant, expected []store.Ownership) []store.Claimed
	// SetOwner names the owner of a range, or nobody, while it has this epoch and this owner.
	SetOwner(ctx context.Context, from store.Ownership, to store.Node) (current store.Ownership,
		changed bool, err error)
	// Announce tells the other nodes, and Watch returns what is announced until ctx ends. Announcements may
	// be lost.
	Announce(ctx context.Context, changed []store.Ownership) error
	Watch(ctx context.Context) <-chan store.Ownership
}

// Ranges are those that run in this process.
type Ranges interface {
	// Start loads a range that was claimed in that epoch, and starts it.
	Start(ctx context.Context, rangeID uuid.UUID, epoch uint64) error
	// Stop saves what the range has to save and stops it. After an error something may not be saved. Otherwise
	// release saves it once more and leaves it without an owner, in one write. It may be called again.
	Stop(ctx context.Context, rangeID uuid.UUID) (release func(context.Context) error, err error)
	// Drop stops a range that another node has claimed. Nothing is saved.
	Drop(rangeID uuid.UUID)
	// CheckpointAll has every range flush at once: a store that has lost acknowledged writes gets them again.
	// It does not wait for that.
	CheckpointAll()
	Running() []Running
}

// Running is a range that runs in this process.
type Running struct {
	Range uuid.UUID
	Epoch uint64
	InUse bool // it is under a hold, or a purchase is under way: it is not moved for balance
}

// Config is what a keeper works with.
type Config struct {
	Self     store.Node // its Run is another one at each start
	Version  string     // of the gateway
	TTL      time.Duration
	Store    Store
	Ranges   Ranges
	Refusing func() string // why this node takes no ranges now; empty, or nil: it takes them
	Metrics  *Metrics
	Log      zerolog.Logger
}

const (
	parallel     = 64               // ranges that start or stop at a time
	startWithin  = 30 * time.Second // for a range to be loaded and started
	stopWithin   = 10 * time.Second // for a range to be saved and stopped
	claimWithin  = 5 * time.Second  // for claims, releases and announcements
	lookUpPause  = time.Second      // between two reads of the leases for a node that is not known
	lookUpWithin = time.Second      // for such a read
	heardPause   = 10 * time.Millisecond
	moveAgain    = 10 * time.Minute // before a range that came back is moved for balance again
	retryTTLs    = 6                // before a range that could not be started is tried again here, in TTLs
	forgottenTTL = 3                // a range that was released and nobody took counts as moving for so many TTLs
)

// Keeper keeps the ranges of this node. Its methods may be called from any goroutine.
type Keeper struct {
	Config
	wake     chan struct{} // of one
	renewNow chan struct{} // of one
	slots    *semaphore.Weighted
	reads    singleflight.Group

	mu      sync.RWMutex
	lease   lease
	lookUp  lookUp
	ranges  map[uuid.UUID]*entry
	sweptAt time.Time // zero: the owners are to be read now
	changes map[uuid.UUID]Changes
	renewed chan struct{} // closed after the renewal that comes next, whatever came of it
	decided bool          // about ranges that nobody has, once at least
	paused  bool          // the process stops: no range is started or moved any more

	stopWork, stopRenewing context.CancelFunc
	noMoreRenewals         <-chan struct{} // closed by stopRenewing
	working, renewing      sync.WaitGroup
	tasks                  sync.WaitGroup // starts and stops of ranges
}

// entry is what the keeper knows of one range.
type entry struct {
	configured      bool
	record          store.Ownership
	recordChangedAt time.Time // when the record was last another one
	dead            bool      // the owner has no lease any more
	unownedSince    time.Time // zero while a living node owns it
	busy            bool      // it starts or stops here
	retryAt         time.Time // not tried here before that
	releasedAt      time.Time // by this node, for another one
	moveAfter       time.Time // not moved for balance before that
}

// New makes a keeper that does nothing yet.
func New(c Config) *Keeper {
	return &Keeper{
		Config: c, wake: make(chan struct{}, 1), renewNow: make(chan struct{}, 1),
		slots: semaphore.NewWeighted(parallel), ranges: map[uuid.UUID]*entry{}, changes: map[uuid.UUID]Changes{},
		renewed: make(chan struct{}),
	}
}

// Start makes the node one of those that serve these ranges. It does not wait until a range runs. Stop must
// be called.
func (k *Keeper) Start(ranges []uuid.UUID, digest string) {
	k.Configure(ranges, digest)
	var work, renewing context.Context
	work, k.stopWork = context.WithCancel(context.Background())
	renewing, k.stopRenewing = context.WithCancel(context.Background())
	k.noMoreRenewals = renewing.Done()
	k.renewing.Go(func() { k.renewUntil(renewing) })
	k.working.Go(func() { k.workUntil(work) })
}

// Configure says which ranges the nodes serve, and the digest of their configuration. It is called within
// Exclusively once the keeper has started.
func (k *Keeper) Configure(ranges []uuid.UUID, digest string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.ranges {
		e.configured = false
	}
	for _, id := range ranges {
		e, found := k.ranges[id]
		if !found {
			e = &entry{record: store.Ownership{Range: id}}
			k.ranges[id] = e
		}
		e.configured, e.retryAt = true, time.Time{}
	}
	if digest != k.lease.digest {
		k.lease.digest, k.lease.digestSince = digest, time.Time{}
	}
	k.sweptAt = time.Time{}
	signal(k.renewNow)
}

// Exclusively runs do while no range starts or stops here. Without it, after an error, ctx has ended while
// ranges started and stopped.
func (k *Keeper) Exclusively(ctx context.Context, do func()) error {
	if err := k.slots.Acquire(ctx, parallel); err != nil {
		return fmt.Errorf("ranges are being started or stopped: %w", err)
	}
	defer k.slots.Release(parallel)
	do()
	return nil
}

// Drain makes this node give its ranges to the others, and take none. It is for the rest of its run.
func (k *Keeper) Drain() {
	k.mu.Lock()
	k.lease.draining = true
	k.mu.Unlock()
	k.Log.Info().Msg("this node drains: the others take its ranges")
	signal(k.renewNow)
}

// maxDrained bounds the ranges of a lease.
const maxDrained = 100

// Why a range is not drained.
var (
	ErrNoOtherNode    = errors.New("no other node takes ranges")
	ErrTooManyDrained = fmt.Errorf("this node has given %d ranges away since it was started", maxDrained)
)

// DrainRange makes this node give one range away for the rest of its run, and returns the name of the node that is to
// take it. The range comes back only when no other node is left, or when the others give it away too. Errors:
// lanes.ErrNotOwner if the range does not run here, lanes.ErrStoreUnavailable while this node does not know who is
// there, ErrNoOtherNode, ErrTooManyDrained.
func (k *Keeper) DrainRange(id uuid.UUID) (to string, err error) {
	running := k.Ranges.Running()
	i := slices.IndexFunc(running, func(r Running) bool { return r.Range == id })
	if i < 0 {
		return "", lanes.ErrNotOwner
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	e, found := k.ranges[id]
	if !found || e.busy || e.record.Owner.Run != k.Self.Run {
		return "", lanes.ErrNotOwner
	}
	if !k.lease.mayClaim(time.Now(), k.TTL) {
		return "", lanes.ErrStoreUnavailable
	}
	others := slices.DeleteFunc(candidates(k.lease.all), func(n store.Node) bool { return n.Run == k.Self.Run })
	if len(others) == 0 {
		return "", ErrNoOtherNode
	}
	again := func(d store.Drained) bool { return d.Range == id }
	drained := slices.DeleteFunc(slices.Clone(k.lease.drained), again)
	if len(drained) >= maxDrained {
		return "", ErrTooManyDrained
	}
	k.lease.drained = append(drained, store.Drained{Range: id, Epoch: running[i].Epoch})
	to = best(others, drainsOf(k.lease.all), id).Name
	k.Log.Info().Stringer("range_id", id).Str("to", to).Msg("this node drains the range: another one takes it")
	signal(k.renewNow)
	return to, nil
}

// Pause is the first step of a stop: the others learn that this node drains, and its ranges go on until Stop.
func (k *Keeper) Pause() {
	k.mu.Lock()
	k.paused = true
	k.mu.Unlock()
	k.Drain()
}

// Stop stops and releases every range, and ends the lease. It ends when ctx does, at the latest; what was not
// released then is taken over by the others a TTL later.
func (k *Keeper) Stop(ctx context.Context) error {
	if k.stopWork == nil { // it was never started
		return nil
	}
	k.Pause()
	k.stopWork()
	k.working.Wait()
	// Their context has ended: what starts is released, what stops is saved.
	if err := await(ctx, &k.tasks); err != nil {
		k.stopRenewing() // the lease runs out, and the others take what is left
		k.renewing.Wait()
		return fmt.Errorf("ranges are being started or stopped: %w", err)
	}
	var errs []error
	var mu sync.Mutex
	var stopping sync.WaitGroup
	for _, r := range k.Ranges.Running() { // all at once: each may wait some seconds for deliveries under way
		stopping.Go(func() {
			if err := k.giveUp(ctx, r, drained); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	stopping.Wait()
	k.stopRenewing()
	k.renewing.Wait()
	return errors.Join(append(errs, k.Store.End(ctx, k.Self.Run))...)
}

// Ready returns an error until this node has its lease, or runs ranges through an outage of the store, knows
// who owns what, and has started all that it has claimed.
func (k *Keeper) Ready() error {
	running := len(k.Ranges.Running())
	k.mu.RLock()
	defer k.mu.RUnlock()
	if !k.lease.held && running == 0 {
		return errors.New("not ready: this node does not hold its lease")
	}
	if !k.decided {
		return errors.New("not ready: it is not known yet who owns the ranges")
	}
	for id, e := range k.ranges {
		switch {
		case !e.configured:
		case e.busy && e.record.Owner.Run == k.Self.Run && e.releasedAt.IsZero():
			return fmt.Errorf("not ready: range %s is being started", id)
		}
	}
	return nil
}

// await waits until the goroutines have ended, or ctx ends.
func await(ctx context.Context, goroutines *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		goroutines.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *Keeper) wakeUp() { signal(k.wake) }

// signal never blocks: one signal that waits is enough.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// workUntil is the loop. It wakes with each renewal, with what others announce, and when a range has started
// or stopped.
func (k *Keeper) workUntil(ctx context.Context) {
	changes := k.Store.Watch(ctx)
	for {
		select {
		case <-k.wake:
		case change, open := <-changes:
			if !open {
				changes = nil
				continue
			}
			k.heard(ctx, change, changes)
		case <-ctx.Done():
			return
		}
		k.step(ctx)
	}
}

// heard notes what another node has announced, and what follows at once: a node that stops announces all its
// ranges.
func (k *Keeper) heard(ctx context.Context, change store.Ownership, more <-chan store.Ownership) {
	for open := true; open; {
		k.note(change)
		select {
		case change, open = <-more:
		case <-time.After(heardPause):
			return
		case <-ctx.Done():
			return
		}
	}
}

// note takes over what is said of the owner of a range, unless it is of before.
func (k *Keeper) note(o store.Ownership) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, found := k.ranges[o.Range]; found && o.Epoch >= e.record.Epoch {
		e.learn(o)
	}
}

// learn notes what the store says of the owner.
func (e *entry) learn(record store.Ownership) {
	if e.recordChangedAt.IsZero() || record != e.record {
		e.record, e.recordChangedAt, e.dead = record, time.Now(), false
	}
}

func (k *Keeper) step(ctx context.Context) {
	k.sweep(ctx)
	v, ready := k.view()
	if !ready || ctx.Err() != nil {
		return
	}
	p := decide(v)
	for _, id := range p.letGo {
		k.Ranges.Drop(id)
		k.Metrics.changes.WithLabelValues(lost).Inc()
		k.noteChange(id, lost)
		owner := k.known(id)
		k.Log.Warn().Stringer("range_id", id).Uint64("epoch", owner.Epoch).Str("owner", owner.Owner.Name).
			Msg("another node has claimed the range: this one lets go of it")
	}
	k.setOwners(ctx, p.name, k.Self)
	k.setOwners(ctx, p.disown, store.Node{})
	k.claim(ctx, v.server, p.claim)
	for _, id := range p.release {
		k.release(ctx, id)
	}
	k.mu.Lock()
	k.decided = k.decided || v.mayClaim
	k.mu.Unlock()
}

// sweep reads who owns the ranges, once a TTL: what was not heard is known then.
func (k *Keeper) sweep(ctx context.Context) {
	k.mu.Lock()
	due := k.sweptAt.IsZero() || time.Since(k.sweptAt) >= k.TTL
	var ids []uuid.UUID
	if due {
		for id, e := range k.ranges {
			switch {
			case e.configured || e.record.Owner.Run == k.Self.Run:
				ids = append(ids, id)
			case !e.busy:
				delete(k.ranges, id)
			}
		}
	}
	k.mu.Unlock()
	if !due {
		return
	}
	limited, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	owners, err := k.Store.Owners(limited, ids)
	if err != nil {
		if ctx.Err() == nil {
			k.Log.Warn().Err(err).
				Msg("who owns the ranges could not be read; what is known goes on, and it is tried again")
		}
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, o := range owners {
		if e := k.ranges[o.Range]; !e.busy { // while it starts or stops, this node knows better
			e.learn(o)
		}
	}
	k.sweptAt = time.Now()
}

// view returns what this node knows. ready is false while nothing is to be decided.
func (k *Keeper) view() (v view, ready bool) {
	// A start or a stop may end while it is read what runs, which may be of before then: the range counts as
	// busy, and the end of the start or stop wakes the loop again.
	busy := k.busyRanges()
	running := map[uuid.UUID]Running{}
	for _, r := range k.Ranges.Running() {
		running[r.Range] = r
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	v = view{
		self: k.Self.Run, ttl: k.TTL, leases: k.lease.all, server: k.lease.server,
		mayClaim: k.lease.mayClaim(now, k.TTL), mayTakeOver: k.lease.mayTakeOver(now, k.TTL),
		settled: now.Sub(k.lease.nodesSameAt) >= settleTTLs*k.TTL && k.lease.heldFor(now, k.TTL) >= settleTTLs*k.TTL,
	}
	unownedRanges := 0
	for id, e := range k.ranges {
		if e.recordChangedAt.IsZero() {
			continue
		}
		// The owner held a lease when it claimed the range: it is dead if it has none in an answer to a later
		// question.
		owned := e.record.Owner.Run != uuid.Nil
		e.dead = owned && !k.lease.isLive(e.record.Owner.Run) && k.lease.askedAt.After(e.recordChangedAt)
		switch alive := owned && !e.dead; {
		case !alive && e.unownedSince.IsZero():
			e.unownedSince = now
		case alive && !e.busy: // until it has started, or has stopped and is released, nobody serves it
			e.unownedSince, e.releasedAt = time.Time{}, time.Time{}
		}
		if e.configured && !e.unownedSince.IsZero() {
			unownedRanges++
		}
		if !e.releasedAt.IsZero() && now.Sub(e.releasedAt) < forgottenTTL*k.TTL {
			v.moving++
		}
		here, found := running[id]
		r := rangeView{
			Ownership: e.record, ownerDead: e.dead, here: found, epoch: here.Epoch, inUse: here.InUse,
			busy:  e.busy || busy[id],
			waits: !e.configured || now.Before(e.retryAt), moved: now.Before(e.moveAfter),
		}
		if !e.unownedSince.IsZero() {
			r.unowned = now.Sub(e.unownedSince)
		}
		v.ranges = append(v.ranges, r)
	}
	k.Metrics.unowned.Set(float64(unownedRanges))
	return v, !k.paused
}

// busyRanges are those that start or stop here.
func (k *Keeper) busyRanges() map[uuid.UUID]bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	busy := map[uuid.UUID]bool{}
	for id, e := range k.ranges {
		if e.busy {
			busy[id] = true
		}
	}
	return busy
}

// claim claims the ranges together on that server, and starts those that it has got, the ones with most running
// sessions first.
func (k *Keeper) claim(ctx context.Context, server string, claims []claim) {
	if len(claims) == 0 {
		return
	}
	reasons := map[uuid.UUID]string{}
	expected := make([]store.Ownership, len(claims))
	for i, c := range claims {
		expected[i], reasons[c.Range] = c.Ownership, c.reason
	}
	limited, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	var claimed []store.Claimed
	var announced []store.Ownership
	outcomes := k.Store.Claim(limited, store.Claimant{Node: k.Self, Now: time.Now(), Server: server}, expected)
	slices.SortStableFunc(outcomes, func(a, b store.Claimed) int { return b.Running - a.Running })
	k.mu.Lock()
	for _, o := range outcomes {
		e := k.ranges[o.Range]
		switch {
		case errors.Is(o.Err, store.ErrAnotherServer):
			// The next renewal finds that server too, or not yet: its connection may be with the one of before.
			e.retryAt = time.Now().Add(k.TTL / renewals)
			k.Log.Warn().Err(o.Err).Msg("a range is not claimed")
			signal(k.renewNow)
		case o.Err != nil: // the next sweep says what came of it
			k.sweptAt = time.Time{}
			e.retryAt = time.Now().Add(k.TTL)
			k.Log.Error().Err(o.Err).Msg("a range could not be claimed; it is tried again")
		case o.Taken:
			e.learn(o.Ownership)
		default:
			e.learn(o.Ownership)
			e.busy = true
			claimed, announced = append(claimed, o), append(announced, o.Ownership)
		}
	}
	k.mu.Unlock()
	if len(claimed) == 0 {
		return
	}
	k.announce(limited, announced)
	k.tasks.Go(func() {
		for _, o := range claimed {
			if k.slots.Acquire(ctx, 1) != nil {
				k.started(o, reasons[o.Range], ctx.Err())
				continue
			}
			k.tasks.Go(func() {
				defer k.slots.Release(1)
				limited, cancel := context.WithTimeout(ctx, startWithin)
				defer cancel()
				k.started(o, reasons[o.Range], k.start(limited, o.Ownership))
			})
		}
	})
}

var errNotConfigured = errors.New("the configuration does not have it any more")

// start starts a range that this node has claimed. The configuration may have changed since.
func (k *Keeper) start(ctx context.Context, o store.Ownership) error {
	k.mu.RLock()
	configured := k.ranges[o.Range].configured
	k.mu.RUnlock()
	if !configured {
		return errNotConfigured
	}
	return k.Ranges.Start(ctx, o.Range, o.Epoch)
}

// started notes what came of the start of a range. One that could not be started is for others to try.
func (k *Keeper) started(o store.Claimed, reason string, err error) {
	var since time.Time
	k.mu.Lock()
	e := k.ranges[o.Range]
	since = e.unownedSince
	e.busy, e.unownedSince = false, time.Time{}
	if err != nil {
		e.retryAt = time.Now().Add(retryTTLs * k.TTL)
	}
	k.mu.Unlock()
	if err != nil {
		k.Metrics.changes.WithLabelValues(failed).Inc()
		k.Log.Error().Err(err).Stringer("range_id", o.Range).Uint64("epoch", o.Epoch).
			Msg("a range was claimed and could not be started: it is released, and tried again later")
		ctx, cancel := context.WithTimeout(context.Background(), claimWithin)
		defer cancel()
		k.setOwner(ctx, o.Ownership, store.Node{})
	} else {
		line := k.Log.Info().Stringer("range_id", o.Range).Uint64("epoch", o.Epoch).Str("reason", reason).
			Int("running_sessions", o.Running)
		k.Metrics.changes.WithLabelValues(reason).Inc()
		k.noteChange(o.Range, reason)
		if !since.IsZero() {
			k.Metrics.takeOver.Observe(time.Since(since).Seconds())
			line = line.Dur("unowned", time.Since(since))
		}
		line.Msg("this node serves the range")
	}
	k.wakeUp()
}

// release gives a range to the node that is to own it.
func (k *Keeper) release(ctx context.Context, id uuid.UUID) {
	running := k.Ranges.Running()
	i := slices.IndexFunc(running, func(r Running) bool { return r.Range == id })
	if i < 0 {
		return
	}
	r, now := running[i], time.Now()
	k.mu.Lock()
	e := k.ranges[id]
	e.busy, e.releasedAt, e.moveAfter = true, now, now.Add(moveAgain)
	reason := moved
	isDrained := func(d store.Drained) bool { return d.Range == id }
	if k.lease.draining || slices.ContainsFunc(k.lease.drained, isDrained) {
		reason = drained
	}
	k.mu.Unlock()
	k.tasks.Go(func() {
		if k.slots.Acquire(ctx, 1) == nil {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
			_ = k.giveUp(limited, r, reason) // it logs its error
			cancel()
			k.slots.Release(1)
		}
		k.mu.Lock()
		e.busy = false
		k.mu.Unlock()
		k.wakeUp()
	})
}

// giveUp stops a range, and releases it once all is saved. One that is not released stays this run's: it
// takes it again, or its lease ends.
func (k *Keeper) giveUp(ctx context.Context, r Running, reason string) error {
	release, err := k.Ranges.Stop(ctx, r.Range)
	k.Metrics.changes.WithLabelValues(reason).Inc()
	if err == nil {
		err = release(ctx)
	}
	if err != nil {
		k.Log.Error().Err(err).Stringer("range_id", r.Range).Uint64("epoch", r.Epoch).Str("reason", reason).
			Msg("the range was stopped and is not known to be saved: it is not released")
		return fmt.Errorf("range %s: %w", r.Range, err)
	}
	k.Log.Info().Stringer("range_id", r.Range).Uint64("epoch", r.Epoch).Str("reason", reason).
		Msg("this node releases the range")
	k.released(ctx, store.Ownership{Range: r.Range, Epoch: r.Epoch}, release)
	return nil
}

// released tells the others that nobody owns a range any more, and sees to it that it stays so: a fail-over may have
// undone the release, with what was saved before it, and only this node knows that. A renewal that was asked after the
// release goes to the server that has the leases now. What that one says of the owner counts.
func (k *Keeper) released(ctx context.Context, free store.Ownership, release func(context.Context) error) {
	for first := true; ; first = false {
		released := time.Now()
		k.note(free)
		k.announce(ctx, []store.Ownership{free})
		if first { // the others wait for the next one that is due
			signal(k.renewNow)
		}
		current, err := k.ownerSince(ctx, free.Range, released)
		if err == nil && (current.Epoch > free.Epoch || current == free) {
			k.note(current)
			return
		}
		if err == nil {
			k.Log.Warn().Stringer("range_id", free.Range).Uint64("epoch", free.Epoch).
				Msg("a fail-over has undone the release of a range: it is saved and released again")
			err = release(ctx)
		}
		if err != nil {
			k.Log.Error().Err(err).Stringer("range_id", free.Range).Uint64("epoch", free.Epoch).
				Msg("the range is released, and it is not known whether a fail-over has undone that: what was saved " +
					"last may be lost")
			return
		}
	}
}

// ownerSince reads who owns a range from the server that has answered a renewal which was asked after that time.
func (k *Keeper) ownerSince(ctx context.Context, id uuid.UUID, asked time.Time) (store.Ownership, error) {
	for {
		k.mu.RLock()
		isRenewed, next := k.lease.held && k.lease.askedAt.After(asked), k.renewed
		k.mu.RUnlock()
		if isRenewed {
			if owners, err := k.Store.Owners(ctx, []uuid.UUID{id}); err == nil {
				return owners[0], nil
			}
		}
		select {
		case <-next:
		case <-k.noMoreRenewals:
			return store.Ownership{}, errors.New("the lease is not renewed any more")
		case <-ctx.Done():
			return store.Ownership{}, context.Cause(ctx)
		}
	}
}

func (k *Keeper) setOwners(ctx context.Context, ranges []uuid.UUID, to store.Node) {
	limited, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	var setting sync.WaitGroup
	for _, id := range ranges {
		setting.Go(func() { k.setOwner(limited, k.known(id), to) })
	}
	setting.Wait()
}

// setOwner names the owner of a range, or nobody, and tells the others.
func (k *Keeper) setOwner(ctx context.Context, from store.Ownership, to store.Node) {
	current, changed, err := k.Store.SetOwner(ctx, from, to)
	if err != nil {
		k.Log.Warn().Err(err).Msg("the owner of a range could not be changed; it is tried again")
		return
	}
	k.mu.Lock()
	if e, found := k.ranges[from.Range]; found {
		e.learn(current)
	}
	k.mu.Unlock()
	if changed {
		k.announce(ctx, []store.Ownership{current})
	}
}

// known is what this node knows of a range's owner.
func (k *Keeper) known(id uuid.UUID) store.Ownership {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.ranges[id].record
}

func (k *Keeper) announce(ctx context.Context, changed []store.Ownership) {
	if err := k.Store.Announce(ctx, changed); err != nil {
		k.Log.Warn().Err(err).Msg("the other nodes were not told who owns ranges now; they read it within a TTL")
	}
}
