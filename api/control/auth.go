package control

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
)

// A session is one signed-in user of one range. All of it is in a cookie, signed with a key that is derived from the hash
// of the user's PIN: so it survives a restart of the gateway without a store, it ends when the PIN changes or the user is
// removed from the configuration, and no other range's staff can forge one. In memory the gateway keeps only when a session
// was last used, and which sessions were signed out.
type session struct {
	member
	id   [16]byte
	used atomic.Pointer[time.Time]
	live context.Context // done once end was called
	end  context.CancelFunc
}

// member is a name of a range, also an unknown one.
type member struct {
	rangeID uuid.UUID
	name    string
}

func newSession(m member, id [16]byte, used time.Time) *session {
	s := &session{member: m, id: id}
	s.used.Store(&used)
	s.live, s.end = context.WithCancel(context.Background())
	return s
}

const (
	cookieName = "rangegate_control"
	// maxIdle is how long a session lasts without use, which is loading the page or a command.
	maxIdle = 12 * time.Hour
)

// Sessions are those that the process has seen. They outlive a reload, so that a signed-out session stays signed out.
type Sessions struct {
	mu    sync.Mutex
	byID  map[[16]byte]*session
	swept time.Time
}

// NewSessions returns an empty set of sessions.
func NewSessions() *Sessions { return &Sessions{byID: map[[16]byte]*session{}} }

// sweep removes sessions whose cookies have expired too. The caller holds the lock.
func (s *Sessions) sweep() {
	if time.Since(s.swept) < time.Minute {
		return
	}
	s.swept = time.Now()
	for id, session := range s.byID {
		if session.idle() > maxIdle {
			session.end()
			delete(s.byID, id)
		}
	}
}

// authenticator issues and checks the cookies of the configured staff.
type authenticator struct {
	*Sessions
	keys map[member][]byte // that sign the cookies
}

func newAuthenticator(pinHashes map[member]string, sessions *Sessions) *authenticator {
	a := &authenticator{Sessions: sessions, keys: map[member][]byte{}}
	for m, hash := range pinHashes {
		a.keys[m] = sign([]byte(hash), []byte("rangegate control session"))
	}
	return a
}

func sign(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}

// begin returns a new session.
func (a *authenticator) begin(m member) *session {
	s := newSession(m, uuid.New(), time.Now())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byID[s.id] = s
	return s
}

// find returns the session of a request's cookie, if it is valid and has not ended.
func (a *authenticator) find(r *http.Request) (s *session, ok bool) {
	cookie, err := r.Cookie(nameOf(r, cookieName))
	if err != nil {
		return nil, false
	}
	claimed, ok := a.parse(cookie.Value)
	if !ok {
		return nil, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep()
	s = a.byID[claimed.id]
	if s == nil {
		s = claimed
	}
	if s.hasEnded() {
		return nil, false
	}
	a.byID[s.id] = s
	return s, true
}

// headerSize is the size of the cookie's fixed part: range, id, and last use in Unix seconds. The name and the MAC follow.
const headerSize = 16 + 16 + 8

func (a *authenticator) format(s *session) string {
	text := binary.BigEndian.AppendUint64(slices.Concat(s.rangeID[:], s.id[:]), uint64(s.used.Load().Unix()))
	text = append(text, s.name...)
	return base64.RawURLEncoding.EncodeToString(append(text, sign(a.keys[s.member], text)...))
}

// parse returns the session of a cookie. ok is false if this gateway has not signed it.
func (a *authenticator) parse(value string) (s *session, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(decoded) < headerSize+sha256.Size {
		return nil, false
	}
	text, mac := decoded[:len(decoded)-sha256.Size], decoded[len(decoded)-sha256.Size:]
	m := member{uuid.UUID(text[:16]), string(text[headerSize:])}
	used := time.Unix(int64(binary.BigEndian.Uint64(text[32:headerSize])), 0)
	key, ok := a.keys[m]
	return newSession(m, [16]byte(text[16:32]), used), ok && hmac.Equal(mac, sign(key, text))
}

// use records that the user has used the session now, also in the cookie.
func (a *authenticator) use(s *session, w http.ResponseWriter, r *http.Request) {
	s.used.Store(new(time.Now()))
	setCookie(w, r, a.format(s), int(maxIdle.Seconds()))
}

func setCookie(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, hostCookie(r, cookieName, "/control", value, maxAge))
}

