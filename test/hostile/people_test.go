package hostile

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

const (
	samsPIN   = "471147"
	alexsPIN  = "830514"
	staffFile = "rangegate.db"
)

// Hashes of the two PINs.
const (
	samsHash  = "$argon2id$v=19$m=19456,t=2,p=1$ev4q5mj/2kP/Rt4HFVZY5w$Q8p0p0U0RGtYI76dABwMEvajmJmbaXYaMQ3p2ASvWO8"
	alexsHash = "$argon2id$v=19$m=19456,t=2,p=1$qrO8a/i/OyuzNuXGBHyWbw$kEQdieNKSu2EHqMm/gM+DpVhJ0HvghwHY2JCxLcc0zI"
)

// staffedRange is a gateway whose range has the staff sam, and the officer alex. It can be stopped and started again.
type staffedRange struct {
	t       *testing.T
	config  support.Config
	folder  string
	gateway *support.Gateway
}

func newStaffedRange(t *testing.T, settings ...string) *staffedRange {
	folder := t.TempDir()
	staff := fmt.Sprintf("staff: [{name: sam, pin_hash: %q}, {name: alex, role: officer, pin_hash: %q}]",
		samsHash, alexsHash)
	r := &staffedRange{t: t, folder: folder, config: support.Config{
		Store:  support.SQLite(filepath.Join(folder, staffFile)),
		Ranges: []support.Range{{Lanes: support.Lanes(1, 2), Settings: append(settings, staff)}},
	}}
	r.gateway = r.config.Serve(t)
	return r
}

// restart ends the process and starts another one on the same store.
func (r *staffedRange) restart() {
	r.t.Helper()
	r.gateway.Kill()
	r.gateway = r.config.Serve(r.t)
}

// person is a browser at the control screen. It keeps the cookies that it is given.
type person struct {
	r       *staffedRange
	cookies map[string]*http.Cookie
}

func (r *staffedRange) person() *person { return &person{r, map[string]*http.Cookie{}} }

const (
	sessionCookie = "rangegate_control"
	knownDevice   = "rangegate_device"
)

// send sends a request and returns its status and body.
func (p *person) send(method, path, body string) (int, string) {
	p.r.t.Helper()
	answer, err := p.try(method, path, body)
	require.NoError(p.r.t, err)
	return answer.Status, answer.Body
}

