package control

import (
	"bytes"
	"cmp"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/api/screens"
)

// Attempts has what is known of the attempts to sign in: the metric, the wrong PINs by name, and those of the
// last day by range. It outlives a reload of the configuration. Its methods are safe for concurrent use.
type Attempts struct {
	signIns  *prometheus.CounterVec
	names    *backoff[member]
	networks *screens.AttemptLimiter[netip.Prefix]
	devices  *backoff[userBrowser]
	recorded *screens.AttemptLimiter[member]
	// ceasefires are those that are begun by users' devices before a sign-in.
	ceasefires *screens.AttemptLimiter[userBrowser]

	mu      sync.Mutex
	staff   map[uuid.UUID]RangeStaff      // by configured range
	refused map[uuid.UUID]*refusedSignIns // of configured ranges
}

// maxCeasefires is the number of ceasefires a minute that a user's device begins before a sign-in.
const maxCeasefires = 5

// maxRecorded is the number of sign-ins and sign-outs of a user that are recorded a minute.
const maxRecorded = 30

// The results of an attempt, as the metric's label names them.
const (
	signedIn   = "ok"
	wrongPIN   = "wrong"
	limitedPIN = "limited"
	failedPIN  = "failed" // not compared: too many wait, or the client has gone
)

// NewAttempts registers the metric. It panics if the registry has it already.
func NewAttempts(registry prometheus.Registerer) *Attempts {
	a := &Attempts{
		signIns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "staff_sign_ins_total",
			Help: "Attempts to sign in at the control screen by result: ok, wrong (name or PIN), limited (refused for the wrong ones " +
				"before, 429), failed (too many at a time, or the browser has gone). Many wrong and limited ones: somebody guesses PINs.",
		}, []string{"result"}),
		names:    newBackoff[member](maxWait),
		networks: screens.NewAttemptLimiter[netip.Prefix](maxWrongPINs),
		devices:  newBackoff[userBrowser](maxDeviceWait),
		recorded: screens.NewAttemptLimiter[member](maxRecorded),
		refused:  map[uuid.UUID]*refusedSignIns{},

		ceasefires: screens.NewAttemptLimiter[userBrowser](maxCeasefires),
	}
	registry.MustRegister(a.signIns)
	// So that increase() sees the first one.
	for _, result := range []string{signedIn, wrongPIN, limitedPIN, failedPIN} {
		a.signIns.WithLabelValues(result)
	}
	return a
}

// SetFailures sets how many wrong credentials a minute a client's network may send. PINs are short: of them
// it is never more than maxWrongPINs. 0 is no other limit.
func (a *Attempts) SetFailures(perMinute int) {
	a.networks.SetPerMinute(screens.AtMost(maxWrongPINs, perMinute))
}

// configure sets the ranges whose refused sign-ins are counted, and whose staff may be unlocked.
func (a *Attempts) configure(ranges map[uuid.UUID]RangeStaff) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.refused
	a.staff = ranges
	a.refused = make(map[uuid.UUID]*refusedSignIns, len(ranges))
	for id := range ranges {
		a.refused[id] = cmp.Or(before[id], &refusedSignIns{})
	}
}

// Unlock forgets the wrong PINs of one of the staff, in every browser: the next right one signs in, unless the network
// that it comes from has sent five wrong ones in the last minute. waited is true if a new browser, or one of the user's
// devices, had to wait. found is false for a name that the range's staff do not have.
func (a *Attempts) Unlock(rangeID uuid.UUID, name string) (waited, found bool) {
	a.mu.Lock()
	_, found = a.staff[rangeID].Members[name]
	a.mu.Unlock()
	if !found {
		return false, false
	}
	m := member{rangeID, name}
	inNew := a.names.forget(func(of member) bool { return of == m })
	onDevices := a.devices.forget(func(of userBrowser) bool { return of.member == m })
	return inNew || onDevices, true
}

