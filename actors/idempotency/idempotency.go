// Package idempotency keeps the idempotency keys of a range (WIRE.md, Requests): claimed before the command
// goes out, kept with the answer, repeated for the same request. It owns the table in memory, with the bodies
// of the newest answers; what is durable, and all bodies, is in the store. A range claims, the lane that
// answers keeps and settles, and the committer says what was saved and what is to be forgotten.
package idempotency

import (
	"context"
	"slices"
	"sync"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

const (
	// MaxKeys is how many keys a range keeps.
	MaxKeys = 100_000
	// Term is how long an answer is kept.
	Term = lanes.KeyTerm
)

// Keys are those of a range. Its methods may be called from any goroutine.
type Keys struct {
	mu      sync.Mutex
	table   map[string]*Claim
	kept    []*lanes.KeptAnswer // oldest first
	shed    int                 // of kept, how many have no body any more
	expired map[string]struct{} // names that the store may still have
	closed  chan struct{}
}

// Claim is one key in use. All methods of a nil Claim, of a request without a key, do nothing.
type Claim struct {
	keys     *Keys
	key      lanes.Key
	notSaved chan struct{}     // closed when it was answered as not saved
	settled  chan struct{}     // closed when it has ended
	answer   *lanes.KeptAnswer // set before settled is closed; nil: freed
}

// New are the keys whose answers were saved, which it takes over. Their bodies are in the store.
func New(saved []lanes.KeptAnswer) *Keys {
	slices.SortFunc(saved, func(a, b lanes.KeptAnswer) int { return a.At.Compare(b.At) })
	k := &Keys{
		table: make(map[string]*Claim, len(saved)), shed: len(saved), expired: map[string]struct{}{},
		closed: make(chan struct{}),
	}
	done := make(chan struct{})
	close(done)
	for i := range saved {
		key := lanes.Key{Name: saved[i].Name, Fingerprint: saved[i].Fingerprint}
		k.kept = append(k.kept, &saved[i])
		k.table[key.Name] = &Claim{keys: k, key: key, settled: done, answer: &saved[i]}
	}
	return k
}

// Claim takes the key for a request. The body of an answer that was saved some time ago is InStore. While
// another request has it, it waits for that one's end, and claims the key if that was refused. Errors:
// *lanes.Repeat with the answer that is kept, lanes.ErrKeyReused for another request, lanes.ErrNotSaved while
// the first is in force and not durable, lanes.ErrKeysFull, lanes.ErrTimeout when ctx ends or after Close.
func (k *Keys) Claim(ctx context.Context, key lanes.Key) (*Claim, error) {
	for {
		mine, other, err := k.tryClaim(key)
		if mine != nil || err != nil {
			return mine, err
		}
		select {
		case <-other.settled:
			if answer := other.kept(); answer != nil {
				return nil, &lanes.Repeat{Kept: *answer}
			}
			continue
		default:
		}
		select {
		case <-other.settled:
		case <-other.notSaved:
			return nil, lanes.ErrNotSaved
		case <-k.closed:
			return nil, lanes.ErrTimeout
		case <-ctx.Done():
			return nil, lanes.ErrTimeout
		}
	}
}

// Close makes every claim, also one that waits, come to lanes.ErrTimeout: another process has the range, and
// its own table of what was saved. It is called once.
func (k *Keys) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.closed)
}

// Reused reports whether another request has the key.
func (k *Keys) Reused(name, fingerprint string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	claim, taken := k.table[name]
	return taken && claim.key.Fingerprint != fingerprint
}

// Kept returns the answer that is kept for the key, without its body where that is InStore. found is false for a key
// that nobody has, or whose request has not ended.
func (k *Keys) Kept(name string) (kept lanes.KeptAnswer, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	claim, taken := k.table[name]
	if !taken || claim.answer == nil {
		return lanes.KeptAnswer{}, false
	}
	return *claim.answer, true
}

// kept is the answer of a claim that has ended, nil if it was freed.
func (c *Claim) kept() *lanes.KeptAnswer {
	c.keys.mu.Lock()
	defer c.keys.mu.Unlock()
	if c.answer == nil {
		return nil
	}
	answer := *c.answer
	return &answer
}

