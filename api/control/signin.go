package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/routing"
	"rangegate/api/screens"
	"rangegate/api/staffops"
	"rangegate/lanes"
)

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

// signInDestination returns the range that somebody signs in at: its owner alone compares PINs and delays
// wrong ones. It reads the key exactly as the endpoint does, so that a request is never compared anywhere
// else. What names no range with staff is refused here.
func (c *screen) signInDestination(r *http.Request) (uuid.UUID, routing.Way) {
	body, err := routing.Body(r)
	var keys map[string]json.RawMessage
	if err != nil || json.Unmarshal(body, &keys) != nil {
		return uuid.Nil, routing.SignIn
	}
	var text string
	if json.Unmarshal(keys["range_id"], &text) != nil {
		return uuid.Nil, routing.SignIn
	}
	id, err := uuid.Parse(text)
	if _, found := c.Staff[id]; err != nil || !found {
		return uuid.Nil, routing.SignIn
	}
	return id, routing.SignIn
}

// signIn begins a session and ends the one that the browser had before.
func (c *screen) signIn(ctx context.Context, s signIn) (endpoint.Empty, error) {
	x := ctx.Value(exchangeKey{}).(exchange)
	_, isStaff := c.auth.staff[s.member]
	logFields := func(line *zerolog.Event) *zerolog.Event {
		line = line.Stringer("range_id", s.rangeID)
		if isStaff { // another name may be a PIN typed into the wrong field
			line = line.Str("name", s.name)
		}
		return line
	}
	log := request.Log(ctx)
	from := userBrowser{s.member, c.auth.device(x.r, s.member)}
	err := c.signIns.check(ctx, from, s.pin, request.ClientNetwork(x.r))
	c.Attempts.count(s.rangeID, err)
	if err != nil {
		line := log.Warn()
		if isTooMany(err) { // any number of them can be sent
			line = log.Debug()
		}
		logFields(line).Err(err).Msg("a sign-in was refused")
		if isStaff && errors.Is(err, errWrong) {
			c.record(ctx, s.member, lanes.DidFailSignIn)
		}
		return endpoint.Empty{}, err
	}
	logFields(log.Info()).Msg("signed in")
	request.SetRange(ctx, s.rangeID)
	if before, ok := c.auth.find(x.r); ok {
		if err := c.auth.signOut(ctx, before); err != nil {
			log.Error().Err(err).Msg("the session before is signed out, and that is not saved yet")
		}
		if before.member != s.member { // another user takes over at this screen
			c.record(ctx, before.member, lanes.DidSignOut)
		}
	}
	c.auth.setCookie(x.w, x.r, sessionCookie, c.auth.begin(s.member))
	c.auth.rememberDevice(s.member, x.w, x.r)
	c.record(ctx, s.member, lanes.DidSignIn)
	return endpoint.Empty{}, nil
}

// publicView is what anybody who has the address of a range's sign-in page is told: the range's name, and of
// a ceasefire, as whoever comes to the screen must know of it before the PIN is typed.
type publicView struct {
	Range string  `json:"range_name"` // empty for a range without staff
	Known bool    `json:"known"`      // false while the range does not run here, and for a range without staff
	Over  string  `json:"over"`       // range, or bay for a part of it; empty: there is none
	Since *string `json:"since"`
	// Begin is true for a browser that may begin one without a PIN: see beginCeasefire.
	Begin bool `json:"may_begin"`
}

func readRange(in *endpoint.Input) uuid.UUID { return in.PathID("range_id", "The range") }

// ceasefireDestination returns the range whose ceasefire is asked for: its owner knows. Whoever may begin one
// needs none of the places of those without credentials, which anybody can fill.
func (c *screen) ceasefireDestination(r *http.Request) (uuid.UUID, routing.Way) {
	id, err := uuid.Parse(r.PathValue("range_id"))
	if _, found := c.Staff[id]; err != nil || !found {
		return uuid.Nil, routing.SignIn
	}
	if _, ok := c.auth.deviceOwner(r, id); ok && r.Method == http.MethodPut {
		request.SetRange(r.Context(), id)
		return id, routing.Hold
	}
	return id, routing.SignIn
}