// count counts an attempt with its error, which is nil for a sign-in.
func (a *Attempts) count(rangeID uuid.UUID, err error) {
	result := failedPIN
	switch {
	case err == nil:
		result = signedIn
	case errors.Is(err, errWrong):
		result = wrongPIN
	case isTooMany(err):
		result = limitedPIN
	}
	a.signIns.WithLabelValues(result).Inc()
	if result != wrongPIN && result != limitedPIN {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if of := a.refused[rangeID]; of != nil {
		of.add(time.Now())
	}
}

// mayRecord is false for a user of whom very much was recorded lately.
func (a *Attempts) mayRecord(m member) bool {
	_, ok := a.recorded.Reserve(m)
	return ok
}

// refusedLately returns how many sign-ins at the range were wrong or limited in the last 24 hours, and when
// the last one was.
func (a *Attempts) refusedLately(rangeID uuid.UUID) (count int, last time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.refused[rangeID]
	if of == nil {
		return 0, time.Time{}
	}
	return of.lately(time.Now()), of.last
}

// refusedSignIns counts by the hour, for a day.
type refusedSignIns struct {
	byHour [24]int
	hour   int64 // of last, in hours since 1970
	last   time.Time
}

// forward empties the hours between the last attempt and now.
func (r *refusedSignIns) forward(now time.Time) {
	hour := now.Unix() / 3600
	for i := range min(max(hour-r.hour, 0), int64(len(r.byHour))) {
		r.byHour[(hour-i)%int64(len(r.byHour))] = 0
	}
	r.hour = hour
}

func (r *refusedSignIns) add(now time.Time) {
	r.forward(now)
	r.byHour[r.hour%int64(len(r.byHour))]++
	r.last = now
}

func (r *refusedSignIns) lately(now time.Time) (count int) {
	r.forward(now)
	for _, n := range r.byHour {
		count += n
	}
	return count
}

// backoff limits wrong PINs by key, a name or a device: after the first freeAttempts, each has to wait for
// twice as long as the one before. Names that nobody has are limited alike. Only the names of staff are kept
// for certain: of other names and of devices, of which there may be any number, the oldest are dropped.
type backoff[K comparable] struct {
	longest time.Duration // that anybody waits

	mu                    sync.Mutex
	staff, recent, former map[K]*wrongAttempts
}

type wrongAttempts struct {
	count int
	last  time.Time
}

const (
	freeAttempts = 5
	firstWait    = 30 * time.Second
	maxWait      = time.Hour
	// maxDeviceWait is that of a user's device, in which a right PIN was given before: whoever fumbles at the
	// counter's tablet does not keep its user from it for long.
	maxDeviceWait = 5 * time.Minute
	forgetAfter   = 24 * time.Hour // without a wrong PIN
	// maxDroppable is the maximum number of keys in recent, and in former.
	maxDroppable = 5000
)

func newBackoff[K comparable](longest time.Duration) *backoff[K] {
	return &backoff[K]{longest: longest, staff: map[K]*wrongAttempts{}, recent: map[K]*wrongAttempts{}}
}

// left is the time until the next attempt.
func (b *backoff[K]) left(w *wrongAttempts, now time.Time) time.Duration {
	if w.count < freeAttempts {
		return 0
	}
	doubled := min(w.count-freeAttempts, 16) // far beyond maxWait
	return max(0, min(firstWait<<doubled, b.longest)-now.Sub(w.last))
}

// reserve counts an attempt as wrong, before it is known whether it is. If it is too early, it returns the
// time until the next. isStaff is true for the name of one of the staff.
func (b *backoff[K]) reserve(key K, isStaff bool) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, now := b.attemptsOf(key, isStaff), time.Now()
	if now.Sub(w.last) > forgetAfter {
		w.count = 0
	}
	if left := b.left(w, now); left > 0 {
		return left, false
	}
	w.count, w.last = w.count+1, now
	return 0, true
}

// refund takes back an attempt that was not compared.
func (b *backoff[K]) refund(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, keys := range b.all() {
		if w := keys[key]; w != nil {
			w.count = max(0, w.count-1)
			return
		}
	}
}

// forget forgets the wrong attempts of whoever matches. waited is true if somebody had to wait.
func (b *backoff[K]) forget(matches func(K) bool) (waited bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, keys := range b.all() {
		for key, w := range keys {
			if matches(key) {
				waited = waited || b.left(w, now) > 0
				delete(keys, key)
			}
		}
	}
	return waited
}

// succeeded forgets the wrong attempts of a key with a right one.
func (b *backoff[K]) succeeded(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, keys := range b.all() {
		delete(keys, key)
	}
}

// all returns the keys with wrong attempts, in all of their maps. The caller holds mu.
func (b *backoff[K]) all() []map[K]*wrongAttempts {
	return []map[K]*wrongAttempts{b.staff, b.recent, b.former}
}

// attemptsOf returns the attempts of a key. The caller holds mu.
func (b *backoff[K]) attemptsOf(key K, isStaff bool) *wrongAttempts {
	if isStaff {
		if b.staff[key] == nil {
			b.staff[key] = &wrongAttempts{}
		}
		return b.staff[key]
	}
	if w := b.recent[key]; w != nil {
		return w
	}
	w := cmp.Or(b.former[key], &wrongAttempts{})
	if len(b.recent) >= maxDroppable {
		b.recent, b.former = map[K]*wrongAttempts{}, b.recent
	}
	b.recent[key] = w
	return w
}

func compareMembers(a, b member) int {
	return cmp.Or(bytes.Compare(a.rangeID[:], b.rangeID[:]), cmp.Compare(a.name, b.name))
}
