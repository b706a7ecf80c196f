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

// Attempts has what is known of the attempts to sign in: the metric, the limits of wrong PINs, the PINs that are being
// compared, and how many were refused by range. It outlives a reload of the configuration. Its methods are safe for
// concurrent use.
type Attempts struct {
	signIns *prometheus.CounterVec
	queue   *pinQueue

	// Wrong PINs: by name in all browsers but users' devices, by the network of such a browser, and by device.
	names    *screens.AttemptLimiter[userBrowser]
	networks *screens.AttemptLimiter[netip.Prefix]
	devices  *screens.AttemptLimiter[userBrowser]
	// recorded are acts of signing in and out, ceasefires those that are begun by users' devices before a sign-in.
	recorded   *screens.AttemptLimiter[member]
	ceasefires *screens.AttemptLimiter[userBrowser]

	mu      sync.Mutex
	ranges  map[uuid.UUID]RangeStaff      // the configured ones
	refused map[uuid.UUID]*refusedSignIns // of configured ranges
}

const (
	// maxWrongPINs is the number of wrong PINs a minute for a client's network.
	maxWrongPINs = 5
	// freeAttempts is the number of wrong PINs for a name, or on a device, before each has to wait for twice as long as
	// the one before.
	freeAttempts = 5
	firstWait    = 30 * time.Second
	maxWait      = time.Hour
	// maxDeviceWait is that of a user's device, in which a right PIN was given before: whoever fumbles at the
	// counter's tablet does not keep its user from it for long.
	maxDeviceWait = 5 * time.Minute
	forgetAfter   = 24 * time.Hour // without a wrong PIN
	// maxCeasefires is the number of ceasefires a minute that a user's device begins before a sign-in.
	maxCeasefires = 5
	// maxRecorded is the number of sign-ins and sign-outs of a user that are recorded a minute.
	maxRecorded = 30
)

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
			Help: "Attempts to sign in at the control screen by result: ok, wrong (name or PIN), limited (refused " +
				"for the wrong ones before, 429), failed (too many at a time, or the browser has gone). Many wrong " +
				"and limited ones: somebody guesses PINs.",
		}, []string{"result"}),
		queue: newPINQueue(),
		names: screens.NewAttemptLimiter[userBrowser](screens.Backoff(freeAttempts, firstWait,
			maxWait, forgetAfter)),
		networks: screens.NewAttemptLimiter[netip.Prefix](screens.PerMinute(maxWrongPINs)),
		devices: screens.NewAttemptLimiter[userBrowser](
			screens.Backoff(freeAttempts, firstWait, maxDeviceWait, forgetAfter),
		),
		recorded:   screens.NewAttemptLimiter[member](screens.PerMinute(maxRecorded)),
		ceasefires: screens.NewAttemptLimiter[userBrowser](screens.PerMinute(maxCeasefires)),
		refused:    map[uuid.UUID]*refusedSignIns{},
	}
	a.names.Keep = func(b userBrowser) bool { return a.isStaff(b.member) } // of other names there may be any number
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
	a.networks.SetRule(screens.PerMinute(screens.AtMost(maxWrongPINs, perMinute)))
}

// configure sets the ranges whose refused sign-ins are counted, and whose staff may be unlocked.
func (a *Attempts) configure(ranges map[uuid.UUID]RangeStaff) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.refused
	a.ranges = ranges
	a.refused = make(map[uuid.UUID]*refusedSignIns, len(ranges))
	for id := range ranges {
		a.refused[id] = cmp.Or(before[id], &refusedSignIns{})
	}
}

// isStaff is true for the name of one of a range's staff.
func (a *Attempts) isStaff(m member) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, found := a.ranges[m.rangeID].Members[m.name]
	return found
}

// Unlock forgets the wrong PINs of one of the staff, in every browser: the next right one signs in, unless the network
// that it comes from has sent five wrong ones in the last minute. waited is true if a new browser, or one of the user's
// devices, had to wait. found is false for a name that the range's staff do not have.
func (a *Attempts) Unlock(rangeID uuid.UUID, name string) (waited, found bool) {
	m := member{rangeID, name}
	if !a.isStaff(m) {
		return false, false
	}
	isTheirs := func(b userBrowser) bool { return b.member == m }
	inNew, onDevices := a.names.Forget(isTheirs), a.devices.Forget(isTheirs)
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

func compareMembers(a, b member) int {
	return cmp.Or(bytes.Compare(a.rangeID[:], b.rangeID[:]), cmp.Compare(a.name, b.name))
}
