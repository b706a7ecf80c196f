package frame

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/google/uuid"
)

// tokenBytes is the size of a challenge and of a proof (SHA-256).
const tokenBytes = 32

// tokens encodes challenges and proofs. It refuses a second spelling of the same bytes.
var tokens = base64.RawURLEncoding.Strict()

// NewChallenge returns a random challenge.
func NewChallenge() string {
	var challenge [tokenBytes]byte
	_, _ = rand.Read(challenge[:]) // never fails (crypto/rand)
	return tokens.EncodeToString(challenge[:])
}

// Handshake is what gateway and controller prove to each other that they have the lane's key with (LINK.md,
// Who speaks). The challenges are new for each connection, so a proof of another connection is worth nothing.
type Handshake struct {
	Key        string // of the lane
	Lane       uuid.UUID
	Gateway    string // the challenge in the gateway's hello
	Controller string // the challenge in the controller's hello
}

// ControllerProof returns the proof in the controller's hello, which names that report log.
func (h Handshake) ControllerProof(logID string) string {
	return h.proof("controller", h.Gateway, h.Controller, logID)
}

// GatewayProof returns the proof in the gateway's first state, for the epoch in its hello.
func (h Handshake) GatewayProof(epoch uint64) string {
	return h.proof("gateway", h.Controller, h.Gateway, strconv.FormatUint(epoch, 10))
}

// VerifyController reports whether that is the controller's proof. It takes the same time for every wrong one.
func (h Handshake) VerifyController(proof, logID string) bool {
	return hmac.Equal([]byte(proof), []byte(h.ControllerProof(logID)))
}

// VerifyGateway reports whether that is the gateway's proof. It takes the same time for every wrong one.
func (h Handshake) VerifyGateway(proof string, epoch uint64) bool {
	return hmac.Equal([]byte(proof), []byte(h.GatewayProof(epoch)))
}

// proof computes the proof of a side. Only the last part may have a line break in it, so each text has one reading.
func (h Handshake) proof(side, theirs, own, last string) string {
	sum := hmac.New(sha256.New, []byte(h.Key))
	// never fails
	_, _ = sum.Write([]byte(Subprotocol + " " + side + "\n" + h.Lane.String() + "\n" + theirs + "\n" +
		own + "\n" + last))
	return tokens.EncodeToString(sum.Sum(nil))
}

// optionalToken reads a challenge or a proof.
func (o object) optionalToken(key string) string {
	if !o.has(key) || o.notes(key, tokenRule) {
		return ""
	}
	text := o.text(key)
	if decoded, err := tokens.DecodeString(text); err != nil || len(decoded) != tokenBytes ||
		len(text) != tokens.EncodedLen(tokenBytes) {
		o.fail(key, "32 bytes as base64url without padding")
		return ""
	}
	return text
}
