// Package idempotency keeps the idempotency keys of a range (WIRE.md, Requests): claimed before the command goes out, kept with
// the answer, repeated for the same request. It owns the table in memory; what is durable is in the store. A range
// claims, the lane that answers keeps and settles, and the committer says what was saved and what is to be forgotten.
package idempotency

import (
	"context"
	"slices"
	"sync"
	"time"

	"rangegate/lanes"
)

const (
	// MaxKeys is how many keys a range keeps.
	MaxKeys = 100_000
	// Term is how long an answer is kept.
	Term = 24 * time.Hour
)

// Keys are those of a range. Its methods may be called from any goroutine.
type Keys struct {
	mu    sync.Mutex
	table map[string]*Claim
	kept  []lanes.KeptAnswer // oldest first
}

// Claim is one key in use. All methods of a nil Claim, of a request without a key, do nothing.
type Claim struct {
	keys     *Keys
	key      lanes.Key
	notSaved chan struct{}     // closed when it was answered as not saved
	settled  chan struct{}     // closed when it has ended
	answer   *lanes.KeptAnswer // set before settled is closed; nil: freed
}

// New are the keys whose answers were saved, which it takes over.
func New(saved []lanes.KeptAnswer) *Keys {
	slices.SortFunc(saved, func(a, b lanes.KeptAnswer) int { return a.At.Compare(b.At) })
	k := &Keys{table: make(map[string]*Claim, len(saved)), kept: saved}
	done := make(chan struct{})
	close(done)
	for i := range saved {
		key := lanes.Key{Name: saved[i].Name, Fingerprint: saved[i].Fingerprint}
		k.table[key.Name] = &Claim{keys: k, key: key, settled: done, answer: &saved[i]}
	}
	return k
}

// Claim takes the key for a request. While another request has it, it waits for that one's end, and claims the key if
// that was refused. Errors: *lanes.Repeat with the answer that is kept, lanes.ErrKeyReused for another request,
// lanes.ErrNotSaved while the first is in force and not durable, lanes.ErrKeysFull, lanes.ErrTimeout when ctx ends.
func (k *Keys) Claim(ctx context.Context, key lanes.Key) (*Claim, error) {
	for {
		mine, other, err := k.tryClaim(key)
		if mine != nil || err != nil {
			return mine, err
		}
		select {
		case <-other.settled:
			if other.answer != nil {
				return nil, &lanes.Repeat{Kept: *other.answer}
			}
			continue
		default:
		}
		select {
		case <-other.settled:
		case <-other.notSaved:
			return nil, lanes.ErrNotSaved
		case <-ctx.Done():
			return nil, lanes.ErrTimeout
		}
	}
}

// Reused reports whether another request has the key.
func (k *Keys) Reused(name, fingerprint string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	claim, taken := k.table[name]
	return taken && claim.key.Fingerprint != fingerprint
}

func (k *Keys) tryClaim(key lanes.Key) (mine, other *Claim, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
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

// NotSaved says that the command is in force although its answer is not durable. A repeat gets the same answer at once.
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

// Settle ends the claim with the answer that was saved, or frees the key with nil.
func (c *Claim) Settle(answer *lanes.KeptAnswer) {
	if c == nil {
		return
	}
	c.keys.mu.Lock()
	defer c.keys.mu.Unlock()
	c.answer = answer
	if answer == nil {
		delete(c.keys.table, c.key.Name)
	}
	close(c.settled)
}

// Saved notes that the answer is durable, which its claim may not have heard yet.
func (k *Keys) Saved(answer lanes.KeptAnswer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, answer)
}

// Forget drops the keys whose term is over and names them.
func (k *Keys) Forget(now time.Time) (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.kept) > 0 && now.Sub(k.kept[0].At) > Term {
		names = append(names, k.kept[0].Name)
		delete(k.table, k.kept[0].Name)
		k.kept = k.kept[1:]
	}
	return names
}

// All are the answers that are kept.
func (k *Keys) All() []lanes.KeptAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]lanes.KeptAnswer(nil), k.kept...)
}
