package control

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"github.com/alexedwards/argon2id"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/screens"
)

// pinHashing is the cost of hashing a PIN: 19 MiB and about 30 ms, as OWASP recommends. A PIN has few digits, so the limit on
// wrong PINs protects the PIN; the cost protects the configuration file.
var pinHashing = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// HashPIN returns the hash of a PIN for the configuration (pin_hash). It takes about 30 ms.
func HashPIN(pin string) (string, error) { return argon2id.CreateHash(pin, &pinHashing) }

// dummyHash is compared with the PIN of an unknown name, so that the refusal takes as long as for a known one.
const dummyHash = "$argon2id$v=19$m=19456,t=2,p=1$EEK29Vw/dH7VqlgfaIF6mw$WA2gFBOKHPEEDk8mgP2ylg1vpLNO5fG01YC/oRedUco"

const (
	// maxComparisons is the number of parallel PIN comparisons; it bounds their memory.
	maxComparisons = 2
	// maxWrongPINs is the number of wrong PINs a minute for a client's network, and for a userBrowser.
	maxWrongPINs = 5
)

// SignInLimiters remember wrong PINs, and bound the comparisons. They outlive a reload.
type SignInLimiters struct {
	byNetwork   *screens.AttemptLimiter[netip.Prefix]
	byBrowser   *screens.AttemptLimiter[userBrowser]
	comparisons chan struct{}
}

// NewSignInLimiters returns limiters that remember nothing.
func NewSignInLimiters() *SignInLimiters {
	return &SignInLimiters{
		byNetwork:   screens.NewAttemptLimiter[netip.Prefix](maxWrongPINs),
		byBrowser:   screens.NewAttemptLimiter[userBrowser](maxWrongPINs),
		comparisons: make(chan struct{}, maxComparisons),
	}
}

// SetFailures sets how many wrong credentials a minute a client's network may send. PINs are short: of them it is never more than
// maxWrongPINs. 0 is no other limit.
func (l *SignInLimiters) SetFailures(perMinute int) {
	l.byNetwork.SetPerMinute(screens.AtMost(maxWrongPINs, perMinute))
}

// signInLimiter checks PINs and limits wrong ones.
type signInLimiter struct {
	*SignInLimiters
	pinHashes map[member]string
}

// userBrowser is what a user signs in from: one of the user's devices, or any other browser, which all count as one.
type userBrowser struct {
	member
	device // zero: any other
}

func newSignInLimiter(pinHashes map[member]string, limiters *SignInLimiters) *signInLimiter {
	var permanent []userBrowser
	for m := range pinHashes {
		permanent = append(permanent, userBrowser{member: m})
	}
	limiters.byBrowser.SetPermanent(permanent...)
	return &signInLimiter{SignInLimiters: limiters, pinHashes: pinHashes}
}

// check returns nil if that is the PIN of that name. An unknown name gets the same refusal as a wrong PIN, after the same
// time. Beyond the limit the PIN is not compared, so that a right one reveals nothing either. check blocks while other PINs
// are compared, until ctx ends.
func (l *signInLimiter) check(ctx context.Context, b userBrowser, pin string, from netip.Prefix) error {
	if wait, ok := l.byNetwork.Reserve(from); !ok {
		return screens.TooManyAttempts(wait)
	}
	if wait, ok := l.byBrowser.Reserve(b); !ok {
		return screens.TooManyAttempts(wait)
	}
	hash, found := l.pinHashes[b.member]
	if !found {
		hash = dummyHash
	}
	match, err := l.compare(ctx, pin, hash)
	if err != nil {
		return err
	}
	if !match || !found {
		return endpoint.Refuse("unauthorized", "the range, the name or the PIN is wrong", 0)
	}
	l.byNetwork.Refund(from)
	l.byBrowser.Refund(b)
	return nil
}

// compare is true if the hash is of the PIN. It blocks while other PINs are compared, until ctx ends.
func (l *signInLimiter) compare(ctx context.Context, pin, hash string) (bool, error) {
	select {
	case l.comparisons <- struct{}{}:
		defer func() { <-l.comparisons }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	match, err := argon2id.ComparePasswordAndHash(pin, hash)
	return match && err == nil, nil
}

// exchange is a request and its response, for the endpoint that sets cookies.
type exchange struct {
	w http.ResponseWriter
	r *http.Request
}

type exchangeKey struct{}

func withExchange(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, exchange{w, r})))
	})
}

type signIn struct {
	member
	pin string
}

func readSignIn(in *endpoint.Input) signIn {
	return signIn{
		member: member{
			rangeID: in.ID("range_id", "The range", "11111111-1111-4111-8111-111111111111"),
			name:    in.Text("name", 1, 200, "Who signs in", "sam"),
		},
		pin: in.Text("pin", 1, 100, "Their PIN", "1234"),
	}
}

// signIn begins a session and ends the one that the browser had before.
func (c *screen) signIn(ctx context.Context, s signIn) (endpoint.Empty, error) {
	x := ctx.Value(exchangeKey{}).(exchange)
	logFields := func(line *zerolog.Event) *zerolog.Event {
		line = line.Stringer("range_id", s.rangeID)
		if _, ok := c.signIns.pinHashes[s.member]; ok { // another name may be a PIN typed into the wrong field
			line = line.Str("name", s.name)
		}
		return line
	}
	log := request.Log(ctx)
	from := userBrowser{s.member, c.auth.device(x.r, s.member)}
	if err := c.signIns.check(ctx, from, s.pin, request.ClientNetwork(x.r)); err != nil {
		line := log.Warn()
		if isTooMany(err) { // any number of them can be sent
			line = log.Debug()
		}
		logFields(line).Err(err).Msg("a sign-in was refused")
		return endpoint.Empty{}, err
	}
	logFields(log.Info()).Msg("signed in")
	request.SetRange(ctx, s.rangeID)
	if before, ok := c.auth.find(x.r); ok {
		before.end()
	}
	c.auth.use(c.auth.begin(s.member), x.w, x.r)
	c.auth.rememberDevice(s.member, x.w, x.r)
	return endpoint.Empty{}, nil
}

// isTooMany is true for the refusal of an attempt beyond the limit.
func isTooMany(err error) bool {
	var coded interface{ Code() string }
	return errors.As(err, &coded) && coded.Code() == "too_many_requests"
}

// signOut ends the session, in every window that has it.
func (c *screen) signOut(w http.ResponseWriter, r *http.Request) {
	s := sessionOf(r.Context())
	s.end()
	w.Header().Del("Set-Cookie")
	setCookie(w, r, "", -1)
	request.Log(r.Context()).Info().Str("name", s.name).Msg("signed out")
	w.WriteHeader(http.StatusNoContent)
}