// try is send for goroutines beside the test's own.
func (p *person) try(method, path, body string) (support.Answer, error) {
	request, err := http.NewRequest(method, p.r.gateway.API+path, strings.NewReader(body))
	if err != nil {
		return support.Answer{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, cookie := range p.cookies {
		request.AddCookie(cookie)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return support.Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(response.Body); err != nil {
		return support.Answer{}, err
	}
	for _, cookie := range response.Cookies() {
		if p.cookies[cookie.Name] = cookie; cookie.MaxAge < 0 {
			delete(p.cookies, cookie.Name)
		}
	}
	return support.Answer{Status: response.StatusCode, Header: response.Header, Body: answer.String()}, nil
}

func (p *person) signIn(name, pin string) int {
	p.r.t.Helper()
	status, _ := p.send("POST", "/control/sign-in", fmt.Sprintf(`{"range_id":%q,"name":%q,"pin":%q}`,
		support.RangeID, name, pin))
	return status
}

// signedIn is a browser in which that person has signed in.
func (r *staffedRange) signedIn(name, pin string) *person {
	r.t.Helper()
	p := r.person()
	require.Equal(r.t, 204, p.signIn(name, pin))
	return p
}

func (p *person) isSignedIn() bool {
	p.r.t.Helper()
	status, _ := p.send("GET", "/control/api/health", "")
	require.Contains(p.r.t, []int{200, 401}, status)
	return status == 200
}

// with is a browser with that session cookie.
func (r *staffedRange) with(value string) *person {
	p := r.person()
	p.cookies[sessionCookie] = &http.Cookie{Name: sessionCookie, Value: value}
	return p
}

// acts are what staff did, oldest first: who and what.
func (p *person) acts() (acts []string) {
	p.r.t.Helper()
	status, body := p.send("GET", "/control/api/acts", "")
	require.Equal(p.r.t, 200, status)
	var page struct{ Acts []struct{ Who, What string } }
	require.NoError(p.r.t, json.Unmarshal([]byte(body), &page))
	for _, act := range page.Acts {
		acts = append([]string{act.Who + " " + act.What}, acts...)
	}
	return acts
}

// waitActs waits until these acts are on record: a sign-in is answered before it is saved.
func (p *person) waitActs(want ...string) {
	p.r.t.Helper()
	support.Eventually(p.r.t, fmt.Sprintf("the acts on record are %q", want), func() bool {
		return slices.Equal(want, p.acts())
	})
}

func macOf(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}

// A lost backup of the configuration has the hash of every PIN. It is no key of the cookies: neither as in
// earlier releases, which derived their key from it, nor in the cookie's form of today.
func TestACookieThatIsForgedFromTheConfiguration(t *testing.T) {
	r := newStaffedRange(t)
	genuine := r.signedIn("sam", samsPIN).cookies[sessionCookie].Value
	decoded, err := base64.RawURLEncoding.DecodeString(genuine)
	require.NoError(t, err)
	today := decoded[:len(decoded)-sha256.Size]
	rangeID, id := uuid.MustParse(support.RangeID), uuid.New()
	earlier := append(append(append([]byte{}, rangeID[:]...), id[:]...), 0, 0, 0, 0)
	earlier = append(earlier, byte(time.Now().Unix()>>24), byte(time.Now().Unix()>>16), byte(time.Now().Unix()>>8),
		byte(time.Now().Unix()))
	earlier = append(earlier, "sam"...)
	for _, text := range [][]byte{today, earlier} {
		for _, key := range [][]byte{
			macOf([]byte(samsHash), []byte("rangegate control session")), []byte(samsHash), nil, make([]byte, 32),
			[]byte(support.Token), []byte(support.Operator),
		} {
			for _, label := range []string{"", "session of ", "rangegate staff"} {
				forged := append(bytes.Clone(text), macOf(key, append([]byte(label), text...))...)
				require.False(t, r.with(base64.RawURLEncoding.EncodeToString(forged)).isSignedIn())
			}
		}
	}
	require.True(t, r.with(genuine).isSignedIn())
	for _, file := range []string{staffFile + ".secret", staffFile} {
		info, err := os.Stat(filepath.Join(r.folder, file))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}
}

// Whoever has copied a cookie has nothing once its owner has signed out, also after the gateway was killed
// and started again.
func TestACookieIsReplayedAfterTheSignOut(t *testing.T) {
	r := newStaffedRange(t)
	sam, other := r.signedIn("sam", samsPIN), r.signedIn("sam", samsPIN)
	copied := sam.cookies[sessionCookie].Value
	require.True(t, r.with(copied).isSignedIn())
	status, _ := sam.send("POST", "/control/sign-out", "")
	require.Equal(t, 204, status)
	require.False(t, r.with(copied).isSignedIn())
	acts := []string{"sam sign_in", "sam sign_in", "sam sign_out"}
	other.waitActs(acts...) // which a kill before would lose; what was signed out it does not
	r.restart()
	require.False(t, r.with(copied).isSignedIn())
	require.True(t, other.isSignedIn(), "the other browser is still signed in")
	require.Equal(t, acts, other.acts())

	require.NoError(t, support.Command("store", "new-secret", "--config", r.config.Write(t)).Run())
	r.restart()
	require.False(t, other.isSignedIn(), "a new secret ends every session")
	require.Equal(t, 204, other.signIn("sam", samsPIN))
}

// The new secret counts in a gateway that runs, and ends the open screens.
func TestANewSecretInARunningGateway(t *testing.T) {
	r := newStaffedRange(t)
	sam := r.signedIn("sam", samsPIN)
	require.NoError(t, support.Command("store", "new-secret", "--config", r.config.Write(t)).Run())
	support.Eventually(t, "sam is signed out", func() bool { return !sam.isSignedIn() })
	require.Equal(t, 204, sam.signIn("sam", samsPIN))
}

// Gateways that share a Redis share the secret and what was signed out.
func TestAReplayAtAnotherGateway(t *testing.T) {
	server := redistest.Start(t)
	r := newStaffedRange(t)
	r.gateway.Kill()
	r.config.Store = support.Redis(server.URL())
	r.gateway = r.config.Serve(t)
	sam, other := r.signedIn("sam", samsPIN), r.signedIn("sam", samsPIN)
	copied := sam.cookies[sessionCookie].Value
	status, _ := sam.send("POST", "/control/sign-out", "")
	require.Equal(t, 204, status)

	r.gateway.Kill()
	r.gateway = r.config.Serve(t) // which has never seen either cookie
	require.False(t, r.with(copied).isSignedIn())
	require.True(t, other.isSignedIn())
}

// Somebody guesses sam's PIN from a browser in which sam has never signed in: after a few wrong ones each has
// to wait longer than the one before. Sam still signs in with the own browser, from the same address, and
// sees that somebody tries.
func TestGuessingAPIN(t *testing.T) {
	r := newStaffedRange(t)
	sam := r.signedIn("sam", samsPIN)
	guesser := r.person()
	refused := 0
	for i := range 40 {
		answer, err := guesser.try("POST", "/control/sign-in",
			fmt.Sprintf(`{"range_id":%q,"name":"sam","pin":"%06d"}`, support.RangeID, i))
		require.NoError(t, err)
		if answer.Status == http.StatusTooManyRequests {
			refused++
			wait, err := strconv.Atoi(answer.Header.Get("Retry-After"))
			require.NoError(t, err)
			require.Positive(t, wait)
		}
	}
	require.GreaterOrEqual(t, refused, 33, "five at once, and hardly any more")
	require.Equal(t, http.StatusTooManyRequests, guesser.signIn("sam", samsPIN), "the right one is not even compared")

	status, _ := sam.send("POST", "/control/sign-out", "")
	require.Equal(t, 204, status)
	require.Equal(t, 204, sam.signIn("sam", samsPIN))
	_, health := sam.send("GET", "/control/api/health", "")
	require.Contains(t, health, `"refused_sign_ins":{"count":41,"last":"`)
	support.Eventually(t, "the wrong PIN is on record", func() bool {
		return slices.Contains(sam.acts(), "sam sign_in_failed")
	})
	m := r.gateway.Metrics()
	require.InDelta(t, 41, m.Sum("rangegate_staff_sign_ins_total",
		`result="wrong"`)+m.Sum("rangegate_staff_sign_ins_total", `result="limited"`), 0)
	require.InDelta(t, 2, m.Sum("rangegate_staff_sign_ins_total", `result="ok"`), 0)
}

// A crowd of unknown browsers sends PINs for all kinds of names, all from the address that the range's own
// staff have too. A ceasefire does not wait for them: a browser in which sam has signed in before signs in
// within a second or two.
func TestAKnownBrowserSignsInWhileOthersFlood(t *testing.T) {
	r := newStaffedRange(t)
	sam := r.signedIn("sam", samsPIN)
	status, _ := sam.send("POST", "/control/sign-out", "")
	require.Equal(t, 204, status)
	require.NotNil(t, sam.cookies[knownDevice])

	done := make(chan struct{})
	var guessers sync.WaitGroup
	for i := range 64 {
		guessers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				p := r.person()
				name := []string{"sam", "alex", fmt.Sprintf("nobody %d-%d", i, n)}[n%3]
				_, _ = p.try("POST", "/control/sign-in", fmt.Sprintf(`{"range_id":%q,"name":%q,"pin":"%06d"}`,
					support.RangeID, name, n))
			}
		})
	}
	defer guessers.Wait()
	defer close(done)
	support.Eventually(t, "the crowd is limited", func() bool {
		return r.gateway.Metrics().Sum("rangegate_staff_sign_ins_total", `result="limited"`) > 200
	})
	for range 3 {
		support.Eventually(t, "a sign-in takes less than five seconds", func() bool {
			began := time.Now()
			require.Equal(t, 204, sam.signIn("sam", samsPIN))
			return time.Since(began) < 5*time.Second
		})
	}
	status, body := sam.send("PUT", "/control/api/holds", `{"scope":"range","on":true}`)
	require.Equal(t, 200, status, body)
}

