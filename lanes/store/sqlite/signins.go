package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"rangegate/lanes/store"
)

var _ store.SignIns = (*SignIns)(nil)

// SignIns keeps the secret that signs the cookies of staff, and which sign-ins were ended before their time,
// in two files beside the store's: FILE.secret and FILE.signed-out. They are files of their own, so that a
// copy of the store has neither, and so that staff can be signed out while SQLite cannot be written. Only
// their owner may read them. Its methods are safe for concurrent use; of the processes that use them only the
// one that has the store open ends sign-ins.
type SignIns struct {
	secretFile, signedOutFile string
	mu                        sync.Mutex
}

// SignInsBeside returns the sign-ins that belong to the store in that file. It reads and writes nothing.
func SignInsBeside(path string) (*SignIns, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("sign-ins: %w", err)
	}
	return &SignIns{secretFile: path + ".secret", signedOutFile: path + ".signed-out"}, nil
}

// Load implements store.SignIns. A secret that others than its owner could read is replaced by a new one:
// they could sign cookies.
func (s *SignIns) Load(
	_ context.Context, secret [32]byte,
) (stored [32]byte, signedOut map[[32]byte]time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err = s.readSecret()
	switch {
	case errors.Is(err, os.ErrNotExist):
		stored, err = secret, s.writeSecret(secret)
	case errors.Is(err, errExposed):
		stored = newSecret()
		err = s.writeSecret(stored)
	}
	if err == nil {
		signedOut, err = s.readSignedOut()
	}
	if err != nil {
		return [32]byte{}, nil, fmt.Errorf("sign-ins: %w", err)
	}
	return stored, signedOut, nil
}

// SignOut implements store.SignIns.
func (s *SignIns) SignOut(_ context.Context, add map[[32]byte]time.Time, remove [][32]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.readSignedOut()
	if err == nil {
		maps.Copy(all, add)
		for _, id := range remove {
			delete(all, id)
		}
		var text strings.Builder
		for id, until := range all {
			if time.Now().Before(until) {
				fmt.Fprintf(&text, "%x %d\n", id, until.UnixMilli())
			}
		}
		err = replaceFile(s.signedOutFile, text.String())
	}
	if err != nil {
		return fmt.Errorf("sign-ins: %w", err)
	}
	return nil
}

// NewSecret implements store.SignIns.
func (s *SignIns) NewSecret(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writeSecret(newSecret()); err != nil {
		return fmt.Errorf("sign-ins: %w", err)
	}
	return nil
}

func newSecret() (secret [32]byte) {
	_, _ = rand.Read(secret[:]) // never fails
	return secret
}

var errExposed = errors.New("others could read the secret")

// readSecret returns os.ErrNotExist where there is none, and errExposed.
func (s *SignIns) readSecret() (secret [32]byte, err error) {
	info, err := os.Stat(s.secretFile)
	if err != nil {
		return secret, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return secret, errExposed
	}
	text, err := os.ReadFile(s.secretFile)
	if err != nil {
		return secret, err
	}
	if text = bytes.TrimSpace(text); len(text) != hex.EncodedLen(len(secret)) {
		return secret, s.notASecret()
	}
	if _, err := hex.Decode(secret[:], text); err != nil {
		return secret, s.notASecret()
	}
	return secret, nil
}

// notASecret quotes nothing of the file.
func (s *SignIns) notASecret() error {
	return fmt.Errorf("%s: wants 64 hexadecimal digits; rangegate store new-secret writes another secret", s.secretFile)
}

func (s *SignIns) writeSecret(secret [32]byte) error {
	return replaceFile(s.secretFile, hex.EncodeToString(secret[:])+"\n")
}

func (s *SignIns) readSignedOut() (signedOut map[[32]byte]time.Time, err error) {
	signedOut = map[[32]byte]time.Time{}
	text, err := os.ReadFile(s.signedOutFile)
	if errors.Is(err, os.ErrNotExist) {
		return signedOut, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		digits, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		id, idErr := hex.DecodeString(digits)
		until, untilErr := strconv.ParseInt(at, 10, 64)
		if idErr != nil || untilErr != nil || len(id) != 32 {
			return nil, fmt.Errorf("%s: damaged; remove it and run rangegate store new-secret: both end every sign-in",
				s.signedOutFile)
		}
		signedOut[[32]byte(id)] = time.UnixMilli(until)
	}
	return signedOut, nil
}

// replaceFile puts a file with that text, which only its owner may read, in the place of path. It returns when that is
// durable; a crash leaves the old file or the new one.
func replaceFile(path, text string) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) { // of a crash, with a mode of its own
		return err
	}
	file, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return errors.Join(os.Rename(fresh, path), syncFolder(filepath.Dir(path)))
}
