package actors

import (
	"context"
	"slices"
	"sync"
	"time"

	"rangegate/lanes"
)

// How many idempotency keys a range keeps, and for how long (WIRE.md, Requests).
const (
	maxKeys = 100_000
	keyTerm = 24 * time.Hour
)

// keys are the idempotency keys of a range. A key is claimed before its command goes out. It then gets the answer
// that was saved with the change, or is freed when the command was refused; a repeat waits for either.
type keys struct {
	mu    sync.Mutex
	table map[string]*claim
	kept  []lanes.KeptAnswer // oldest first
}

// claim is one key in use.
type claim struct {
	keys     *keys
	key      lanes.Key
	standing chan struct{}     // closed when it was answered as not saved
	settled  chan struct{}     // closed when it has ended
	answer   *lanes.KeptAnswer // set before settled is closed; nil: freed
}

func newKeys(saved []lanes.KeptAnswer) *keys {
	slices.SortFunc(saved, func(a, b lanes.KeptAnswer) int { return a.At.Compare(b.At) })
	k := &keys{table: make(map[string]*claim, len(saved)), kept: saved}
	done := make(chan struct{})
	close(done)
	for i := range saved {
		key := lanes.Key{Name: saved[i].Name, Fingerprint: saved[i].Fingerprint}
		k.table[key.Name] = &claim{keys: k, key: key, settled: done, answer: &saved[i]}
	}
	return k
}

// claim takes the key for a request. While another request has it, it waits for that one's end, and claims the key if
// that was refused. The answer kept for it comes as the error *lanes.Repeat.
func (k *keys) claim(ctx context.Context, key lanes.Key) (*claim, error) {
	for {
		mine, other, err := k.take(key)
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
		case <-other.standing:
			return nil, lanes.ErrNotSaved
		case <-ctx.Done():
			return nil, lanes.ErrTimeout
		}
	}
}

func (k *keys) take(key lanes.Key) (mine, other *claim, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if other, taken := k.table[key.Name]; taken {
		if other.key.Fingerprint != key.Fingerprint {
			return nil, nil, lanes.ErrKeyReused
		}
		return nil, other, nil
	}
	if len(k.table) >= maxKeys {
		return nil, nil, lanes.ErrKeysFull
	}
	mine = &claim{keys: k, key: key, standing: make(chan struct{}), settled: make(chan struct{})}
	k.table[key.Name] = mine
	return mine, nil, nil
}

// keep is the answer to save with the change, nil for a request without a key.
func (c *claim) keep(answer *lanes.SessionView, now lanes.Instant) *lanes.KeptAnswer {
	if c == nil {
		return nil
	}
	status, body := c.key.Render(answer)
	return &lanes.KeptAnswer{
		Name: c.key.Name, Fingerprint: c.key.Fingerprint, Status: status, Body: string(body), At: now.Wall,
	}
}

// stand says that the command is in force although its answer is not saved. A repeat is told the same at once.
func (c *claim) stand() {
	if c == nil {
		return
	}
	c.keys.mu.Lock()
	defer c.keys.mu.Unlock()
	select {
	case <-c.standing:
	default:
		close(c.standing)
	}
}

// settle ends the claim with the answer that was saved, or frees the key with nil.
func (c *claim) settle(answer *lanes.KeptAnswer) {
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

// saved takes in that the answer is durable, which its claim may not have heard yet.
func (k *keys) saved(answer lanes.KeptAnswer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, answer)
}

// forget drops the keys whose term is over and names them.
func (k *keys) forget(now time.Time) (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.kept) > 0 && now.Sub(k.kept[0].At) > keyTerm {
		names = append(names, k.kept[0].Name)
		delete(k.table, k.kept[0].Name)
		k.kept = k.kept[1:]
	}
	return names
}

// all is every answer kept.
func (k *keys) all() []lanes.KeptAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]lanes.KeptAnswer(nil), k.kept...)
}
