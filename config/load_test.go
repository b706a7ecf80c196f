package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// smallest is a configuration with the required settings only.
const smallest = `
environment: playground
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: Demo range
    token: 22222222-2222-4222-8222-222222222222
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
      - {id: 44444444-4444-4444-8444-000000000001, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001}
      - {id: 44444444-4444-4444-8444-000000000002, name: Lane 2, bay: 55555555-5555-4555-8555-000000000001}
`

// edited returns the smallest configuration with some of its text replaced.
func edited(t testing.TB, oldnew ...string) string {
	t.Helper()
	text := smallest
	for i := 0; i < len(oldnew); i += 2 {
		require.Contains(t, text, oldnew[i])
		text = strings.Replace(text, oldnew[i], oldnew[i+1], 1)
	}
	return text
}

// faultsOf returns the text of every fault that the error joins.
func faultsOf(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		joined = errors.Join(err).(interface{ Unwrap() []error })
	}
	var list []string
	for _, err := range joined.Unwrap() {
		var fault Fault
		require.ErrorAs(t, err, &fault)
		fault.At = Position{} // position_test.go has these
		list = append(list, fault.Error())
	}
	return list
}

func TestTheSmallestConfigurationGetsEveryDefault(t *testing.T) {
	cfg, err := Parse([]byte(smallest), nil)
	require.NoError(t, err)

	assert.Equal(t, "127.0.0.1:8080", cfg.HTTP.Address)
	assert.Equal(t, "127.0.0.1:9090", cfg.Operations.Address)
	assert.Equal(t, Info, cfg.Log.Level)
	assert.Equal(t, Store{SQLite: "data/rangegate.db", Retention: Retention{30 * day, 90 * day, 30 * day, 1_000_000}},
		cfg.Store)

	demo := cfg.Ranges[0]
	assert.Equal(t, []RangeToken{{"22222222-2222-4222-8222-222222222222", "", ScopeSell}}, demo.Tokens)
	assert.Empty(t, demo.Token, "token is the short way to write tokens")
	assert.Equal(t, RunOut, demo.OnLinkLoss)
	assert.Equal(t, 30*time.Second, demo.LinkGrace)
	assert.Nil(t, demo.Webhook)
	assert.Nil(t, demo.Products)
	assert.Equal(t, Lane{
		ID:         uuid.MustParse("44444444-4444-4444-8444-000000000002"),
		Name:       "Lane 2",
		Bay:        uuid.MustParse("55555555-5555-4555-8555-000000000001"),
		Accessible: true,
		Link:       Link{Driver: "sim"},
	}, demo.Lanes[1])
}

