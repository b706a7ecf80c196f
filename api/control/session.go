package control

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/api/screens"
)

// A session is one person of one range, signed in. All of it is in a cookie, signed with a key that is made of the hash of
// that person's PIN: so it outlives a restart of the gateway without a store, it ends when the PIN changes or the person
// leaves the configuration, and no other range's staff can make one. What the gateway remembers on top, for as long as it
// runs, is when a session was last used and which ones were signed out.
type session struct {
	rangeID uuid.UUID
	name    string
	id      [16]byte

	mu    sync.Mutex
	used  time.Time
	ended chan struct{} // closed when it is over
}

const (
	cookieName = "rangegate_control"
	// idleAtMost is how long a session lasts without use: loading the page, or a command. What a page asks for by itself
	// is no use.
	idleAtMost = 12 * time.Hour
)

// Seen is the sessions that were seen since the gateway started. It outlives the staff that a configuration has: who signed
// out stays so.
type Seen struct {
	mu    sync.Mutex
	seen  map[[16]byte]*session
	swept time.Time
}

// NewSeen has seen none.
func NewSeen() *Seen { return &Seen{seen: map[[16]byte]*session{}} }

// sessions are those of the staff that there is.
type sessions struct {
	*Seen
	keys map[uuid.UUID]map[string][]byte // of each range's staff, to sign with
}

func newSessions(staff map[uuid.UUID]map[string]string, seen *Seen) *sessions {
	s := &sessions{Seen: seen, keys: map[uuid.UUID]map[string][]byte{}}
	for rangeID, members := range staff {
		s.keys[rangeID] = map[string][]byte{}
		for name, pinHash := range members {
			s.keys[rangeID][name] = sign([]byte(pinHash), []byte("rangegate control session"))
		}
	}
	return s
}

func sign(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}

// begin is a new session.
func (s *sessions) begin(rangeID uuid.UUID, name string) *session {
	begun := &session{rangeID: rangeID, name: name, used: time.Now(), ended: make(chan struct{})}
	_, _ = rand.Read(begun.id[:]) // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[begun.id] = begun
	return begun
}

// of is the session that a request's cookie names, if there is one and it is not over.
func (s *sessions) of(r *http.Request) (*session, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil, false
	}
	claimed, genuine := s.read(cookie.Value)
	if !genuine {
		return nil, false
	}
	s.mu.Lock()
	s.sweep()
	known := s.seen[claimed.id]
	if known == nil && !claimed.over() {
		known = claimed
		s.seen[claimed.id] = known
	}
	s.mu.Unlock()
	if known == nil || known.over() {
		return nil, false
	}
	return known, true
}

// sweep forgets those that have been over for so long that their cookie says so too. The caller has the lock.
func (s *Seen) sweep() {
	if time.Since(s.swept) < time.Minute {
		return
	}
	s.swept = time.Now()
	for id, each := range s.seen {
		if each.idle() > idleAtMost {
			each.end()
			delete(s.seen, id)
		}
	}
}

// The cookie: range, id, when the session was used last, in Unix seconds, and the name; behind them their MAC.
const beforeName = 16 + 16 + 8

func (s *sessions) write(of *session) string {
	of.mu.Lock()
	text := append(append([]byte(nil), of.rangeID[:]...), of.id[:]...)
	text = binary.BigEndian.AppendUint64(text, uint64(of.used.Unix()))
	of.mu.Unlock()
	text = append(text, of.name...)
	return base64.RawURLEncoding.EncodeToString(append(text, sign(s.keys[of.rangeID][of.name], text)...))
}

// read takes a cookie apart. Whatever this gateway has not signed is not genuine.
func (s *sessions) read(value string) (claimed *session, genuine bool) {
	all, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(all) < beforeName+sha256.Size {
		return nil, false
	}
	text, mac := all[:len(all)-sha256.Size], all[len(all)-sha256.Size:]
	claimed = &session{
		rangeID: uuid.UUID(text[:16]), id: [16]byte(text[16:32]), name: string(text[beforeName:]),
		used:  time.Unix(int64(binary.BigEndian.Uint64(text[32:beforeName])), 0),
		ended: make(chan struct{}),
	}
	key, staff := s.keys[claimed.rangeID][claimed.name]
	return claimed, staff && hmac.Equal(mac, sign(key, text))
}

// give sets the cookie, with when the session was last used.
func (s *sessions) give(of *session, w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, s.write(of), int(idleAtMost.Seconds()))
}

func setCookie(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/control", MaxAge: maxAge,
		HttpOnly: true, Secure: screens.Secure(r), SameSite: http.SameSiteStrictMode,
	})
}

// use is somebody using it now.
func (of *session) use() {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.used = time.Now()
}

// idle is for how long nobody has used it. A clock that was set back does not make it last for ever.
func (of *session) idle() time.Duration {
	of.mu.Lock()
	defer of.mu.Unlock()
	return time.Since(of.used).Abs()
}

// over tells whether it has ended, and ends it when nobody has used it for too long.
func (of *session) over() bool {
	if of.idle() > idleAtMost {
		of.end()
	}
	select {
	case <-of.ended:
		return true
	default:
		return false
	}
}

func (of *session) end() {
	of.mu.Lock()
	defer of.mu.Unlock()
	select {
	case <-of.ended:
	default:
		close(of.ended)
	}
}

type sessionKey struct{}

// sessionOf is the session that a request was let in with.
func sessionOf(ctx context.Context) *session { return ctx.Value(sessionKey{}).(*session) }

// signedIn lets nobody in without a session. A command is use of it.
func (c *screen) signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of, in := c.sessions.of(r)
		if !in {
			c.fail(w, r, noSession{})
			return
		}
		c.Note(r.Context(), of.rangeID)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			of.use()
			c.sessions.give(of, w, r)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, of)))
	})
}

// used is for the page, which is open to all: who has a session uses it by loading the page.
func (c *screen) used(page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if of, in := c.sessions.of(r); in {
			of.use()
			c.sessions.give(of, w, r)
		}
		page(w, r)
	}
}

// noSession is the refusal of who is not signed in.
type noSession struct{}

func (noSession) Error() string { return "nobody is signed in, or the session is over" }

// Code is unauthorized.
func (noSession) Code() string { return "unauthorized" }