// Guesses of the operations token are limited by address. Whoever has it is not held up, and is on record by its name.
func TestGuessingTheOperationsToken(t *testing.T) {
	r := newStaffedRange(t)
	r.gateway.Kill()
	const night = "5a1c0f9e8d7b6a594837261504f3e2d1"
	digest := sha256.Sum256([]byte(night))
	r.config.HTTP = "limits: {failures: 20}"
	text := strings.Replace(r.config.String(), `token: "operator"`,
		fmt.Sprintf(`token: "operator", tokens: [{name: night shift, token: "sha256:%x"}]`, digest), 1)
	r.gateway = support.Serve(t, text).Ready()
	holds := "/ranges/" + support.RangeID + "/holds"
	operations := support.Client{API: r.gateway.Operations}
	statuses := map[int]int{}
	for i := range 200 {
		answer, err := operations.Do("GET", holds, "", "Authorization", fmt.Sprintf("Bearer %032x", i))
		require.NoError(t, err)
		statuses[answer.Status]++
	}
	require.LessOrEqual(t, statuses[401], 40)
	require.GreaterOrEqual(t, statuses[429], 160)
	for _, wrong := range []string{fmt.Sprintf("sha256:%x", digest), fmt.Sprintf("%x", digest), "night shift"} {
		answer, err := operations.Do("GET", holds, "", "Authorization", "Bearer "+wrong)
		require.NoError(t, err)
		require.Contains(t, []int{401, 429}, answer.Status, "what the configuration has is no token")
	}
	answer, err := operations.Do("PUT", holds, `{"scope":"range","on":true}`, "Authorization", "Bearer "+night,
		"Content-Type", "application/json")
	require.NoError(t, err)
	require.Equal(t, 200, answer.Status, answer.Body)
	r.signedIn("sam", samsPIN).waitActs("night shift hold", "sam sign_in")
	require.Positive(t, r.gateway.Metrics().Sum("rangegate_requests_limited_total", `limit="operations"`))
}