func TestEveryKeyIsRead(t *testing.T) {
	cfg, err := Parse([]byte(`
environment: playground
http: {address: ":8443", tls: {certificate: c.pem, key: k.pem}, limits: {requests: 7, burst: 8, failures: 9, waiting: 10}}
operations: {address: "[::1]:0", token: op, tokens: [{name: night shift, token: night}]}
store: {redis: "rediss://u:p@cache:6379/2", retention: {events: 1h, history: 2h, names: 3h, cap: 4}}
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: North
    tokens: [sha256:`+strings.Repeat("aB", 32)+`, 22222222-2222-4222-8222-222222222222]
    purchasing: true
    currency: EUR
    presets: [{minutes: 30}, {minutes: 60, group: 33333333-3333-4333-8333-000000000001, grace: true}]
    on_link_loss: hold
    link_tls: {fingerprint: sha256:`+strings.Repeat("aB", 32)+`}
    link_grace: 1m30s
    clear_after: 5m
    warnings: [5m, 90s]
    grace: 2m
    grace_for_all: true
    hours:
      timezone: Europe/Berlin
      week: {monday: [09:00-12:00, "13:00-24:00"], tuesday: ["18:00-02:00"], wednesday: []}
      exceptions: {2026-12-24: [], "2026-12-31": ["10:00-14:00"]}
    sell_before_clear: false
    webhook: {url: "http://h/in", secrets: [whsec_c2VjcmV0], timeout: 3s, concurrency: 4, queue: 5, retry: {for: 30m}, allow_private: true}
    products: {url: "http://127.0.0.1:7070/pos", timeout: 2s, allow_private: true}
    staff: &staff [{name: sam, pin_hash: '$argon2id$v=19$m=65536,t=2,p=2$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu', role: officer}]
    board: {key: the-key-of-the-wall, names: true}
    release_ceasefire: officer
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
      - id: 44444444-4444-4444-8444-000000000001
        name: 012
        bay: 55555555-5555-4555-8555-000000000001
        accessible: false
        screen_key: the-key-of-a-screen
        link: {driver: sim, key: link}
    insecure_links: true
  - id: 11111111-1111-4111-8111-111111111112
    name: South
    token: 22222222-2222-4222-8222-222222222223
    products: {url: "https://pos.example"}
    link_tls: {ca: controllers.pem}
    staff: *staff
    release_ceasefire: staff
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes: [{id: 44444444-4444-4444-8444-000000000002, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001,
      link: {driver: websocket, address: "wss://10.0.0.12:7400/lane?n=1", key: 4GhZ9qJ0sX2vB7nM1cL5kW}}]
`), nil)
	require.NoError(t, err)

	assert.Equal(t, HTTP{Address: ":8443", TLS: TLS{"c.pem", "k.pem"}, Limits: Limits{ptr(7), ptr(8), ptr(9), ptr(10)}},
		cfg.HTTP)
	assert.Equal(t, Operations{Address: "[::1]:0", Token: "op", Tokens: []OperationsToken{{"night shift", "night"}}},
		cfg.Operations)
	assert.Equal(t, []OperationsToken{{"operator", "op"}, {"night shift", "night"}}, cfg.Operations.All())
	assert.Equal(t, Store{
		Redis:     "rediss://u:p@cache:6379/2",
		Retention: Retention{time.Hour, 2 * time.Hour, 3 * time.Hour, 4},
	}, cfg.Store)

	north := cfg.Ranges[0]
	assert.Len(t, north.Tokens, 2)
	assert.True(t, north.Purchasing)
	assert.Equal(t, "EUR", north.Currency)
	assert.Equal(t, []Preset{{Minutes: 30}, {60, &north.Groups[0].ID, true, 0}}, north.Presets)
	assert.Equal(t, Hold, north.OnLinkLoss)
	assert.True(t, north.InsecureLinks)
	assert.Equal(t, 5*time.Minute, north.ClearAfter)
	assert.Equal(t, []time.Duration{5 * time.Minute, 90 * time.Second}, north.Warnings)
	assert.Equal(t, 2*time.Minute, north.Grace)
	assert.True(t, north.GraceForAll)
	assert.Equal(t, &Hours{
		"Europe/Berlin",
		Week{Monday: []string{"09:00-12:00", "13:00-24:00"}, Tuesday: []string{"18:00-02:00"}, Wednesday: []string{}},
		map[Date][]string{"2026-12-24": {}, "2026-12-31": {"10:00-14:00"}},
	}, north.Hours)
	assert.Equal(t, []Date{"2026-12-24", "2026-12-31"}, north.Hours.Dates())
	assert.False(t, north.SellBeforeClear)
	assert.True(t, cfg.Ranges[1].SellBeforeClear, "unless it says otherwise")
	pin, ok := north.LinkTLS.Pin()
	assert.True(t, ok)
	assert.Equal(t, byte(0xab), pin[31])
	assert.Equal(t, 90*time.Second, north.LinkGrace)
	assert.Equal(t, &Webhook{
		"", "http://h/in",
		[]Secret{"whsec_c2VjcmV0"},
		nil, false, 3 * time.Second, 4, 5,
		&Retry{30 * time.Minute}, true,
	}, north.Webhook)
	assert.Equal(t, &Products{"http://127.0.0.1:7070/pos", 2 * time.Second, true}, north.Products)
	assert.Equal(t, []Staff{{
		"sam", "$argon2id$v=19$m=65536,t=2,p=2$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu",
		RoleOfficer,
	}}, north.Staff)
	assert.Equal(t, []Role{RoleOfficer, RoleStaff}, []Role{north.ReleaseCeasefire, cfg.Ranges[1].ReleaseCeasefire})
	assert.Equal(t, "012", north.Lanes[0].Name, "a number is a name as it was written")
	assert.False(t, north.Lanes[0].Accessible)
	assert.Equal(t, Secret("the-key-of-a-screen"), north.Lanes[0].ScreenKey)
	assert.Equal(t, Link{Driver: "sim", Key: "link"}, north.Lanes[0].Link)

	south := cfg.Ranges[1]
	assert.Equal(t, north.Staff, south.Staff, "an alias repeats what its anchor marks")
	assert.Equal(t, 5*time.Second, south.Products.Timeout)
	assert.Equal(t, LinkTLS{CA: "controllers.pem"}, south.LinkTLS)
	_, ok = south.LinkTLS.Pin()
	assert.False(t, ok)
	assert.Equal(t, Link{DriverWebSocket, "wss://10.0.0.12:7400/lane?n=1", "4GhZ9qJ0sX2vB7nM1cL5kW"},
		south.Lanes[0].Link)
}

