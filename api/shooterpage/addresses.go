package shooterpage

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"github.com/google/uuid"
)

// Addresses makes and reads the addresses of sessions' pages. One has the session's id and a MAC of it and of
// its range, so that nobody can make one for another session; the key is that of the gateway's state, so that
// it outlives a restart and every node knows it. The range stands in it in few bytes, so that its QR code
// stays coarse.
type Addresses struct {
	key    func() []byte
	ranges map[rangeTag][]uuid.UUID
}

// NewAddresses returns the addresses for those ranges. key returns the key that signs them, which may change:
// those that it signed before are invalid then.
func NewAddresses(key func() []byte, ranges []uuid.UUID) Addresses {
	a := Addresses{key: key, ranges: map[rangeTag][]uuid.UUID{}}
	for _, id := range ranges {
		a.ranges[tagOf(id)] = append(a.ranges[tagOf(id)], id)
	}
	return a
}

// rangeTag tells the ranges of a gateway apart. Two may have the same: the MAC is of one of them.
type rangeTag [4]byte

func tagOf(rangeID uuid.UUID) rangeTag {
	digest := sha256.Sum256(slices.Concat([]byte("rangegate range of a page\n"), rangeID[:]))
	return rangeTag(digest[:])
}

// macSize is the size of the MAC in bytes. Nobody finds one of 96 bits by asking a gateway.
const macSize = 12

const tokenSize = len(rangeTag{}) + len(uuid.UUID{}) + macSize

func (a Addresses) mac(rangeID, session uuid.UUID) []byte {
	mac := hmac.New(sha256.New, a.key())
	mac.Write(rangeID[:])
	mac.Write(session[:])
	return mac.Sum(nil)[:macSize]
}

// Path returns the path of a session's page.
func (a Addresses) Path(rangeID, session uuid.UUID) string {
	tag := tagOf(rangeID)
	return "/my/" + base64.RawURLEncoding.EncodeToString(slices.Concat(tag[:], session[:], a.mac(rangeID, session)))
}

// parse returns what the token of an address is of. ok is false if this gateway has not made it.
func (a Addresses) parse(token string) (of shownSession, ok bool) {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(decoded) != tokenSize {
		return shownSession{}, false
	}
	tag, rest := rangeTag(decoded), decoded[len(rangeTag{}):]
	session, given := uuid.UUID(rest[:16]), rest[16:]
	for _, rangeID := range a.ranges[tag] {
		if hmac.Equal(given, a.mac(rangeID, session)) {
			return shownSession{rangeID, session}, true
		}
	}
	return shownSession{}, false
}

// shownSession is the session of a page.
type shownSession struct{ rangeID, session uuid.UUID }
