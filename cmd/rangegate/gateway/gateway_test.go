package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The version in the User-Agent has the characters of a product token only (RFC 9110).
func TestTheProductVersionIsAToken(t *testing.T) {
	for version, product := range map[string]string{
		"(devel)": "devel", "2.1.0": "2.1.0",
		"v0.0.0-20261122180000-0123456789ab+dirty": "v0.0.0-20261122180000-0123456789ab+dirty",
		"2.1.0 (a/b)": "2.1.0ab", "2.1.0~rc1": "2.1.0~rc1", "2·1é": "21",
	} {
		require.Equal(t, product, productVersion(version))
	}
}