func TestOpenings(t *testing.T) {
	for text, want := range map[string]Opening{
		"09:00-22:00": {540, 1320}, "18:00-02:00": {1080, 1560}, "18:00-24:00": {1080, 1440},
		"18:00-00:00": {1080, 1440}, "00:00-24:00": {0, 1440},
		"23:59-23:58": {1439, 2878},
	} {
		opening, problem := ParseOpening(text)
		require.Empty(t, problem, text)
		require.Equal(t, want, opening, text)
	}
	for _, text := range []string{
		"", "9:00-22:00", "09:00–22:00", "09:00-22:0", "09:60-22:00", "24:00-02:00",
		"09.00-22.00", "09:00-24:01", "+9:00-22:00",
	} {
		_, problem := ParseOpening(text)
		require.NotEmpty(t, problem, text)
	}
}

// The week begins on a Sunday there.
func TestTheDaysOfAWeek(t *testing.T) {
	week := Week{Sunday: []string{"s"}, Monday: []string{"m"}, Saturday: []string{"a"}}
	assert.Equal(t, [7][]string{time.Sunday: {"s"}, time.Monday: {"m"}, time.Saturday: {"a"}}, week.Days())
}

func TestAddressesOfRedis(t *testing.T) {
	for _, url := range []string{
		"redis://h", "redis://user:p%2Fw@h:6379", "rediss://[::1]:6380/15?skip_verify=true",
		"redis://h/0?addr=g:6379&addr=[::1]:1",
		"redis://user:pw@h:26379/2?master_name=main&addr=g&sentinel_username=u&sentinel_password=p&wait_replicas=1",
		"redis://h?dial_timeout=1s&read_timeout=2&write_timeout=500ms&pool_timeout=1m&client_name=gateway",
	} {
		_, err := Parse([]byte(smallest+"store: {redis: '"+url+"'}"), nil)
		require.NoError(t, err, url)
	}
}

func TestRetentionDefaultsAreShorterOnRedis(t *testing.T) {
	cfg, err := Parse([]byte(smallest+`store: {redis: "redis://127.0.0.1:6379/0", retention: {names: 1h}}`), nil)
	require.NoError(t, err)
	assert.Equal(t, Retention{3 * day, 30 * day, time.Hour, 1_000_000}, cfg.Store.Retention)
	assert.Empty(t, cfg.Store.SQLite)
}

