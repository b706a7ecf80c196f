package docs

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// From zero to a first session, event and purchase: every command line of the page, on a playground.
func TestTheFirstTenMinutes(t *testing.T) {
	support.Program(t, "bash")
	support.Program(t, "curl")
	playground := support.Playground(t).Ready()
	script := strings.Join(blocks(page(t, "docs/integrators.md"), "sh"), "\n")
	require.Contains(t, script, "http://127.0.0.1:8080")
	script = "set -eu\n" + strings.ReplaceAll(script, "http://127.0.0.1:8080", playground.API)
	script = strings.ReplaceAll(script, "curl -s ", "curl -sS --fail-with-body ")
	out, err := exec.Command("bash", "-c", script).CombinedOutput()
	require.NoError(t, err, string(out))

	for _, text := range []string{
		`"readable_name":"Lane 1"`,           // what there is to sell
		`"duration":60`,                      // sold
		`"event":"carrierHit"`,               // sent
		`"rentals":[{`,                       // offered
		`"items":[{"id":"time",`,             // bought
		`"payload":{"event":"sessionPaused"`, // and on record
	} {
		require.Contains(t, string(out), text)
	}
	require.Regexp(t, `"duration":(75|90|105),`, string(out), "and added: the simulated shooter may have bought more")
}

// The page of the playground's demo integrator has the event log beside what has arrived, and has an event sent again.
func TestTheDemoIntegratorOfThePlayground(t *testing.T) {
	address := support.FreeAddress(t)
	cmd := support.Command("playground", "--address", "127.0.0.1:0", "--integrator", address, "--data", t.TempDir())
	cmd.Env = append(cmd.Env, "RANGEGATE_OPERATIONS_ADDRESS=127.0.0.1:0")
	pos := support.Start(t, cmd).Ready().POS()
	page := support.Client{API: "http://" + address}
	pos.Sell(1, 30)
	log := pos.AttemptedEvents()
	support.Eventually(t, "the log is on the page", func() bool {
		return strings.Contains(snapshot(t, address), log[0].ID)
	})
	answer, err := page.Do("POST", "/redeliver", `{"cursor":"`+log[0].Cursor+`"}`)
	require.NoError(t, err)
	require.Equal(t, 204, answer.Status, answer.Body)
	support.Eventually(t, "it arrives again, and is known", func() bool {
		answer, err := page.Do("GET", "/arrived", "")
		return err == nil && strings.Contains(answer.Body, `"known":true`)
	})
}

// snapshot is the first message of the stream that the page of the demo integrator reads.
func snapshot(t *testing.T, address string) string {
	response, err := http.Get("http://" + address + "/stream")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	_, err = lines.ReadString('\n')
	require.NoError(t, err)
	all, err := lines.ReadString('\n')
	require.NoError(t, err)
	_, log, found := strings.Cut(all, `"pulled":`)
	require.True(t, found, all)
	return log
}

// What the page says under "Sharp edges" is so.
func TestTheSharpEdges(t *testing.T) {
	webhook := support.NewReceiver(t)
	pos := support.NewConfig(t, support.Lanes(1, 3), webhook.Setting(), "purchasing: true").Serve(t).POS()
	const lane1 = `"lane_id":"44444444-4444-4444-8444-000000000001"`
	order := support.Order(1, 30)

	t.Run("a key names one request, byte for byte", func(t *testing.T) {
		pos := pos.With(t)
		pos.Expect(201, "POST", "/sessions", order, "Idempotency-Key", "receipt-1")
		require.Equal(t, "true", pos.Expect(201, "POST", "/sessions", order, "Idempotency-Key",
			"receipt-1").Header.Get("idempotency-replayed"))
		anew := "{" + lane1 + "," + strings.Replace(order[1:], lane1+",", "", 1)
		require.JSONEq(t, order, anew)
		require.Equal(t, "idempotency_key_reused", pos.Expect(422, "POST", "/sessions", anew, "Idempotency-Key",
			"receipt-1").Code())
		require.Equal(t, "lane_occupied", pos.Expect(409, "POST", "/sessions", order, "Idempotency-Key",
			"Receipt-1").Code())
	})
	t.Run("a slash at the end is another path", func(t *testing.T) {
		require.Equal(t, "not_found", pos.With(t).Expect(404, "GET", "/sessions/", "").Code())
	})
	t.Run("the status alone decides a purchase", func(t *testing.T) {
		pos := pos.With(t)
		webhook.Respond(support.Reply(200, `{"success":false,"error":"no"}`))
		session := pos.Sell(2, 30, `,"enable_purchasing":true`)
		pos.Expect(201, "POST", "/simulate/addTime", `{"session_id":"`+session+`","qty":15}`)
		support.Eventually(t, "the time is added", func() bool { return pos.Session(session).Minutes == 45 })
	})
	t.Run("the forms of a UUID", func(t *testing.T) {
		pos := pos.With(t)
		for session := range pos.Sessions() {
			answer := pos.Expect(200, "GET", "/sessions/"+strings.ToUpper(session), "")
			require.Equal(t, session, answer.SessionID(t), "in lower case")
			for _, form := range []string{
				"%7B" + session + "%7D", "urn:uuid:" + session,
				strings.ReplaceAll(session, "-", ""),
			} {
				require.Equal(t, "invalid_request", pos.Expect(400, "GET", "/sessions/"+form, "").Code())
			}
		}
		pos.Expect(200, "GET", "/lanes", "", "token", strings.ToUpper(support.Token), "range-id",
			strings.ToUpper(support.RangeID))
		pos.Expect(401, "GET", "/lanes", "", "token", "{"+support.Token+"}")
		pos.Expect(401, "GET", "/lanes", "", "range-id", strings.ReplaceAll(support.RangeID, "-", ""))
	})
	t.Run("names of keys are exact in case", func(t *testing.T) {
		pos := pos.With(t)
		require.NotNil(t, pos.Session(pos.Sell(3, 30, `,"Auto_Start":false`)).Began)
	})
}

// Whatever a version of the API can answer has a line in the tables for cashiers and for POS developers.
func TestEveryErrorCodeIsExplained(t *testing.T) {
	playground := support.Playground(t)
	text := page(t, "docs/integrators.md")
	codes := map[string]bool{}
	for _, path := range []string{"/api/v2/pos/openapi.json", "/api/v1/pos/openapi.json"} {
		var document struct {
			Components struct {
				Examples map[string]struct{ Value json.RawMessage }
			}
		}
		playground.POS().Read(path, &document)
		for _, example := range document.Components.Examples {
			var failure struct{ Code string }
			if json.Unmarshal(example.Value, &failure) == nil && failure.Code != "" {
				codes[failure.Code] = true
			}
		}
	}
	require.Greater(t, len(codes), 20)
	for code := range codes {
		require.Contains(t, text, "| `"+code+"` |", "docs/integrators.md does not explain %s", code)
	}
}
