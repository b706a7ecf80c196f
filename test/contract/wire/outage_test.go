package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

// The store hangs. What was sent to it has no outcome; what comes later is refused at once; a stop is in force on the
// lane all the same, and saved when the store is back.
func TestTheStoreHangs(t *testing.T) {
	redis := redistest.Start(t)
	p, pos := serveConfig(t, newConfig(support.Redis(redis.URL())))
	session := pos.sell(1, 30, "")

	redis.Hang()
	sent := make(chan support.Answer, 1)
	go func() {
		answer, _ := pos.Do("POST", v2+"/sessions", order(2, 30, ""), "Idempotency-Key", "sent")
		sent <- answer
	}()
	refused(t, <-sent, 504, "timeout")
	later, err := pos.Do("POST", v2+"/sessions", order(3, 30, ""))
	require.NoError(t, err)
	refused(t, later, 503, "store_unavailable")
	require.Equal(t, "1", later.Header.Get("Retry-After"))
	stop := pos.ask("POST", v2+"/sessions/"+session+"/stop", "")
	refused(t, stop, 503, "not_saved")
	require.Equal(t, "1", stop.Header.Get("Retry-After"))
	require.Equal(t, 503, status(t, p.Operations+"/readyz"))
	require.Equal(t, "[]\n", pos.ask("GET", v2+"/sessions", "").Body, "stopped, and the other is not known to be sold")

	redis.Wake()
	p.Ready()
	again := pos.ask("POST", v2+"/sessions", order(2, 30, ""), "Idempotency-Key", "sent")
	require.Equal(t, 201, again.Status, again.Body)
	// By the flush after that of the sale.
	support.Eventually(t, "the stop is saved when the store is back", func() bool {
		return strings.Contains(pos.ask("GET", v2+"/history", "").Body, session)
	})
	require.Equal(t, 0, p.Terminate())
}

// Another gateway takes the range over. This one lets go of it, and says so.
func TestAnotherGatewayClaimsTheRange(t *testing.T) {
	redis := redistest.Start(t)
	config := newConfig(support.Redis(redis.URL()))
	_, first := serveConfig(t, config)
	session := first.sell(1, 30, "")
	_, second := serveConfig(t, config)
	require.Equal(t, 200, second.ask("GET", v2+"/sessions/"+session, "").Status)

	refused(t, first.ask("POST", v2+"/sessions", order(2, 30, "")), 503, "not_owner")
	refused(t, first.ask("POST", v2+"/sessions/"+session+"/stop", ""), 503, "not_owner")
	refused(t, first.ask("GET", v2+"/sessions", ""), 503, "not_owner")
	require.Equal(t, 204, second.ask("POST", v2+"/sessions/"+session+"/stop", "").Status)
}

func refused(t *testing.T, answer support.Answer, status int, code string) {
	t.Helper()
	require.Equal(t, status, answer.Status, answer.Body)
	require.Contains(t, answer.Body, `"code":"`+code+`"`)
}

// status asks an address of the operations side.
func status(t *testing.T, url string) int {
	answer, err := support.Client{API: url, HTTP: nil}.Do("GET", "", "")
	require.NoError(t, err)
	return answer.Status
}

// The gateway is up before it is ready, and says what it is asked in the shape of every error.
func TestOperations(t *testing.T) {
	p, _ := serve(t)
	require.Equal(t, 200, status(t, p.Operations+"/livez"))
	require.Equal(t, 200, status(t, p.Operations+"/readyz"))
	require.Equal(t, 200, status(t, p.Operations+"/metrics"))
	require.Equal(t, 404, status(t, p.Operations+"/nope"))

	still, began := p.Stillness(t.Context()), time.Now()
	require.Equal(t, 0, p.Terminate())
	require.Less(t, time.Since(began), 10*time.Second+still())
}
