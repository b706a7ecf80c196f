package control

import (
	"context"
	"encoding/base64"
	"fmt"
	"hash/maphash"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
)

// pinHashing is the cost of hashing a PIN: 19 MiB and about 30 ms, as OWASP recommends. A PIN has few digits,
// so the limit on wrong PINs protects the PIN; the cost protects the configuration file.
var pinHashing = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// HashPIN returns the hash of a PIN for the configuration (pin_hash). It takes about 30 ms.
func HashPIN(pin string) (string, error) { return argon2id.CreateHash(pin, &pinHashing) }

const (
	// maxComparisons is the number of parallel PIN comparisons for browsers in which the user has not signed
	// in before; it bounds their memory. Users' own devices have maxDeviceComparisons beside them.
	maxComparisons       = 2
	maxDeviceComparisons = 1
	// maxWaiting is the number of comparisons for unknown browsers, of all ranges, that run or wait: half a
	// second of work. maxDeviceWaiting is that of a range's known devices.
	maxWaiting       = 32
	maxDeviceWaiting = 4
)

// userBrowser is what a user signs in from: one of the user's devices, or any other browser.
type userBrowser struct {
	member
	device // zero: any other
}

// isDevice is true for a browser in which the user has signed in before.
func (b userBrowser) isDevice() bool { return b.device != device{} }

// pinQueue is where sign-ins wait until their PIN is compared. Users' devices have places and a slot of their own.
type pinQueue struct {
	slots, deviceSlots screens.Slots

	mu    sync.Mutex
	taken map[place]int // by sign-ins that wait, or whose PIN is being compared
}

// place is what places in the queue are counted by: a device, the devices of a range, or, zero, all other browsers.
type place struct {
	device  userBrowser
	rangeID uuid.UUID
}

func newPINQueue() *pinQueue {
	return &pinQueue{
		slots: make(screens.Slots, maxComparisons), deviceSlots: make(screens.Slots, maxDeviceComparisons),
		taken: map[place]int{},
	}
}

// enter takes a place, or refuses the sign-in. leave frees the place.
func (q *pinQueue) enter(b userBrowser) (leave func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	own, ofRange, others := place{device: b}, place{rangeID: b.rangeID}, place{}
	switch {
	case !b.isDevice() && q.taken[others] == maxWaiting:
		return nil, screens.Overloaded("sign-ins wait")
	case !b.isDevice():
		return q.take(others), nil
	case q.taken[own] == 1:
		return nil, screens.TooManyAttempts(time.Second)
	case q.taken[ofRange] == maxDeviceWaiting:
		return nil, screens.Overloaded("sign-ins of this range wait")
	}
	return q.take(own, ofRange), nil
}

// take takes one of each of those places. The caller holds the lock.
func (q *pinQueue) take(places ...place) (leave func()) {
	for _, p := range places {
		q.taken[p]++
	}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, p := range places {
			if q.taken[p]--; q.taken[p] == 0 {
				delete(q.taken, p)
			}
		}
	}
}

// compare is true if the hash is of the PIN. It blocks while other PINs are compared, until ctx ends.
func (q *pinQueue) compare(ctx context.Context, b userBrowser, pin, hash string) (bool, error) {
	slots := q.slots
	if b.isDevice() {
		slots = q.deviceSlots
	}
	select {
	case slots <- struct{}{}:
		defer slots.Release()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	match, err := argon2id.ComparePasswordAndHash(pin, hash)
	return match && err == nil, nil
}

// signInLimiter checks the PINs of the configured staff and limits wrong ones. A browser in which the user has not
// signed in before is limited together with all others: by its network, by the name, and by their places in the
// queue. A device of the user shares none of that.
type signInLimiter struct {
	*Attempts
	staff   map[member]Member
	dummies map[uuid.UUID][]string // of each range, and with uuid.Nil of all: see dummyHash
	seed    maphash.Seed           // chooses among them
}

func newSignInLimiter(staff map[member]Member, attempts *Attempts) *signInLimiter {
	l := &signInLimiter{Attempts: attempts, staff: staff, dummies: map[uuid.UUID][]string{}, seed: maphash.MakeSeed()}
	for _, m := range slices.SortedFunc(maps.Keys(staff), compareMembers) {
		dummy := dummyOf(staff[m].PINHash)
		l.dummies[m.rangeID] = append(l.dummies[m.rangeID], dummy)
		l.dummies[uuid.Nil] = append(l.dummies[uuid.Nil], dummy)
	}
	return l
}

// errWrong is the refusal of a wrong PIN, and of an unknown name.
var errWrong = endpoint.Refuse("unauthorized", "the range, the name or the PIN is wrong", 0)

// check returns nil if that is the PIN of that name. An unknown name gets the same refusal as a wrong PIN,
// after the same time: errWrong. Beyond the limit the PIN is not compared, so that a right one reveals
// nothing either. check blocks while other PINs are compared, until ctx ends.
func (l *signInLimiter) check(ctx context.Context, b userBrowser, pin string, from netip.Prefix) error {
	leave, err := l.queue.enter(b)
	if err != nil {
		return err
	}
	defer leave()
	wrong := l.devices
	if !b.isDevice() {
		wrong = l.names
		if wait, ok := l.networks.Reserve(from); !ok {
			return screens.TooManyAttempts(wait)
		}
	}
	if wait, ok := wrong.Reserve(b); !ok {
		return screens.TooManyAttempts(wait)
	}
	configured, isStaff := l.staff[b.member]
	hash := configured.PINHash
	if !isStaff {
		hash = l.dummyHash(b.member)
	}
	match, err := l.queue.compare(ctx, b, pin, hash)
	switch {
	case err != nil: // not compared: it counts for the network alone, which could fill the queue for nothing
		wrong.Refund(b)
		return err
	case !match || !isStaff:
		return errWrong
	}
	if !b.isDevice() {
		l.networks.Refund(from)
	}
	wrong.Forget(func(of userBrowser) bool { return of == b })
	return nil
}

// dummyHash returns what the PIN of an unknown name is compared with, so that the refusal takes as long as
// for a known one: a hash with the cost of somebody else's of the range, always the same for a name.
func (l *signInLimiter) dummyHash(m member) string {
	dummies := l.dummies[m.rangeID]
	if len(dummies) == 0 {
		dummies = l.dummies[uuid.Nil]
	}
	if len(dummies) == 0 {
		return dummyOf("")
	}
	return dummies[maphash.String(l.seed, m.rangeID.String()+m.name)%uint64(len(dummies))]
}

// dummyOf returns a hash of nothing with the cost of that one; of one that cannot be read, with the cost of pinHashing.
func dummyOf(hash string) string {
	params, salt, key, err := argon2id.DecodeHash(hash)
	if err != nil {
		params, salt, key = &pinHashing, make([]byte, pinHashing.SaltLength), make([]byte, pinHashing.KeyLength)
	}
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s",
		params.Memory, params.Iterations, params.Parallelism, encode(make([]byte, len(salt))),
		encode(make([]byte, len(key))))
}
