package redis

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

var _ store.SignIns = (*SignIns)(nil)

// signInsKey is a hash of all gateways that share the server: the secret that signs the cookies of staff, and
// the sign-ins that were ended before their time, each with the time from which it is of no use anyway.
const signInsKey = "rangegate:{sign-ins}"

const secretField = "secret"

//go:embed signins.lua
var signInsLua string

var signInsScript = goredis.NewScript(signInsLua)

// SignIns keeps what sign-ins of staff need in the server of a store, for every gateway that uses it. Its
// methods are safe for concurrent use.
type SignIns struct{ store *Store }

// SignIns returns the sign-ins in the server. They are of use until the store is closed.
func (s *Store) SignIns() *SignIns { return &SignIns{s} }

// Load implements store.SignIns. Of gateways that find no secret at the same time, the first one's is saved.
func (s *SignIns) Load(
	ctx context.Context, secret [32]byte,
) (stored [32]byte, signedOut map[[32]byte]time.Time, err error) {
	fields, err := call(ctx, s.store, func(ctx context.Context) (map[string]string, error) {
		return s.store.reads.HGetAll(ctx, signInsKey).Result()
	})
	if err != nil {
		return stored, nil, s.store.serverError(err)
	}
	text, found := fields[secretField]
	if !found {
		if text, err = s.write(ctx, hex.EncodeToString(secret[:]), "", nil, nil); err != nil {
			return stored, nil, err
		}
	}
	if stored, err = decode32(text); err != nil {
		return stored, nil, s.store.corrupt(signInsKey+" "+secretField, err)
	}
	signedOut = map[[32]byte]time.Time{}
	var past []string
	for name, value := range fields {
		if name == secretField {
			continue
		}
		id, err := decode32(name)
		until, untilErr := strconv.ParseInt(value, 10, 64)
		if err = errors.Join(err, untilErr); err != nil {
			return [32]byte{}, nil, s.store.corrupt(signInsKey,
				errors.New("a sign-in that was ended is not what was written"))
		}
		if signedOut[id] = time.UnixMilli(until); !time.Now().Before(signedOut[id]) {
			delete(signedOut, id)
			past = append(past, name)
		}
	}
	if len(past) > 0 {
		if _, err := s.write(ctx, "", "", nil, past); err != nil {
			return [32]byte{}, nil, err
		}
	}
	return stored, signedOut, nil
}

// SignOut implements store.SignIns. It waits for as many replicas as a flush does.
func (s *SignIns) SignOut(ctx context.Context, add map[[32]byte]time.Time, remove [][32]byte) error {
	var added, removed []string
	for id, until := range add {
		added = append(added, hex.EncodeToString(id[:]), milliseconds(until))
	}
	for _, id := range remove {
		removed = append(removed, hex.EncodeToString(id[:]))
	}
	_, err := s.write(ctx, "", "", added, removed)
	return err
}

// NewSecret implements store.SignIns.
func (s *SignIns) NewSecret(ctx context.Context) error {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	_, err := s.write(ctx, "", hex.EncodeToString(secret[:]), nil, nil)
	return err
}

// write runs the script, whose arguments these are, and returns the secret that is stored then. It waits for
// replicas like a flush.
func (s *SignIns) write(
	ctx context.Context, secret, newSecret string, added, removed []string,
) (stored string, err error) {
	if err := s.store.begin(); err != nil {
		return "", err
	}
	defer s.store.calls.Done()
	args := []any{secret, newSecret, strconv.Itoa(len(added) / 2)}
	for _, text := range append(added, removed...) {
		args = append(args, text)
	}
	w := newWrite(signInsScript, uuid.Nil, args, 0)
	w.keys = []string{signInsKey}
	r, err := s.store.write(ctx, w, uuid.Nil)
	if err == nil {
		err = s.store.replyError(r)
	}
	if err == nil && !r.isWritten() {
		err = fmt.Errorf("the script replied %q", r.text(0))
	}
	if err != nil {
		return "", fmt.Errorf("sign-ins: %w", err)
	}
	return r.text(1), nil
}

// decode32 decodes 64 hexadecimal digits. Its error quotes nothing of them: they may be the secret.
func decode32(text string) (decoded [32]byte, err error) {
	if len(text) != hex.EncodedLen(len(decoded)) {
		return decoded, errors.New("wants 64 hexadecimal digits")
	}
	if _, err := hex.Decode(decoded[:], []byte(text)); err != nil {
		return decoded, errors.New("wants 64 hexadecimal digits")
	}
	return decoded, nil
}