// hostPrefix is that of cookies which browsers take from this very host only, over TLS, and for all of its paths: no other host of the
// same domain can set them.
const hostPrefix = "__Host-"

// nameOf returns the name that a cookie has in the browser that sends the request.
func nameOf(r *http.Request, name string) string {
	if request.OverTLS(r) {
		return hostPrefix + name
	}
	return name
}

// hostCookie returns a cookie of this host. Without TLS it is sent with the requests for its path only.
func hostCookie(r *http.Request, name, path, value string, maxAge int) *http.Cookie {
	if request.OverTLS(r) {
		path = "/"
	}
	return &http.Cookie{
		Name: nameOf(r, name), Value: value, Path: path, MaxAge: maxAge,
		HttpOnly: true, Secure: request.OverTLS(r), SameSite: http.SameSiteStrictMode,
	}
}

// idle returns for how long the session was not used. A clock that was set back does not prolong it for ever.
func (s *session) idle() time.Duration { return time.Since(*s.used.Load()).Abs() }

// hasEnded is true if the session has ended. It ends a session that was idle for too long.
func (s *session) hasEnded() bool {
	if s.idle() > maxIdle {
		s.end()
	}
	return s.live.Err() != nil
}

type sessionKey struct{}

// sessionOf returns the session of a request behind requireSession.
func sessionOf(ctx context.Context) *session { return ctx.Value(sessionKey{}).(*session) }

// requireSession refuses requests without a session. A command is use of the session.
func (c *screen) requireSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, ok := c.auth.find(r)
		if !ok {
			c.fail(w, r, endpoint.Refuse("unauthorized", "nobody is signed in, or the session is over", 0))
			return
		}
		request.SetRange(r.Context(), s.rangeID)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			c.auth.use(s, w, r)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, s)))
	})
}

// refreshSession serves the page, which is public. Loading it is use of the session, if there is one.
func (c *screen) refreshSession(page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s, ok := c.auth.find(r); ok {
			c.auth.use(s, w, r)
		}
		page(w, r)
	}
}

// A device is a browser in which a user has signed in before. Wrong PINs that others send for the user's name are limited,
// and must not keep the user from declaring a ceasefire: the user's own browsers have limits of their own. The device cookie
// is an id and a MAC that binds it to the user.
type device [16]byte

const (
	deviceCookie = "rangegate_device"
	deviceMaxAge = 400 * 24 * 3600 // seconds: the maximum that browsers allow
)

func (a *authenticator) deviceMAC(id device, m member) []byte {
	return sign(a.keys[m], append([]byte("device of "), id[:]...))
}

// rememberDevice makes the browser one of the user's devices.
func (a *authenticator) rememberDevice(m member, w http.ResponseWriter, r *http.Request) {
	id := a.device(r, m)
	if id == (device{}) {
		id = device(uuid.New())
	}
	value := base64.RawURLEncoding.EncodeToString(append(id[:], a.deviceMAC(id, m)...))
	http.SetCookie(w, hostCookie(r, deviceCookie, "/control/sign-in", value, deviceMaxAge))
}

// device returns the browser that a request comes from; zero if it is none of the user's devices.
func (a *authenticator) device(r *http.Request, m member) (id device) {
	cookie, err := r.Cookie(nameOf(r, deviceCookie))
	if _, ok := a.keys[m]; !ok || err != nil {
		return device{}
	}
	decoded, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(decoded) != len(id)+sha256.Size {
		return device{}
	}
	id = device(decoded[:len(id)])
	if !hmac.Equal(decoded[len(id):], a.deviceMAC(id, m)) {
		return device{}
	}
	return id
}
