package control

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"rangegate/api/screens"
)

// A device is a browser that somebody has signed in with before. Wrong PINs that strangers send for a name have a limit, and
// must not keep the person of that name out, who may want to declare a ceasefire: their own browsers have limits of their
// own. What it keeps is an id, and a MAC that shows for whom it was made.
type device [16]byte

const (
	deviceCookie = "rangegate_device"
	deviceFor    = 400 * 24 * 3600 // seconds: as long as browsers keep anything
)

func (s *sessions) deviceMAC(id device, who member) []byte {
	return sign(s.keys[who.rangeID][who.name], append([]byte("device of "), id[:]...))
}

// remember makes the browser one of that person's.
func (s *sessions) remember(who member, w http.ResponseWriter, r *http.Request) {
	id, known := s.device(r, who)
	if !known {
		_, _ = rand.Read(id[:]) // never fails
	}
	http.SetCookie(w, &http.Cookie{
		Name: deviceCookie, Value: base64.RawURLEncoding.EncodeToString(append(id[:], s.deviceMAC(id, who)...)),
		Path: "/control/sign-in", MaxAge: deviceFor, HttpOnly: true, Secure: screens.Secure(r), SameSite: http.SameSiteStrictMode,
	})
}

// device is the browser that a request comes from, if it is one of that person's.
func (s *sessions) device(r *http.Request, who member) (id device, known bool) {
	if _, staff := s.keys[who.rangeID][who.name]; !staff {
		return id, false
	}
	cookie, err := r.Cookie(deviceCookie)
	if err != nil {
		return id, false
	}
	all, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(all) != len(id)+sha256.Size {
		return id, false
	}
	id = device(all[:len(id)])
	return id, hmac.Equal(all[len(id):], s.deviceMAC(id, who))
}
