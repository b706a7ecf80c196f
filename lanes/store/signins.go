package store

import (
	"context"
	"time"
)

// SignIns keeps what sign-ins of staff need beyond one process: the secret that signs their cookies, and
// which sign-ins were ended before their time. What is in a range's records is no part of it, and an export
// or a backup has none of it. Its methods are safe for concurrent use.
type SignIns interface {
	// Load returns the secret, and the sign-ins that were ended, by an id that only their owner interprets;
	// each has the time from which it is of no use anyway, and is dropped then. Where there is no secret it
	// saves the one that it is given.
	Load(ctx context.Context, secret [32]byte) (stored [32]byte, signedOut map[[32]byte]time.Time, err error)
	// SignOut adds sign-ins that were ended, and removes others. It returns when that is durable.
	SignOut(ctx context.Context, add map[[32]byte]time.Time, remove [][32]byte) error
	// NewSecret saves another secret, which ends every sign-in. Load returns it, also in processes that run.
	NewSecret(ctx context.Context) error
}