func (c *screen) ceasefireState(ctx context.Context, rangeID uuid.UUID) (publicView, error) {
	staff, found := c.Staff[rangeID]
	if !found || len(staff.Members) == 0 {
		return publicView{}, nil
	}
	view := publicView{Range: staff.Name}
	_, view.Begin = c.auth.deviceOwner(ctx.Value(exchangeKey{}).(exchange).r, rangeID)
	r, err := c.Range(rangeID)
	if err != nil {
		return view, nil
	}
	view.Known = true
	var since time.Time
	for _, hold := range r.Holds().InForce {
		first := view.Over == "" || hold.Since.Before(since)
		if hold.Kind == lanes.OverRange || (hold.Kind == lanes.OverBay && view.Over != lanes.OverRange && first) {
			since = hold.Since
			view.Over, view.Since = hold.Kind, new(endpoint.Stamp(since))
		}
	}
	return view, nil
}

// ceasefireBegin is a request to begin a ceasefire before anybody signs in.
type ceasefireBegin struct {
	rangeID uuid.UUID
	scope   lanes.Scope
}

func readCeasefireBegin(in *endpoint.Input) ceasefireBegin {
	return ceasefireBegin{readRange(in), staffops.ReadScope(in)}
}

// beginCeasefire sets a hold for a browser in which one of the range's staff has signed in before, and whose
// session has ended. It needs no PIN: a ceasefire must not wait for one. It ends nothing, and is recorded
// under the name of who signed in there last. Errors: unauthorized for any other browser, too_many_requests,
// those of Range.
func (c *screen) beginCeasefire(ctx context.Context, b ceasefireBegin) (staffops.HoldResult, error) {
	owner, ok := c.auth.deviceOwner(ctx.Value(exchangeKey{}).(exchange).r, b.rangeID)
	if !ok {
		request.Log(ctx).Debug().Stringer("range_id", b.rangeID).
			Msg("a ceasefire was refused: nobody has signed in with this browser")
		return staffops.HoldResult{}, endpoint.Refuse("unauthorized",
			"nobody of the range's staff has signed in with this browser", 0)
	}
	request.SetRange(ctx, b.rangeID)
	r, err := c.Range(b.rangeID)
	if err != nil {
		return staffops.HoldResult{}, err
	}
	if !r.Holds().Has(b.scope) { // a browser repeats what was not confirmed
		if wait, ok := c.Attempts.ceasefires.Reserve(owner); !ok {
			return staffops.HoldResult{}, screens.TooManyAttempts(wait)
		}
	}
	request.Log(ctx).Warn().Str("name", owner.name).Str("scope", b.scope.Kind).
		Msg("a ceasefire is begun by a browser where nobody is signed in")
	return staffops.HoldChange{Scope: b.scope, On: true}.Apply(ctx, r, "device of "+owner.name)
}

// record saves that the user has signed in, or out, or that somebody tried to as this user. Whoever does so
// very often is not recorded each time: the record of everything else must not be pushed out of the store.
// While the range is not running here, only the log has it.
func (c *screen) record(ctx context.Context, m member, what string) {
	if r, err := c.Range(m.rangeID); err == nil && c.Attempts.mayRecord(m) {
		r.Record(ctx, m.name, what)
	}
}

// isTooMany is true for the refusal of an attempt beyond the limit.
func isTooMany(err error) bool {
	var coded interface{ Code() string }
	return errors.As(err, &coded) && coded.Code() == "too_many_requests"
}

// signOutLimit is how long a sign-out waits for the store.
const signOutLimit = 3 * time.Second

// signOut ends the session, in every window that has it, and for good. While the store is down it answers
// not_saved: the session has ended here, and after a restart a copy of its cookie would be valid again.
func (c *screen) signOut(w http.ResponseWriter, r *http.Request) {
	s := sessionOf(r.Context())
	ctx, cancel := context.WithTimeout(r.Context(), signOutLimit)
	defer cancel()
	err := c.auth.signOut(ctx, s)
	w.Header().Del("Set-Cookie")
	deleteCookies(w, r)
	request.Log(r.Context()).Info().Str("name", s.name).Msg("signed out")
	c.record(r.Context(), s.member, lanes.DidSignOut)
	if err != nil {
		request.Log(r.Context()).Error().Err(err).Msg("a sign-out could not be saved; it is tried again")
		c.fail(w, r, endpoint.Refuse("not_saved", "signed out here; it is not saved yet", 0))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
