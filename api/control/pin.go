package control

import (
	"context"

	"github.com/alexedwards/argon2id"
)

// strength is what hashing a PIN costs: 19 MiB and some 30 ms, as OWASP advises. A PIN has few digits, so it is the limit
// on wrong ones that protects it, and this what protects the configuration file.
var strength = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// HashPIN is what the configuration keeps of a PIN (pin_hash).
func HashPIN(pin string) (string, error) { return argon2id.CreateHash(pin, &strength) }

// nobody is the hash that a PIN is compared with where there is nobody of that name, so that it takes as long.
const nobody = "$argon2id$v=19$m=19456,t=2,p=1$EEK29Vw/dH7VqlgfaIF6mw$WA2gFBOKHPEEDk8mgP2ylg1vpLNO5fG01YC/oRedUco"

// comparisons is how many PINs are compared at a time, which bounds the memory that takes.
const comparisons = 2

// fits tells whether it is the PIN of the hash. It waits for its turn, and for no longer than the context lasts.
func (d *door) fits(ctx context.Context, pin, hash string) (bool, error) {
	select {
	case d.comparing <- struct{}{}:
		defer func() { <-d.comparing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	match, err := argon2id.ComparePasswordAndHash(pin, hash)
	return match && err == nil, nil
}
