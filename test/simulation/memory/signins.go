package memory

import (
	"context"
	"crypto/rand"
	"maps"
	"time"

	"rangegate/lanes/store"
)

// SignIns is what the server keeps of sign-ins.
type SignIns struct{ store *Store }

var _ store.SignIns = SignIns{}

// SignIns returns it.
func (s *Store) SignIns() SignIns { return SignIns{s} }

// Load implements store.SignIns.
func (s SignIns) Load(
	ctx context.Context, secret [32]byte,
) (stored [32]byte, signedOut map[[32]byte]time.Time, err error) {
	end, err := s.store.begin(ctx)
	if err != nil {
		return stored, nil, err
	}
	defer end()
	d := &s.store.server.data
	if d.secret == nil {
		d.secret = &secret
	}
	maps.DeleteFunc(d.signedOut, func(_ [32]byte, until time.Time) bool { return !until.After(time.Now()) })
	return *d.secret, maps.Clone(d.signedOut), nil
}

// SignOut implements store.SignIns.
func (s SignIns) SignOut(ctx context.Context, add map[[32]byte]time.Time, remove [][32]byte) error {
	end, err := s.store.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	signedOut := s.store.server.data.signedOut
	maps.Copy(signedOut, add)
	for _, id := range remove {
		delete(signedOut, id)
	}
	return nil
}

// NewSecret implements store.SignIns.
func (s SignIns) NewSecret(ctx context.Context) error {
	end, err := s.store.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	s.store.server.data.secret = new([32]byte)
	_, _ = rand.Read(s.store.server.data.secret[:]) // never fails
	return nil
}
