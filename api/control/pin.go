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
	// maxWrongPINs is the number of wrong PINs a minute for a client's network.
	maxWrongPINs = 5
)

// signInLimiter checks PINs and limits wrong ones. A browser in which the user has not signed in before is
// limited together with all others: by its network, by the name, and by the queue for comparisons. A device
// of the user shares none of that.
type signInLimiter struct {
	staff     map[member]Member
	dummies   map[uuid.UUID][]string // of each range, and with uuid.Nil of all: see dummyHash
	seed      maphash.Seed           // chooses among them
	byNetwork *screens.AttemptLimiter[netip.Prefix]
	byName    *backoff[member]
	byDevice  *backoff[userBrowser]

	waiting     screens.Slots
	comparisons chan struct{}

	deviceWaiting     map[uuid.UUID]screens.Slots
	deviceComparisons chan struct{}

	mu        sync.Mutex
	comparing map[userBrowser]bool // known devices whose PIN is being compared, or waits for that
}

// userBrowser is what a user signs in from: one of the user's devices, or any other browser.
type userBrowser struct {
	member
	device // zero: any other
}

func newSignInLimiter(staff map[member]Member, attempts *Attempts) *signInLimiter {
	l := &signInLimiter{
		staff: staff, dummies: map[uuid.UUID][]string{}, seed: maphash.MakeSeed(),
		byNetwork: attempts.networks, byName: attempts.names, byDevice: attempts.devices,
		waiting: make(screens.Slots, maxWaiting), comparisons: make(chan struct{}, maxComparisons),
		deviceWaiting: map[uuid.UUID]screens.Slots{}, deviceComparisons: make(chan struct{}, maxDeviceComparisons),
		comparing: map[userBrowser]bool{},
	}
	for _, m := range slices.SortedFunc(maps.Keys(staff), compareMembers) {
		dummy := dummyOf(staff[m].PINHash)
		l.dummies[m.rangeID] = append(l.dummies[m.rangeID], dummy)
		l.dummies[uuid.Nil] = append(l.dummies[uuid.Nil], dummy)
		l.deviceWaiting[m.rangeID] = make(screens.Slots, maxDeviceWaiting)
	}
	return l
}

// errWrong is the refusal of a wrong PIN, and of an unknown name.
var errWrong = endpoint.Refuse("unauthorized", "the range, the name or the PIN is wrong", 0)

// check returns nil if that is the PIN of that name. An unknown name gets the same refusal as a wrong PIN,
// after the same time: errWrong. Beyond the limit the PIN is not compared, so that a right one reveals
// nothing either. check blocks while other PINs are compared, until ctx ends.
func (l *signInLimiter) check(ctx context.Context, b userBrowser, pin string, from netip.Prefix) error {
	if b.device != (device{}) {
		return l.checkDevice(ctx, b, pin)
	}
	if !l.waiting.TryAcquire() {
		return screens.Overloaded("sign-ins wait")
	}
	defer l.waiting.Release()
	configured, isStaff := l.staff[b.member]
	if wait, ok := l.byNetwork.Reserve(from); !ok {
		return screens.TooManyAttempts(wait)
	}
	if wait, ok := l.byName.reserve(b.member, isStaff); !ok {
		return screens.TooManyAttempts(wait)
	}
	hash := configured.PINHash
	if !isStaff {
		hash = l.dummyHash(b.member)
	}
	match, err := compare(ctx, l.comparisons, pin, hash)
	if err != nil {
		l.byName.refund(b.member)
		return err
	}
	if !match || !isStaff {
		return errWrong
	}
	l.byNetwork.Refund(from)
	l.byName.succeeded(b.member)
	return nil
}

// checkDevice is check for a device of the user.
func (l *signInLimiter) checkDevice(ctx context.Context, b userBrowser, pin string) error {
	if !l.beginComparing(b) {
		return screens.TooManyAttempts(time.Second)
	}
	defer l.endComparing(b)
	waiting := l.deviceWaiting[b.rangeID]
	if !waiting.TryAcquire() {
		return screens.Overloaded("sign-ins of this range wait")
	}
	defer waiting.Release()
	if wait, ok := l.byDevice.reserve(b, false); !ok {
		return screens.TooManyAttempts(wait)
	}
	match, err := compare(ctx, l.deviceComparisons, pin, l.staff[b.member].PINHash)
	switch {
	case err != nil:
		l.byDevice.refund(b)
		return err
	case !match:
		return errWrong
	}
	l.byDevice.succeeded(b)
	return nil
}

// beginComparing is false while another PIN from the device is compared: one device has one slot.
func (l *signInLimiter) beginComparing(b userBrowser) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.comparing[b] {
		return false
	}
	l.comparing[b] = true
	return true
}

func (l *signInLimiter) endComparing(b userBrowser) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.comparing, b)
}

// compare is true if the hash is of the PIN. It blocks while other PINs are compared, until ctx ends.
func compare(ctx context.Context, slots chan struct{}, pin, hash string) (bool, error) {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	match, err := argon2id.ComparePasswordAndHash(pin, hash)
	return match && err == nil, nil
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
		params.Memory, params.Iterations, params.Parallelism, encode(make([]byte, len(salt))), encode(make([]byte, len(key))))
}
