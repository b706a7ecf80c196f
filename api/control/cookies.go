package control

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/lanes"
)

// The cookies are signed with keys that are derived from the gateway's secret, the user and the hash of the
// user's PIN. So whoever has read the configuration cannot forge one; a session ends when the PIN changes or
// the user is removed from the configuration, and no other range's staff can forge one.

// The session's cookie is set when its user signs in, and not again: a response to a user may reach the browser
// after the next one's sign-in, and must not bring back the session before. What says when a session was last used
// is in a cookie of its own, which has the same form and counts beside that session's cookie only.
const (
	sessionCookie = "rangegate_control"
	usedCookie    = "rangegate_control_used"
)

// authenticator issues and checks the cookies of the configured staff.
type authenticator struct {
	*Sessions
	staff map[member]Member
	// held returns since when a ceasefire is in force on the range. The time is zero where that cannot be
	// known, because the range is not running here.
	held func(rangeID uuid.UUID) (since time.Time, found bool)
}

func newAuthenticator(
	staff map[member]Member, sessions *Sessions, held func(uuid.UUID) (time.Time, bool),
) *authenticator {
	return &authenticator{Sessions: sessions, staff: staff, held: held}
}

func sign(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}

// key returns what signs the cookies of a user; ok is false for an unknown one.
func (a *authenticator) key(m member) (key []byte, ok bool) {
	configured, ok := a.staff[m]
	if !ok {
		return nil, false
	}
	a.mu.Lock()
	secret := a.secret
	a.mu.Unlock()
	name := binary.BigEndian.AppendUint64(nil, uint64(len(m.name)))
	return sign(secret[:], slices.Concat([]byte("rangegate staff"), m.rangeID[:], name, []byte(m.name),
		[]byte(configured.PINHash))), true
}

// The labels tell the kinds of cookies apart that one key signs.
var (
	sessionLabel = []byte("session of ")
	deviceLabel  = []byte("device of ")
)

// find returns the session of a request's cookie, if it is valid and has not ended.
func (a *authenticator) find(r *http.Request) (s *session, ok bool) {
	claimed, ok := a.claimed(r, sessionCookie)
	if !ok {
		return nil, false
	}
	if used, ok := a.claimed(r, usedCookie); ok && used.member == claimed.member && used.id == claimed.id {
		claimed.useLater(used)
	}
	return a.admit(claimed, a.hasEnded)
}

// claimed returns the session in a cookie of the request. ok is false if this gateway has not signed it.
func (a *authenticator) claimed(r *http.Request, name string) (s *session, ok bool) {
	cookie, err := r.Cookie(nameOf(r, name))
	if err != nil {
		return nil, false
	}
	return a.parse(cookie.Value)
}

// hasEnded is true if the session has ended. It ends a session that is too old, or was idle for too long,
// unless a ceasefire began before that and is still in force.
func (a *authenticator) hasEnded(s *session) bool {
	if s.live.Err() != nil {
		return true
	}
	if s.age() > maxAge || s.idle() > maxIdle {
		since, held := a.held(s.rangeID)
		if s.age() > maxAgeHeld || !held || since.After(s.usualEnd()) {
			s.end()
		}
	}
	return s.live.Err() != nil
}

// headerSize is the size of the cookie's fixed part: range, id, and when the session began and was last used, in Unix
// milliseconds. The name and the MAC follow.
const headerSize = 16 + 16 + 8 + 8

func (a *authenticator) format(s *session) string {
	text := slices.Concat(s.rangeID[:], s.id[:])
	text = binary.BigEndian.AppendUint64(text, uint64(s.began.UnixMilli()))
	text = binary.BigEndian.AppendUint64(text, uint64(s.used.Load().UnixMilli()))
	text = append(text, s.name...)
	key, ok := a.key(s.member)
	if !ok {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(text, sign(key, slices.Concat(sessionLabel, text))...))
}

// parse returns the session of a cookie. ok is false if this gateway has not signed it.
func (a *authenticator) parse(value string) (s *session, ok bool) {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(value)
	if err != nil || len(decoded) < headerSize+sha256.Size {
		return nil, false
	}
	text, mac := decoded[:len(decoded)-sha256.Size], decoded[len(decoded)-sha256.Size:]
	m := member{uuid.UUID(text[:16]), string(text[headerSize:])}
	key, ok := a.key(m)
	if !ok || !hmac.Equal(mac, sign(key, slices.Concat(sessionLabel, text))) {
		return nil, false
	}
	began, used := binary.BigEndian.Uint64(text[32:40]), binary.BigEndian.Uint64(text[40:headerSize])
	return newSession(m, [16]byte(text[16:32]), time.UnixMilli(int64(began)), time.UnixMilli(int64(used))), true
}

