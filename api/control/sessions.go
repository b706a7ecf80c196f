package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// A session is one signed-in user of one range. All of it is in cookies (cookies.go): so it survives a
// restart of the gateway, and signing in needs no store. In memory the gateway keeps when a session was last
// used; in the store the secret that signs the cookies, and which sessions were signed out before their end.
type session struct {
	member
	id    [16]byte
	began time.Time
	used  atomic.Pointer[time.Time]
	live  context.Context // done once end was called
	end   context.CancelFunc
}

// member is a name of a range, also an unknown one.
type member struct {
	rangeID uuid.UUID
	name    string
}

func newSession(m member, id [16]byte, began, used time.Time) *session {
	s := &session{member: m, id: id, began: began}
	s.used.Store(&used)
	s.live, s.end = context.WithCancel(context.Background())
	return s
}

const (
	// maxIdle is how long a session lasts without use, which is loading the page or a command.
	maxIdle = 12 * time.Hour
	// maxAge is how long a session lasts, however much it is used.
	maxAge = 24 * time.Hour
	// maxAgeHeld is maxAge while a ceasefire is in force, which no signed-in board may lose sight of. maxIdle
	// does not count then.
	maxAgeHeld = 72 * time.Hour
	// maxSignedOut is the number of signed-out sessions of a user that are kept one by one.
	maxSignedOut = 50
)

// age returns how old the session is, idle for how long it was not used. A clock that was set back does not
// prolong it for ever.
func (s *session) age() time.Duration  { return time.Since(s.began).Abs() }
func (s *session) idle() time.Duration { return time.Since(*s.used.Load()).Abs() }

// useLater takes over when the session was used last by what another cookie, or node, says of it.
func (s *session) useLater(same *session) {
	if same.used.Load().After(*s.used.Load()) {
		s.used.Store(same.used.Load())
	}
}

// usualEnd is when the session ends if it is not used any more, and no ceasefire is in force.
func (s *session) usualEnd() time.Time {
	tooOld, tooIdle := s.began.Add(maxAge), s.used.Load().Add(maxIdle)
	if tooIdle.Before(tooOld) {
		return tooIdle
	}
	return tooOld
}

// lastEnd is when the session's cookie is of no use any more, whatever happens.
func (s *session) lastEnd() time.Time { return s.began.Add(maxAgeHeld) }

// SignInStore keeps what sessions need beyond this process. Of a signed-out session it keeps an id until a time.
type SignInStore interface {
	Load(ctx context.Context, secret [32]byte) (stored [32]byte, signedOut map[[32]byte]time.Time, err error)
	SignOut(ctx context.Context, add map[[32]byte]time.Time, remove [][32]byte) error
}

// Sessions are those that the process has seen. They outlive a reload of the configuration. Its methods are safe for
// concurrent use.
type Sessions struct {
	store  SignInStore
	saving sync.Mutex // held during calls of the store, so that they come in order

	mu        sync.Mutex
	secret    [32]byte
	byID      map[[16]byte]*session
	swept     time.Time
	signedOut map[[32]byte]time.Time // by signedOutID, until lastEnd
	unsaved   map[[32]byte]bool      // of them
}

// NewSessions loads the secret and the signed-out sessions from the store.
func NewSessions(ctx context.Context, store SignInStore) (*Sessions, error) {
	s := &Sessions{store: store, byID: map[[16]byte]*session{}, unsaved: map[[32]byte]bool{}}
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	var err error
	s.secret, s.signedOut, err = store.Load(ctx, secret)
	return s, err
}

// Key returns a key that is derived from the secret, for one purpose. It changes with the secret.
func (s *Sessions) Key(purpose string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sign(s.secret[:], []byte("rangegate "+purpose))
}

// Refresh takes over a new secret, which ends every session, and what other gateways have signed out, and
// saves what could not be saved before. A secret that the store has lost is saved again. Refresh blocks while
// the store does.
func (s *Sessions) Refresh(ctx context.Context) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	before := s.secret
	s.mu.Unlock()
	secret, signedOut, err := s.store.Load(ctx, before)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if secret != s.secret {
		s.secret = secret
		for _, session := range s.byID {
			session.end()
		}
		clear(s.byID)
	}
	for id, until := range s.signedOut {
		if _, stored := signedOut[id]; !stored && time.Now().Before(until) && !covered(signedOut, id, until) {
			signedOut[id], s.unsaved[id] = until, true
		}
	}
	s.signedOut = signedOut
	for _, session := range s.byID {
		if s.isSignedOut(session) {
			session.end()
		}
	}
	s.mu.Unlock()
	return s.save(ctx, nil)
}