func TestWebhookDefaults(t *testing.T) {
	w := Webhook{}
	r := Range{Webhook: &w}
	r.complete()
	assert.Equal(t, Webhook{Timeout: 10 * time.Second, Concurrency: 16, Queue: 10_000}, w)
}

// Each of several webhooks has the defaults of one, and a name; one alone gets everything.
func TestTheWebhooksOfARange(t *testing.T) {
	several := Range{Purchasing: true, Webhooks: []Webhook{
		{URL: "https://pos.example/in", Purchases: true},
		{Name: "books", URL: "https://books.example/in", Retry: &Retry{}},
	}}
	several.complete()
	complete := Webhook{Timeout: 10 * time.Second, Concurrency: 16, Queue: 10_000}
	pos, books := complete, complete
	pos.Name, pos.URL, pos.Purchases = "pos.example", "https://pos.example/in", true
	books.Name, books.URL, books.Retry = "books", "https://books.example/in", &Retry{day}
	assert.Equal(t, []Webhook{pos, books}, several.Receivers())
	assert.True(t, several.Sells())
	several.Webhooks[0].Purchases = false
	assert.False(t, several.Sells())

	only := Range{Purchasing: true, Webhook: &Webhook{URL: "https://pos.example/in"}}
	only.complete()
	pos.Name = ""
	assert.Equal(t, []Webhook{pos}, only.Receivers())
	assert.True(t, only.Sells())
	assert.Empty(t, Range{}.Receivers())
}

// The kinds that a webhook can ask for are those that there are, but for purchases.
func TestEventKindsAreThoseOfLanes(t *testing.T) {
	var kinds []string
	for _, kind := range lanes.Kinds {
		if kind != lanes.PurchaseRequest {
			kinds = append(kinds, string(kind))
		}
	}
	assert.ElementsMatch(t, EventKinds, kinds)
}

// The end of a session's time is told where one of the range's webhooks wants to know.
func TestWhoWantsToBeToldThatTheTimeIsUsedUp(t *testing.T) {
	assert.False(t, Range{}.TellsExpired())
	assert.False(t, Range{Webhook: &Webhook{}}.TellsExpired(), "all kinds that a receiver must know")
	assert.True(t, Range{Webhooks: []Webhook{{}, {Kinds: []string{string(lanes.SessionExpired)}}}}.TellsExpired())
}

// The longest preset is the longest session.
func TestThePresetsAreSessionsOfLanes(t *testing.T) {
	assert.Equal(t, lanes.MaxMinutes, MaxSessionMinutes)
}

func TestLoadReadsTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rangegate.yaml")
	require.NoError(t, os.WriteFile(file, []byte(smallest), 0o600))

	cfg, err := Load(file, []string{"RANGEGATE_HTTP_ADDRESS=127.0.0.1:0"})
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:0", cfg.HTTP.Address)

	_, err = Load(file+".missing", nil)
	assert.ErrorIs(t, err, os.ErrNotExist)

	_, err = Load(filepath.Dir(file), nil)
	assert.ErrorContains(t, err, "read the configuration")

	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("#\n", maxBytes/2+1)), 0o600))
	_, err = Load(file, nil)
	assert.EqualError(t, err, "larger than 16 MiB")
}

