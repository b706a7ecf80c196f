package control

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
)

// wrongAtMost is how many wrong PINs a minute are taken of an address, and for a name: from one of that person's own browsers,
// or from all others together.
const wrongAtMost = 5

// door is what signing in passes.
type door struct {
	staff     map[uuid.UUID]map[string]string
	byAddress *screens.Attempts[netip.Prefix]
	byName    *screens.Attempts[member]
	byDevice  *screens.Attempts[device]
	comparing chan struct{}
}

// member is a name of a range, whether there is somebody of that name or not.
type member struct {
	rangeID uuid.UUID
	name    string
}

func newDoor(staff map[uuid.UUID]map[string]string) *door {
	var known []member
	for rangeID, members := range staff {
		for name := range members {
			known = append(known, member{rangeID, name})
		}
	}
	return &door{
		staff:     staff,
		byAddress: screens.NewAttempts[netip.Prefix](wrongAtMost),
		byName:    screens.NewAttempts(wrongAtMost, known...),
		byDevice:  screens.NewAttempts[device](wrongAtMost),
		comparing: make(chan struct{}, comparisons),
	}
}

// opens tells whether that is the PIN of that name. Of who is unknown it says no more than of a wrong PIN, and as slowly.
// Whoever was wrong too often is not even compared, so a right PIN says nothing either. own is the browser, if it is one of
// that person's; nil otherwise.
func (d *door) opens(ctx context.Context, who member, pin string, from netip.Prefix, own *device) error {
	if wait, ok := d.byAddress.Take(from); !ok {
		return screens.TooMany{Wait: wait}
	}
	take, giveBack := func() (time.Duration, bool) { return d.byName.Take(who) }, func() { d.byName.GiveBack(who) }
	if own != nil {
		take, giveBack = func() (time.Duration, bool) { return d.byDevice.Take(*own) }, func() { d.byDevice.GiveBack(*own) }
	}
	if wait, ok := take(); !ok {
		return screens.TooMany{Wait: wait}
	}
	hash, known := d.staff[who.rangeID][who.name]
	if !known {
		hash = nobody
	}
	match, err := d.fits(ctx, pin, hash)
	if err != nil {
		return err
	}
	if !match || !known {
		return stranger{}
	}
	d.byAddress.GiveBack(from)
	giveBack()
	return nil
}

// stranger is the one answer to all that is wrong with a sign-in.
type stranger struct{}

func (stranger) Error() string { return "the range, the name or the PIN is wrong" }

// Code is unauthorized.
func (stranger) Code() string { return "unauthorized" }

type signIn struct {
	member
	pin string
}

func (c *screen) signInEndpoint() endpoint.Endpoint {
	return endpoint.Handle("POST", "/", http.StatusNoContent, "Sign in", readSignIn, c.signIn, "unauthorized", "too_many_requests")
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

// signIn begins a session. One that the browser had before is over.
func (c *screen) signIn(ctx context.Context, s signIn) (endpoint.Empty, error) {
	at := ctx.Value(visitKey{}).(visit)
	about := func(line *zerolog.Event) *zerolog.Event {
		line = line.Stringer("range", s.rangeID)
		if _, known := c.Staff[s.rangeID][s.name]; known { // anything else may be a PIN that was typed into the wrong field
			line = line.Str("name", s.name)
		}
		return line
	}
	var own *device
	if id, known := c.sessions.device(at.r, s.member); known {
		own = &id
	}
	if err := c.door.opens(ctx, s.member, s.pin, c.Network(at.r.RemoteAddr), own); err != nil {
		about(c.Log(ctx).Warn()).Err(err).Msg("a sign-in was refused")
		return endpoint.Empty{}, err
	}
	about(c.Log(ctx).Info()).Msg("signed in")
	c.Note(ctx, s.rangeID)
	if before, in := c.sessions.of(at.r); in {
		before.end()
	}
	c.sessions.give(c.sessions.begin(s.rangeID, s.name), at.w, at.r)
	c.sessions.remember(s.member, at.w, at.r)
	return endpoint.Empty{}, nil
}

// signOut ends the session, on every screen that has it.
func (c *screen) signOut(w http.ResponseWriter, r *http.Request) {
	of := sessionOf(r.Context())
	of.end()
	w.Header().Del("Set-Cookie")
	setCookie(w, r, "", -1)
	c.Log(r.Context()).Info().Str("name", of.name).Msg("signed out")
	w.WriteHeader(http.StatusNoContent)
}