// save saves what is unsaved, and removes ids. The caller holds saving.
func (s *Sessions) save(ctx context.Context, remove [][32]byte) error {
	s.mu.Lock()
	add := map[[32]byte]time.Time{}
	for id := range s.unsaved {
		add[id] = s.signedOut[id]
	}
	s.mu.Unlock()
	if len(add)+len(remove) == 0 {
		return nil
	}
	if err := s.store.SignOut(ctx, add, remove); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range add {
		delete(s.unsaved, id)
	}
	return nil
}

// signedOutID is the id under which the store keeps that a session was signed out: 16 bytes of its user, and
// its own. With the id zero it is about every session of the user that would last no longer.
func signedOutID(m member, id [16]byte) (key [32]byte) {
	digest := sha256.Sum256(slices.Concat([]byte("rangegate member"), m.rangeID[:], []byte(m.name)))
	copy(key[:16], digest[:16])
	copy(key[16:], id[:])
	return key
}

// everySession returns the id of all sessions of the user whom an id of signedOutID is about.
func everySession(id [32]byte) (all [32]byte) {
	copy(all[:16], id[:16])
	return all
}

// covered is true if the sessions of the user that last until then are signed out together.
func covered(signedOut map[[32]byte]time.Time, id [32]byte, until time.Time) bool {
	all := everySession(id)
	return id != all && !signedOut[all].Before(until)
}

// isSignedOut is true if the session was signed out, in this process or before. The caller holds mu.
func (s *Sessions) isSignedOut(session *session) bool {
	id := signedOutID(session.member, session.id)
	_, found := s.signedOut[id]
	return found || covered(s.signedOut, id, session.lastEnd().Truncate(time.Millisecond))
}

// signOut ends the session for good, also in copies of its cookie and after a restart. After an error it has
// ended in this process, and Refresh saves it. A user with more than maxSignedOut such sessions is signed out
// of all that began before the last of them, so that what is kept is bounded.
func (s *Sessions) signOut(ctx context.Context, session *session) error {
	session.end()
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	id, until := signedOutID(session.member, session.id), session.lastEnd().Truncate(time.Millisecond)
	s.signedOut[id], s.unsaved[id] = until, true
	remove := s.foldSignedOut(everySession(id))
	s.mu.Unlock()
	return s.save(ctx, remove)
}

// foldSignedOut replaces what is kept of a user's sessions by one entry, once they are too many. It returns what was
// replaced. The caller holds mu.
func (s *Sessions) foldSignedOut(all [32]byte) (replaced [][32]byte) {
	last := s.signedOut[all]
	for id, until := range s.signedOut {
		if id != all && everySession(id) == all {
			replaced = append(replaced, id)
			if until.After(last) {
				last = until
			}
		}
	}
	if len(replaced) <= maxSignedOut {
		return nil
	}
	for _, id := range replaced {
		delete(s.signedOut, id)
		delete(s.unsaved, id)
	}
	s.signedOut[all], s.unsaved[all] = last, true
	for _, session := range s.byID {
		if s.isSignedOut(session) {
			session.end()
		}
	}
	return replaced
}

// begin returns a new session.
func (s *Sessions) begin(m member) *session {
	now := time.Now()
	begun := newSession(m, uuid.New(), now.Truncate(time.Millisecond), now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[begun.id] = begun
	return begun
}

// admit returns the session that a cookie is of, as this process knows it. ok is false if it has ended;
// hasEnded ends it.
func (s *Sessions) admit(claimed *session, hasEnded func(*session) bool) (current *session, ok bool) {
	s.mu.Lock()
	current = s.byID[claimed.id]
	if current == nil {
		current = claimed
	}
	current.useLater(claimed) // on another node
	signedOut := s.isSignedOut(current)
	var others []*session
	if time.Since(s.swept) >= time.Minute {
		s.swept = time.Now()
		others = slices.Collect(maps.Values(s.byID))
	}
	s.mu.Unlock()
	s.forget(others, hasEnded)
	if signedOut || hasEnded(current) {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isSignedOut(current) {
		return nil, false
	}
	if first := s.byID[current.id]; first != nil { // of a request at the same time
		return first, first.live.Err() == nil
	}
	s.byID[current.id] = current
	return current, true
}

// forget removes those sessions that have ended.
func (s *Sessions) forget(sessions []*session, hasEnded func(*session) bool) {
	for _, session := range sessions {
		if hasEnded(session) {
			s.mu.Lock()
			delete(s.byID, session.id)
			s.mu.Unlock()
		}
	}
}