func TestYAMLShowsTheEffectiveConfiguration(t *testing.T) {
	cfg, err := Parse([]byte(smallest), nil)
	require.NoError(t, err)
	text, err := YAML(cfg)
	require.NoError(t, err)
	assert.Equal(t, `environment: playground
http:
  address: 127.0.0.1:8080
  limits:
    requests: 1000
    burst: 2000
    failures: 60
    waiting: 100
operations:
  address: 127.0.0.1:9090
log:
  level: info
store:
  sqlite: data/rangegate.db
  retention:
    events: 720h0m0s
    history: 2160h0m0s
    names: 720h0m0s
    cap: 1000000
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: Demo range
    tokens:
      - '***'
    purchasing: false
    on_link_loss: run_out
    link_grace: 30s
    clear_after: 2m0s
    sell_before_clear: true
    release_ceasefire: staff
    groups:
      - id: 33333333-3333-4333-8333-000000000001
        name: Public
    bays:
      - id: 55555555-5555-4555-8555-000000000001
        name: Bay A
    lanes:
      - id: 44444444-4444-4444-8444-000000000001
        name: Lane 1
        bay: 55555555-5555-4555-8555-000000000001
        accessible: true
        link:
          driver: sim
      - id: 44444444-4444-4444-8444-000000000002
        name: Lane 2
        bay: 55555555-5555-4555-8555-000000000001
        accessible: true
        link:
          driver: sim
`, string(text))

	again, err := Parse(text, []string{"RANGEGATE_RANGES_0_TOKENS_0=22222222-2222-4222-8222-222222222222"})
	require.NoError(t, err, "but for its secrets the output is a configuration")
	assert.Equal(t, cfg, again)
}

func TestALargeRangeLoads(t *testing.T) {
	const lanes = 20_000
	var text strings.Builder
	text.WriteString(smallest)
	for i := 3; i <= lanes; i++ {
		fmt.Fprintf(&text, "      - {id: 44444444-4444-4444-8444-%012d, name: Lane %d, bay: "+
			"55555555-5555-4555-8555-000000000001}\n", i, i)
	}
	cfg, err := Parse([]byte(text.String()), []string{"RANGEGATE_RANGES_0_LANES_19999_NAME=The last"})
	require.NoError(t, err)
	assert.Len(t, cfg.Ranges[0].Lanes, lanes)
	assert.Equal(t, "The last", cfg.Ranges[0].Lanes[lanes-1].Name)
}

func TestEachJoinedFaultCanBeUnwrapped(t *testing.T) {
	_, err := Parse([]byte(edited(t, "name: Demo range", "name: ''", "name: Lane 2", "name: ' '")), nil)
	var fault Fault
	require.True(t, errors.As(err, &fault))
	assert.Equal(t, Fault{"ranges[0].name", "missing", Position{Line: 5, Column: 11}}, fault)
	assert.EqualError(t, err, "ranges[0].name: missing (line 5, column 11)\n"+
		"ranges[0].lanes[1].name: missing (line 11, column 58)")
}

// A token is a text, or a section with a name and a scope; both forms may stand in one list, and in the
// environment. A token is printed as it was given.
func TestTokensWithNamesAndScopes(t *testing.T) {
	const a, b, c, d = Secret("22222222-2222-4222-8222-22222222222a"), Secret("22222222-2222-4222-8222-22222222222b"),
		Secret("22222222-2222-4222-8222-22222222222c"), Secret("22222222-2222-4222-8222-22222222222d")
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(c.Reveal()+"\n"), 0o600))
	text := strings.Replace(smallest, "token: 22222222-2222-4222-8222-222222222222",
		"tokens: ["+a.Reveal()+", {token: "+b.Reveal()+", name: till 1}, {token_file: "+file+
			", name: board, scope: read}]", 1)
	cfg, err := Parse([]byte(text), []string{
		"RANGEGATE_RANGES_0_TOKENS_3=" + d.Reveal(),
		"RANGEGATE_RANGES_0_TOKENS_3_SCOPE=read",
	})
	require.NoError(t, err)
	require.Equal(t, []RangeToken{
		{a, "", ScopeSell},
		{b, "till 1", ScopeSell},
		{c, "board", ScopeRead},
		{d, "", ScopeRead},
	}, cfg.Ranges[0].Tokens)

	shown, err := YAML(cfg)
	require.NoError(t, err)
	require.Contains(t, string(shown), `    tokens:
      - '***'
      - token: '***'
        name: till 1
        scope: sell
      - token: '***'
        name: board
        scope: read
      - token: '***'
        scope: read
`)
}