func (k *Keys) tryClaim(key lanes.Key) (mine, other *Claim, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.closed: // the first request with it may have been saved
		return nil, nil, lanes.ErrTimeout
	default:
	}
	if other, taken := k.table[key.Name]; taken {
		if other.key.Fingerprint != key.Fingerprint {
			return nil, nil, lanes.ErrKeyReused
		}
		return nil, other, nil
	}
	if len(k.table) >= MaxKeys {
		return nil, nil, lanes.ErrKeysFull
	}
	mine = &Claim{keys: k, key: key, notSaved: make(chan struct{}), settled: make(chan struct{})}
	k.table[key.Name] = mine
	return mine, nil, nil
}

// Answer is what to save with the change, nil for a request without a key.
func (c *Claim) Answer(answer *lanes.SessionView, now lanes.Instant) *lanes.KeptAnswer {
	if c == nil {
		return nil
	}
	status, body := c.key.Render(answer)
	return &lanes.KeptAnswer{
		Name: c.key.Name, Fingerprint: c.key.Fingerprint, Status: status, Body: string(body), At: now.Wall,
	}
}

// NotSaved says that the command is in force although its answer is not durable. A repeat gets the same
// answer at once.
func (c *Claim) NotSaved() {
	if c == nil {
		return
	}
	c.keys.mu.Lock()
	defer c.keys.mu.Unlock()
	select {
	case <-c.notSaved:
	default:
		close(c.notSaved)
	}
}

// Settle ends the claim with the answer that was saved, or frees the key with nil. Later calls do nothing.
func (c *Claim) Settle(answer *lanes.KeptAnswer) {
	if c == nil {
		return
	}
	c.keys.mu.Lock()
	defer c.keys.mu.Unlock()
	select {
	case <-c.settled:
		return
	default:
	}
	c.answer = answer
	if answer == nil {
		delete(c.keys.table, c.key.Name)
	}
	close(c.settled)
}

// Saved notes that the answer is durable, which its claim may not have heard yet. It is the one that the
// claim is settled with.
func (k *Keys) Saved(answer *lanes.KeptAnswer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, answer)
	delete(k.expired, answer.Name) // the record of the expired key was replaced
	for len(k.kept)-k.shed > store.RefillSize {
		k.shedOldest()
	}
}

// shedOldest leaves the body of the oldest answer that has one to the store. k.mu is held.
func (k *Keys) shedOldest() {
	answer := k.kept[k.shed]
	*answer = answer.Shed()
	k.shed++
}

// Forget drops the keys whose term is over, and the bodies of older answers. It returns the names that are to
// be deleted from the store, again until Deleted is called with them. A name that is in use again is not
// among them: its new record replaces the old one.
func (k *Keys) Forget(now time.Time) (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.kept) > 0 && now.Sub(k.kept[0].At) > Term {
		k.expired[k.kept[0].Name] = struct{}{}
		delete(k.table, k.kept[0].Name)
		k.kept = k.kept[1:]
		k.shed = max(0, k.shed-1)
	}
	for k.shed < len(k.kept) && now.Sub(k.kept[k.shed].At) > store.RefillTerm {
		k.shedOldest()
	}
	for name := range k.expired {
		if _, taken := k.table[name]; !taken {
			names = append(names, name)
		}
	}
	return names
}

// Deleted notes that the store has deleted what Forget named.
func (k *Keys) Deleted(names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range names {
		delete(k.expired, name)
	}
}

// Count returns how many keys are in use or kept.
func (k *Keys) Count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.table)
}

// FullError is lanes.ErrKeysFull with the time after which to try again.
type FullError struct{ Wait time.Duration }

// maxWait bounds FullError.Wait: an operator may do something about it before the oldest key expires.
const maxWait = time.Hour

// Full returns the error for a request whose key is one too many: it may try again when the oldest key has
// expired and is dropped, which takes until the next call of Forget.
func (k *Keys) Full(now time.Time, forgetEvery time.Duration) *FullError {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.kept) == 0 { // requests under way have all of them
		return &FullError{time.Second}
	}
	return &FullError{min(max(0, k.kept[0].At.Add(Term).Sub(now))+forgetEvery, maxWait)}
}

func (e *FullError) Error() string { return lanes.ErrKeysFull.Error() }

// Unwrap returns lanes.ErrKeysFull.
func (e *FullError) Unwrap() error { return lanes.ErrKeysFull }

// RetryAfter is the wait that the client is told.
func (e *FullError) RetryAfter() time.Duration { return e.Wait }

// All are the answers that are kept, the older ones without their bodies.
func (k *Keys) All() []lanes.KeptAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]lanes.KeptAnswer, len(k.kept))
	for i, answer := range k.kept {
		all[i] = *answer
	}
	return all
}