// Where only officers end a ceasefire over the range, the rest of the staff do not, whatever they send.
func TestStaffCannotEndACeasefireThatIsKeptForOfficers(t *testing.T) {
	r := newStaffedRange(t, "release_ceasefire: officer")
	sam, alex := r.signedIn("sam", samsPIN), r.signedIn("alex", alexsPIN)
	status, _ := sam.send("PUT", "/control/api/holds", `{"scope":"range","on":true}`)
	require.Equal(t, 200, status, "everybody may declare one")
	for _, body := range []string{`{"scope":"range","on":false}`, `{"scope":"range","id":null,"on":false}`} {
		status, answer := sam.send("PUT", "/control/api/holds", body)
		require.Equal(t, 403, status)
		require.Contains(t, answer, `"code":"officer_required"`)
	}
	for _, scope := range []string{`"scope":"bay","id":"` + support.Bay + `"`, `"scope":"lane","id":"` +
		support.LaneID(1) + `"`} {
		status, _ := sam.send("PUT", "/control/api/holds", `{`+scope+`,"on":false}`)
		require.Equal(t, 200, status, "which lifts nothing of the range's")
	}
	inForce := func() string { return r.gateway.Operate("GET", "/ranges/"+support.RangeID+"/holds", "").Body }
	require.Contains(t, inForce(), `"scope":"range"`)
	status, _ = alex.send("PUT", "/control/api/holds", `{"scope":"range","on":false}`)
	require.Equal(t, 200, status)
	require.NotContains(t, inForce(), `"scope":"range"`)
}
