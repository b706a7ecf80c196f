package lanes_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// The key of a request whose result is known only when it is saved answers what that is then; a request without a key
// keeps none.
func TestAKeyOfAnotherResult(t *testing.T) {
	var none *lanes.KeyOf[int]
	require.Nil(t, none.Of(new(1)))

	result := 1
	key := (&lanes.KeyOf[int]{Name: "sale-1042", Fingerprint: "of it", Render: func(n int) (int, []byte) {
		return http.StatusOK, []byte{byte(n)}
	}}).Of(&result)
	result = 2
	status, body := key.Render(nil)
	require.Equal(t, []any{"sale-1042", "of it", http.StatusOK, []byte{2}},
		[]any{key.Name, key.Fingerprint, status, body})
}

// The bounds that WIRE.md states.
func TestTheBoundsOfTheContract(t *testing.T) {
	for _, bound := range [][2]time.Duration{
		{24 * time.Hour, lanes.KeyTerm},
		{24 * time.Hour, lanes.MaxStartAhead},
		{10 * time.Second, lanes.MinReserved},
		{3 * time.Minute, lanes.DefaultReserved},
		{5 * time.Minute, lanes.SoonLeft},
	} {
		require.Equal(t, bound[0], bound[1])
	}
}
