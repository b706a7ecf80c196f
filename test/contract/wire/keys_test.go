package wire

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// A request repeated with its Idempotency-Key is answered as the first time and has no second effect, also when the
// gateway was killed in between and the session has ended since.
func TestARepeatHasOneEffect(t *testing.T) {
	config := newConfig(support.NewSQLite(t))
	p, pos := serveConfig(t, config)
	key := []string{"Idempotency-Key", "pos-4-receipt-1017"}
	first := pos.ask("POST", v2+"/sessions", order(1, 30, ""), key...)
	require.Equal(t, 201, first.Status)
	require.Empty(t, first.Header.Get("idempotency-replayed"))

	again := pos.ask("POST", v2+"/sessions", order(1, 30, ""), key...)
	require.Equal(t, 201, again.Status)
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, "true", again.Header.Get("idempotency-replayed"))

	p.Kill()
	_, pos = serveConfig(t, config)
	again = pos.ask("POST", v2+"/sessions", order(1, 30, ""), key...)
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, "true", again.Header.Get("idempotency-replayed"))

	session := first.Body[len(`{"session_id":"`) : len(`{"session_id":"`)+36]
	stop := []string{"Idempotency-Key", "pos-4-stop-1"}
	for range 2 {
		require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/stop", "", stop...).Status)
	}
	require.Equal(t, 404, pos.ask("POST", v2+"/sessions/"+session+"/stop", "").Status)
}

// A refusal frees the key: the same request may succeed later.
func TestARefusalFreesTheKey(t *testing.T) {
	_, pos := serve(t)
	session := pos.sell(1, 30, "")
	key := []string{"Idempotency-Key", "k"}
	require.Equal(t, 409, pos.ask("POST", v2+"/sessions", order(1, 10, ""), key...).Status)
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/stop", "").Status)
	require.Equal(t, 201, pos.ask("POST", v2+"/sessions", order(1, 10, ""), key...).Status)
}

// Of 50 who want the lane at the same time one gets it, and that one's session is the one that is listed.
func TestOneOfFiftyGetsTheLane(t *testing.T) {
	_, pos := serve(t)
	answers := make([]support.Answer, 50)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i], _ = pos.Do("POST", v2+"/sessions", order(1, 30, "")) })
	}
	wg.Wait()

	var won []string
	for _, answer := range answers {
		if answer.Status == 201 {
			won = append(won, answer.Body[len(`{"session_id":"`):len(`{"session_id":"`)+36])
			continue
		}
		require.Equal(t, 409, answer.Status, answer.Body)
		require.Contains(t, answer.Body, `"code":"lane_occupied"`)
	}
	require.Len(t, won, 1)
	listed := pos.ask("GET", v2+"/sessions", "").Body
	require.Equal(t, 1, strings.Count(listed, `"session_id"`))
	require.Contains(t, listed, won[0])
}
