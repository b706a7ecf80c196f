package endpoint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARepeatGetsTheFirstResponse(t *testing.T) {
	d, h := newDemo()
	first := call(h, "POST", prefix+"/sessions", ordered, "Idempotency-Key", "order-1")
	again := call(h, "POST", prefix+"/sessions", ordered, "Idempotency-Key", "order-1")
	require.Equal(t, 201, first.Code)
	require.Equal(t, first.Code, again.Code)
	require.Equal(t, first.Body.String(), again.Body.String())
	require.Equal(t, first.Header().Get("Content-Type"), again.Header().Get("Content-Type"))
	require.Empty(t, first.Header().Get("idempotency-replayed"))
	require.Equal(t, "true", again.Header().Get("idempotency-replayed"))
	require.NotEqual(t, first.Header().Get("trace-id"), again.Header().Get("trace-id"))
	require.Equal(t, 1, d.changes)
}

func TestARepeatOfAResponseWithoutABody(t *testing.T) {
	d, h := newDemo()
	path := prefix + "/sessions/" + laneID + "/modify?time=5"
	require.Equal(t, 204, call(h, "POST", path, "", "Idempotency-Key", "m").Code)
	again := call(h, "POST", path, "", "Idempotency-Key", "m")
	require.Equal(t, 204, again.Code)
	require.Equal(t, "true", again.Header().Get("idempotency-replayed"))
	require.Empty(t, again.Body.String())
	require.Empty(t, again.Header().Get("Content-Type"))
	require.Equal(t, 1, d.changes)
}

func TestWithoutAKeyEveryRequestCounts(t *testing.T) {
	d, h := newDemo()
	call(h, "POST", prefix+"/sessions", ordered)
	call(h, "POST", prefix+"/sessions", ordered)
	require.Equal(t, 2, d.changes)
}

func TestAKeyIsForOneRequest(t *testing.T) {
	modify := prefix + "/sessions/" + laneID + "/modify?time=5"
	for name, c := range map[string]struct{ path, body string }{
		"another body":            {prefix + "/sessions", ordered + " "},
		"another path":            {modify, ordered},
		"another query":           {modify + "0", ""},
		"a body that is not read": {modify, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			d, h := newDemo()
			require.Equal(t, 201, call(h, "POST", prefix+"/sessions", ordered, "Idempotency-Key", "k").Code)
			require.Equal(t, 204, call(h, "POST", modify, "", "Idempotency-Key", "m").Code)
			for _, key := range []string{"k", "m"} {
				w := call(h, "POST", c.path, c.body, "Idempotency-Key", key)
				require.Equal(t, "idempotency_key_reused", problem(t, w).Code)
			}
			require.Equal(t, 2, d.changes)
		})
	}
}

func TestTheFingerprintNeverChanges(t *testing.T) {
	d, h := newDemo()
	call(h, "POST", prefix+"/sessions", ordered, "Idempotency-Key", "k")
	// Stored keys survive restarts and updates, so the fingerprint must stay the same.
	require.Equal(t, "c576b53cf4ad754fbb331dac36eca40408692fccd9914b0239614796cd4fd67c", d.fingerprints["k"])
}

func TestKeysAreVisibleASCIIAndGivenOnce(t *testing.T) {
	d, h := newDemo()
	for _, key := range []string{"", strings.Repeat("k", 256), "two words", "tab\tbed", "clé", "\x7f"} {
		f := problem(t, call(h, "POST", prefix+"/sessions", ordered, "Idempotency-Key", key))
		require.Contains(t, f.Fields, "Idempotency-Key", "%q", key)
	}
	w := call(h, "POST", prefix+"/sessions", ordered, "Idempotency-Key", "a", "Idempotency-Key", "a")
	require.Contains(t, problem(t, w).Fields, "Idempotency-Key")
	require.Zero(t, d.changes)
	for _, key := range []string{"k", strings.Repeat("k", 255), `!"#~`} {
		require.Equal(t, 201, call(h, "POST", prefix+"/sessions", ordered, "Idempotency-Key", key).Code)
	}
	require.Equal(t, 201, call(h, "POST", prefix+"/simulate/help", "", "Idempotency-Key", "").Code,
		"only commands take a key")
}

func TestARefusedCommandIsNotReplayed(t *testing.T) {
	d, h := newDemo()
	d.fails = refused{"lane_occupied", "lane is taken"}
	w := call(h, "POST", prefix+"/sessions", ordered, "Idempotency-Key", "k")
	require.Equal(t, "lane is taken", problem(t, w).Error)
	d.fails = nil
	require.Equal(t, 201, call(h, "POST", prefix+"/sessions", ordered, "Idempotency-Key", "k").Code)
}

func TestTheBodyBehindAKeyIsBounded(t *testing.T) {
	_, h := newDemo()
	junk := strings.Repeat("junk", 64<<10)
	w := call(h, "POST", prefix+"/sessions/"+laneID+"/modify?time=5", junk, "Idempotency-Key", "k")
	require.Equal(t, "too_large", problem(t, w).Code)
}