// use records that the user has used the session now, also in the browser.
func (a *authenticator) use(s *session, w http.ResponseWriter, r *http.Request) {
	s.used.Store(new(time.Now()))
	a.setCookie(w, r, usedCookie, s)
}

// setCookie has the browser keep the session in the cookie of that name.
func (a *authenticator) setCookie(w http.ResponseWriter, r *http.Request, name string, s *session) {
	http.SetCookie(w, hostCookie(r, name, "/control", a.format(s), int(time.Until(s.lastEnd()).Seconds())))
}

// deleteCookies has the browser forget its session.
func deleteCookies(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{sessionCookie, usedCookie} {
		http.SetCookie(w, hostCookie(r, name, "/control", "", -1))
	}
}

// hostPrefix is that of cookies which browsers take from this very host only, over TLS, and for all of its
// paths: no other host of the same domain can set them.
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

// ceasefireSince returns since when a ceasefire is in force on the range: the earliest of them. It is found
// with the zero time if the range is not running here.
func (c *screen) ceasefireSince(rangeID uuid.UUID) (since time.Time, found bool) {
	r, err := c.Range(rangeID)
	if err != nil {
		return time.Time{}, true
	}
	for _, hold := range r.Holds().InForce {
		if hold.Kind != lanes.OverLane && (!found || hold.Since.Before(since)) {
			since, found = hold.Since, true
		}
	}
	return since, found
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

// A device is a browser in which a user has signed in before. Wrong PINs that others send for the user's name
// are limited, and must not keep the user from declaring a ceasefire: the user's own browsers have limits of
// their own. Users who share a browser each have it as a device. The device cookie has an id and a MAC for
// each of them, which binds the id to the user. On such a device a ceasefire can be begun before anybody
// signs in, and nothing else.
type device [16]byte

const (
	deviceCookie = "rangegate_device"
	deviceMaxAge = 400 * 24 * 3600 // seconds: the maximum that browsers allow
	// maxDeviceUsers is the number of users that share a browser as a device; of more, those who signed in last.
	maxDeviceUsers = 8
	// deviceSeparator stands between two users' parts of the cookie.
	deviceSeparator = "."
)

// deviceSize is the length of one user's part.
var deviceSize = base64.RawURLEncoding.EncodedLen(len(device{}) + sha256.Size)

// rememberDevice makes the browser one of the user's devices. It stays one of the users who signed in there before.
func (a *authenticator) rememberDevice(m member, w http.ResponseWriter, r *http.Request) {
	key, ok := a.key(m)
	if !ok {
		return
	}
	id := device(uuid.New())
	var others []string
	for _, part := range deviceParts(r) {
		switch own := a.parseDevice(part, m); {
		case own != device{}:
			id = own
		case len(part) == deviceSize && len(others) < maxDeviceUsers-1:
			others = append(others, part)
		}
	}
	own := base64.RawURLEncoding.EncodeToString(append(id[:], sign(key, slices.Concat(deviceLabel, id[:]))...))
	value := strings.Join(append([]string{own}, others...), deviceSeparator)
	http.SetCookie(w, hostCookie(r, deviceCookie, "/control/sign-in", value, deviceMaxAge))
}

// deviceParts returns the parts of the request's device cookie, of the user who signed in last first. They
// are not verified.
func deviceParts(r *http.Request) []string {
	cookie, err := r.Cookie(nameOf(r, deviceCookie))
	if err != nil {
		return nil
	}
	return strings.SplitN(cookie.Value, deviceSeparator, maxDeviceUsers+1)
}

// device returns the browser that a request comes from; zero if it is none of the user's devices.
func (a *authenticator) device(r *http.Request, m member) (id device) {
	for _, part := range deviceParts(r) {
		if id = a.parseDevice(part, m); id != (device{}) {
			return id
		}
	}
	return device{}
}

// deviceOwner returns whose device the browser is that a request comes from: of the range's staff, who signed
// in there last.
func (a *authenticator) deviceOwner(r *http.Request, rangeID uuid.UUID) (owner userBrowser, ok bool) {
	for _, part := range deviceParts(r) {
		for m := range a.staff {
			if m.rangeID != rangeID {
				continue
			}
			if id := a.parseDevice(part, m); id != (device{}) {
				return userBrowser{m, id}, true
			}
		}
	}
	return userBrowser{}, false
}

// parseDevice returns the browser of a user's part of a device cookie; zero if this gateway has not signed it
// for the user.
func (a *authenticator) parseDevice(part string, m member) (id device) {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(part)
	key, ok := a.key(m)
	if err != nil || !ok || len(decoded) != len(id)+sha256.Size {
		return device{}
	}
	if !hmac.Equal(decoded[len(id):], sign(key, slices.Concat(deviceLabel, decoded[:len(id)]))) {
		return device{}
	}
	return device(decoded[:len(id)])
}
