package lanes

import "time"

// Key is the idempotency key that a request carries (WIRE.md, Requests). The first successful answer is saved
// in the same write as the change itself, and given again to a repeat.
type Key = KeyOf[*SessionView]

// KeyOf is a Key of a request with that result.
type KeyOf[Result any] struct {
	Name        string
	Fingerprint string // of the request's method, path, query and body
	Render      func(Result) (status int, body []byte)
}

// Of returns the key of a request whose answer is rendered from what result is when the answer is saved; nil for nil.
func (k *KeyOf[Result]) Of(result *Result) *Key {
	if k == nil {
		return nil
	}
	return &Key{k.Name, k.Fingerprint, func(*SessionView) (int, []byte) { return k.Render(*result) }}
}

// KeyTerm is how long the answer to a request with an idempotency key is kept.
const KeyTerm = 24 * time.Hour

// KeptAnswer is the first successful answer to the request with an idempotency key.
type KeptAnswer struct {
	Name        string    `json:"name"`
	Fingerprint string    `json:"fingerprint"`
	Status      int       `json:"status"`
	Body        string    `json:"body"`
	At          time.Time `json:"at"`
	// InStore says that the body is not here, but in the store.
	InStore bool `json:"-"`
}

// Shed returns the answer without its body, which the store has.
func (k KeptAnswer) Shed() KeptAnswer {
	k.Body, k.InStore = "", true
	return k
}

// IsLost reports whether the store has lost the body: it has what Shed has left of the answer.
func (k KeptAnswer) IsLost() bool { return k.Body == "" && k.Status != noContent }

// noContent is the status of an answer without a body (RFC 9110, 15.3.5).
const noContent = 204

// Repeat is not a failure: the request is a repeat, and this is the answer that was kept.
type Repeat struct{ Kept KeptAnswer }

func (r *Repeat) Error() string { return "the request is a repeat" }

// Replay is what to answer, to the byte.
func (r *Repeat) Replay() (status int, body []byte) { return r.Kept.Status, []byte(r.Kept.Body) }
