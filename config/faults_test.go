package config

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFaultsOfTheFile(t *testing.T) {
	const lane1 = "{id: 44444444-4444-4444-8444-000000000001, name: Lane 1,"
	for _, c := range []struct {
		name  string
		text  string
		fault string
	}{
		{
			"a missing bracket", "http: {address: 1\nstore: [",
			"line 2: malformed YAML: did not find expected ',' or '}'",
		},
		{"a tab", "http:\n\taddress: x", "line 2: malformed YAML: found character that cannot start any token"},
		{"an alias to nothing", "http:\n  address: *here", "line 2: malformed YAML: refers to an anchor that the " +
			"file does not have; a value that begins with * needs quotes"},
		{"two documents", smallest + "---\nhttp: {}", "holds a second YAML document; one file is one configuration"},
		{"a list for a file", "[1, 2]", "wants keys and values, such as {environment: …}"},
		{"nothing", "", "ranges: wants at least one range"},
		{"only comments", "# later\n", "ranges: wants at least one range"},

		{
			"an unknown key", edited(t, "Lane 1,", "Lane 1, acessible: true,"),
			`ranges[0].lanes[0].acessible: unknown key, did you mean "accessible"?`,
		},
		{"a key of another section", smallest + "tls: {}", "tls: unknown key; known are environment, " +
			"http, operations, controllers, log, store, telemetry, nodes, ranges"},
		{"another case", smallest + "Store: {}", `Store: unknown key, did you mean "store"?`},
		{
			"a key that may be a secret", smallest + "operations: {token:22222222-2222-4222-8222-222222222222}",
			"operations.(line 12): unknown key; known are address, tls, token, token_file, tokens, hosts, " +
				"flight_recorder",
		},
		{"a key that is no text", smallest + "? [a]\n: b", "(line 12): unknown key; known are environment, http, " +
			"operations, controllers, log, store, telemetry, nodes, ranges"},
		{"a key given twice", smallest + "environment: playground", "environment: given twice (lines 2 and 12)"},

		{
			"a flag in quotes", edited(t, "Lane 1,", `Lane 1, accessible: "true",`),
			"ranges[0].lanes[0].accessible: wants true or false",
		},
		{
			"a number for a flag", edited(t, "Lane 1,", `Lane 1, accessible: 1,`),
			"ranges[0].lanes[0].accessible: wants true or false",
		},
		{
			"text for a number", smallest + "store: {retention: {cap: many}}",
			"store.retention.cap: wants a whole number",
		},
		{
			"a number in quotes", smallest + `store: {retention: {cap: "5"}}`,
			"store.retention.cap: wants a whole number",
		},
		{
			"a fraction for a number", smallest + "store: {retention: {cap: 1.5}}",
			"store.retention.cap: wants a whole number",
		},
		{
			"no number at all", smallest + "store: {retention: {cap: .nan}}",
			"store.retention.cap: wants a whole number",
		},
		{
			"a huge number", smallest + "store: {retention: {cap: 99999999999999999999}}",
			"store.retention.cap: wants a whole number",
		},
		{"zero", smallest + "store: {retention: {cap: 0}}", "store.retention.cap: must be more than 0"},
		{
			"a duration without a unit", smallest + "store: {retention: {names: 30}}",
			"store.retention.names: wants a duration with its unit, such as 10s or 720h",
		},
		{
			"a duration of nothing", smallest + "store: {retention: {names: 0s}}",
			"store.retention.names: must be more than 0",
		},
		{
			"a duration below nothing", edited(t, "name: Demo range", "name: Demo range\n    link_grace: -1s"),
			"ranges[0].link_grace: must be more than 0",
		},
		{"a list for text", edited(t, "name: Demo range", "name: [a, b]"), "ranges[0].name: wants text"},
		{"bytes for text", edited(t, "name: Demo range", "name: !!binary aGk="), "ranges[0].name: wants text"},
		{"text for a list", edited(t, "token: 2222", "tokens: 2222"), "ranges[0].tokens: wants a list"},
		{
			"a misspelt day of a group", edited(t, "name: Public",
				"name: Public, hours: {timezone: UTC, week: {munday: ['09:00-12:00']}}"),
			`ranges[0].groups[0].hours.week.munday: unknown key, did you mean "monday"?`,
		},
		{
			"a date that does not exist", edited(t, "name: Demo range", "name: Demo range\n    hours: {timezone: UTC, "+
				"week: {monday: ['09:00-22:00']}, exceptions: {2026-02-30: []}}"),
			"ranges[0].hours.exceptions.(line 6): wants a date such as 2026-12-24",
		},
		{"a date without openings", edited(t, "name: Demo range", "name: Demo range\n    hours: {timezone: UTC, "+
			"week: {monday: ['09:00-22:00']}, exceptions: {2026-12-24: }}"), "ranges[0].hours.exceptions.2026-12-24: " +
			"wants a list, [] for a day without an opening"},
		{
			"a date given twice", edited(t, "name: Demo range", "name: Demo range\n    hours: {timezone: UTC, week: "+
				"{monday: ['09:00-22:00']}, exceptions: {2026-12-24: [], 2026-12-24: []}}"),
			"ranges[0].hours.exceptions.2026-12-24: given twice (lines 6 and 6)",
		},
		{
			"text for an opening's list", edited(t, "name: Demo range", "name: Demo range\n    hours: {timezone: UTC, "+
				"week: {monday: ['09:00-22:00']}, exceptions: {2026-12-24: closed}}"),
			"ranges[0].hours.exceptions.2026-12-24: wants a list",
		},
		{
			"a list for dates", edited(t, "name: Demo range", "name: Demo range\n    hours: {timezone: UTC, week: "+
				"{monday: ['09:00-22:00']}, exceptions: [2026-12-24]}"),
			`ranges[0].hours.exceptions: wants dates and openings, such as {"2026-12-24": ["10:00-14:00"]}`,
		},
		{
			"text for a section", edited(t, lane1+" bay: 55555555-5555-4555-8555-000000000001}", "Lane 1"),
			"ranges[0].lanes[0]: wants keys and values, such as {id: …}",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := Parse([]byte(c.text), nil)
			assert.Equal(t, []string{c.fault}, faultsOf(t, err), "this fault and no other")
			assert.Empty(t, cfg)
		})
	}
}

// nodes is a store that nodes share, and the section with these keys.
func nodes(keys string) string { return "store: {redis: 'redis://h/0'}\nnodes: {" + keys + "}" }

func TestNodesWantTLSInProduction(t *testing.T) {
	_, err := Parse([]byte(strings.Replace(smallest, "environment: playground", "",
		1)+nodes("name: a, address: ':7443'")), nil)
	assert.Contains(t, faultsOf(t, err), "nodes.tls: missing; in production nodes know each other by certificate, "+
		"key and ca, as they hand each other everybody's requests")
}

const wantsOrigin = "wants scheme and host of a page alone, such as https://till.example.com or http://localhost:3000"

// A page over http can be changed by whoever is on its network, unless it is at this machine.
func TestOriginsInProduction(t *testing.T) {
	origins := func(list string) []string {
		_, err := Parse([]byte(strings.Replace(smallest, "environment: playground", "", 1)+"http: {cors: {origins: ["+
			list+"]}}"), nil)
		return faultsOf(t, err)
	}
	for _, fault := range origins("'https://till.example.com:8443', 'http://localhost:3000', 'http://[::1]:3000'") {
		assert.NotContains(t, fault, "cors")
	}
	assert.Contains(t, origins("'http://10.0.0.7'"), "http.cors.origins[0]: wants https in production: whoever "+
		"is on the network of a page over http can change it")
}

func TestFaultsAgainstTheRules(t *testing.T) {
	const (
		name      = "name: Demo range"
		token     = "token: 22222222-2222-4222-8222-222222222222"
		bay1      = "55555555-5555-4555-8555-000000000001"
		lane1ID   = "id: 44444444-4444-4444-8444-000000000001"
		lane2     = "44444444-4444-4444-8444-000000000002"
		inRange   = name + "\n    "
		bayA      = "name: Bay A"
		public    = "name: Public"
		playful   = "environment: playground"
		tlsBoth   = "missing; tls wants certificate and key"
		hostPort  = "wants host:port, such as 127.0.0.1:8080"
		wantsURL  = "wants an absolute http or https url"
		wantsWS   = "wants an absolute ws or wss url"
		pin       = "'$argon2id$v=19$m=65536,t=2,p=2$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu'"
		cheapHash = "wants an argon2id hash with m of at least 19456 and t of at least 2, such as the " +
			"command hash-pin prints"
		redisURL = "store.redis: wants redis://host:port/db or rediss://host:port/db"
	)
	for _, c := range []struct {
		name  string
		text  string
		fault string
	}{
		{"a log level", smallest + "log: {level: loud}", "log.level: wants debug, info, warn or error"},
		{"a log level in capitals", smallest + "log: {level: INFO}", "log.level: wants debug, info, warn or error"},
		{"environment", edited(t, "playground", "staging"), "environment: wants playground or production"},
		{"http without port", smallest + "http: {address: localhost}", "http.address: " + hostPort},
		{"http as a url", smallest + "http: {address: 'http://localhost:80'}", "http.address: " + hostPort},
		{"port too high", smallest + "http: {address: ':65536'}", "http.address: wants a port from 0 to 65535"},
		{"port by name", smallest + "http: {address: ':http'}", "http.address: wants a port from 0 to 65535"},
		{
			"host with a blank", smallest + "operations: {address: 'my host:80'}",
			"operations.address: wants an IP address or a host name before the port",
		},
		{
			"one address for both", smallest + "http: {address: 127.0.0.1:9090}",
			"operations.address: the same as http.address",
		},
		{
			"one address covers the other", smallest + "http: {address: ':9090'}",
			"operations.address: the same as http.address",
		},
		{"tls without key", smallest + "http: {tls: {certificate: a}}", "http.tls.key: " + tlsBoth},
		{"tls without certificate", smallest + "http: {tls: {key: a}}", "http.tls.certificate: " + tlsBoth},
		{"the store of older releases", smallest + "store: {bolt: a}", "store.bolt: " + boltRemoved + ""},
		{
			"two stores", smallest + "store: {sqlite: a, redis: 'redis://h'}",
			"store: two stores, sqlite and redis; choose one",
		},
		{"redis of another scheme", smallest + "store: {redis: 'http://h:1/0'}", redisURL},
		{"redis without host", smallest + "store: {redis: 'redis:///0'}", redisURL},
		{"redis with a fragment", smallest + "store: {redis: 'redis://h:1/0#x'}", redisURL},
		{
			"a database by name", smallest + "store: {redis: 'redis://h:1/first'}",
			"store.redis: wants a number for the database",
		},
		{
			"an option of redis that there is not", smallest + "store: {redis: 'redis://h?pool_size=3'}",
			"store.redis: wants no other options than those of the documentation behind ?",
		},
		{
			"a node without host", smallest + "store: {redis: 'redis://h?addr=:6379'}",
			"store.redis: wants addr as host:port",
		},
		{
			"a node as a url", smallest + "store: {redis: 'redis://h?addr=g:1&addr=redis://i:1'}",
			"store.redis: wants addr as host:port",
		},
		{
			"a cluster with databases", smallest + "store: {redis: 'redis://h/2?addr=g:6379'}",
			"store.redis: wants database 0 in a cluster, which addr without master_name makes it",
		},
		{
			"a master without name", smallest + "store: {redis: 'redis://h?master_name='}",
			"store.redis: wants master_name as the name that the Sentinels know the master by",
		},
		{
			"a Sentinel's password, and none", smallest + "store: {redis: 'redis://h?sentinel_password=x'}",
			"store.redis: wants master_name beside sentinel_username and sentinel_password",
		},
		{
			"no replicas", smallest + "store: {redis: 'redis://h?wait_replicas=0'}",
			"store.redis: wants wait_replicas as a number from 1 to 64",
		},
		{
			"a time-out of nothing", smallest + "store: {redis: 'redis://h?read_timeout=0'}",
			"store.redis: wants read_timeout as a duration such as 500ms, or a number of seconds",
		},
		{
			"a time-out of the past", smallest + "store: {redis: 'redis://h?dial_timeout=-1s'}",
			"store.redis: wants dial_timeout as a duration such as 500ms, or a number of seconds",
		},
		{
			"a certificate without TLS", smallest + "store: {redis: 'redis://h?skip_verify=true'}",
			"store.redis: wants skip_verify as true or false, and rediss://",
		},

		{"nodes on the embedded store", smallest + "nodes: {name: a, address: ':7443'}", "nodes: wants store.redis: " +
			"nodes share the ranges of one Redis, and the embedded store has one process"},
		{
			"a node that listens nowhere", smallest + nodes("name: a"),
			"nodes.address: wants host:port, such as 127.0.0.1:8080",
		},
		{
			"a node where the API listens", smallest + nodes("name: a, address: ':8080'"),
			"nodes.address: the same as http.address",
		},
		{
			"a node where operations listen", smallest + nodes("name: a, address: ':9090'"),
			"nodes.address: the same as operations.address",
		},
		{"a node's name with a port", smallest + nodes("name: 'a:1', address: ':7443'"), "nodes.name: wants at " +
			"most 253 letters, digits and . _ -, such as the machine's host name, and another one for each node"},
		{
			"a node that is reached anywhere", smallest + nodes("name: a, address: ':7443', advertise: ':7443'"),
			"nodes.advertise: wants host:port, as the other nodes reach this one",
		},
		{
			"a node that is reached at no port", smallest + nodes("name: a, address: ':7443', advertise: 'a:0'"),
			"nodes.advertise: wants host:port, as the other nodes reach this one",
		},
		{
			"a node's certificate without ca",
			smallest + nodes("name: a, address: ':7443', tls: {certificate: c, key: k}"),
			"nodes.tls: wants certificate, key and ca",
		},
		{
			"a short life of leases", smallest + nodes("name: a, address: ':7443', ttl: 900ms"),
			"nodes.ttl: wants at least 1s",
		},

		{
			"range without id", edited(t, "  - id: 11111111-1111-4111-8111-111111111111\n    name", "  - name"),
			"ranges[0].id: missing; " + wantsID,
		},
		{
			"the nil id", edited(t, lane2, "00000000-0000-0000-0000-000000000000"),
			"ranges[0].lanes[1].id: missing; " + wantsID,
		},
		{"an id in another spelling", edited(t, lane2, "urn:uuid:"+lane2), "ranges[0].lanes[1].id: " +
			wantsID + ""},
		{
			"a lane's id twice", edited(t, lane2, "44444444-4444-4444-8444-000000000001"),
			"ranges[0].lanes[1].id: already the id of ranges[0].lanes[0]",
		},
		{"a lane's id twice, in capitals", edited(t, lane2, "4444444A-4444-4444-8444-00000000000A", lane1ID,
			"id: 4444444a-4444-4444-8444-00000000000a"), "ranges[0].lanes[1].id: already the id of ranges[0].lanes[0]"},
		{
			"a lane with its bay's id", edited(t, lane2, bay1),
			"ranges[0].lanes[1].id: already the id of ranges[0].bays[0]",
		},
		{"no name", edited(t, name, "name: ' '"), "ranges[0].name: missing"},
		{
			"a long name", edited(t, "Bay A", strings.Repeat("ä", 201)),
			"ranges[0].bays[0].name: longer than 200 characters",
		},

		{"no token", edited(t, token, "tokens: []"), "ranges[0].tokens: wants at least one token"},
		{
			"a token that is nothing", edited(t, token, "tokens: [~]"),
			"ranges[0].tokens[0]: wants a UUID or sha256: and 64 hexadecimal digits",
		},
		{
			"a token in braces", edited(t, token, "token: '{22222222-2222-4222-8222-222222222222}'"),
			"ranges[0].tokens[0]: wants a UUID or sha256: and 64 hexadecimal digits",
		},
		{
			"the nil token", edited(t, token, "token: 00000000-0000-0000-0000-000000000000"),
			"ranges[0].tokens[0]: the nil UUID is no token",
		},
		{
			"a short hash", edited(t, token, "token: sha256:abcd"),
			"ranges[0].tokens[0]: wants 64 hexadecimal digits after sha256:",
		},
		{
			"no origin", smallest + "http: {cors: {origins: []}}",
			"http.cors.origins: wants at least one origin, such as https://till.example.com",
		},
		{"every origin", smallest + "http: {cors: {origins: ['*']}}", "http.cors.origins[0]: " + wantsOrigin},
		{
			"origins by a pattern", smallest + "http: {cors: {origins: ['https://*.example.com']}}",
			"http.cors.origins[0]: " + wantsOrigin,
		},
		{"the origin null", smallest + "http: {cors: {origins: ['null']}}", "http.cors.origins[0]: " + wantsOrigin},
		{
			"an origin with a path", smallest + "http: {cors: {origins: ['https://till.example.com/']}}",
			"http.cors.origins[0]: " + wantsOrigin,
		},
		{
			"an origin with a password", smallest + "http: {cors: {origins: ['https://u:p@till.example.com']}}",
			"http.cors.origins[0]: " + wantsOrigin,
		},
		{
			"an origin without a scheme", smallest + "http: {cors: {origins: [till.example.com]}}",
			"http.cors.origins[0]: " + wantsOrigin,
		},
		{
			"an origin with the scheme's port", smallest + "http: {cors: {origins: ['https://till.example.com:443']}}",
			"http.cors.origins[0]: wants no port where it is that of the scheme: browsers leave it out",
		},
		{"one origin twice", smallest + "http: {cors: {origins: ['https://till.example.com', " +
			"'https://Till.example.com']}}", "http.cors.origins[1]: the same as http.cors.origins[0]"},
		{
			"a token of an unknown scope", edited(t, token, "tokens: [{"+token+", scope: write}]"),
			"ranges[0].tokens[0].scope: wants read or sell",
		},
		{
			"a token with an unknown key", edited(t, token, "tokens: [{"+token+", nam: till}]"),
			`ranges[0].tokens[0].nam: unknown key, did you mean "name"?`,
		},
		{
			"a name and no token", edited(t, token, "tokens: [{name: till}]"),
			"ranges[0].tokens[0]: wants a UUID or sha256: and 64 hexadecimal digits",
		},
		{
			"a list for a token", edited(t, token, "tokens: [["+token[len("token: "):]+"]]"),
			"ranges[0].tokens[0]: wants keys and values, such as {token: …}",
		},
		{
			"a token with a name of blanks", edited(t, token, "tokens: [{"+token+", name: ' '}]"),
			"ranges[0].tokens[0].name: missing",
		},
		{
			"a token with a long name", edited(t, token, "tokens: [{"+token+", name: "+strings.Repeat("x", 65)+"}]"),
			"ranges[0].tokens[0].name: longer than 64 characters",
		},
		{
			"a token with a name of two lines", edited(t, token, "tokens: [{"+token+`, name: "a\nb"}]`),
			"ranges[0].tokens[0].name: has a control character",
		},
		{
			"a token of a controller", edited(t, token, "tokens: [{"+token+", name: controller}]"),
			"ranges[0].tokens[0].name: is that of holds that a controller has set",
		},
		{
			"a token of the operator", edited(t, token, "tokens: [{"+token+", name: operator}]"),
			"ranges[0].tokens[0].name: already the name of operations.token: acts are recorded by it",
		},
		{
			"two tokens with a name", edited(t, token, "tokens: [{"+token+
				", name: till}, {token: 22222222-2222-4222-8222-22222222222a, name: 'till '}]"),
			"ranges[0].tokens[1].name: already the name of ranges[0].tokens[0].name: acts are recorded by it",
		},
		{
			"a token with the name of a person",
			edited(t, token, "tokens: [{"+token+", name: sam}]\n    staff: [{name: sam, pin_hash: "+pin+"}]"),
			"ranges[0].tokens[0].name: already the name of ranges[0].staff[0]: acts are recorded by it",
		},
		{
			"one token twice", edited(t, token, token+"\n    tokens: [22222222-2222-4222-8222-222222222222]"),
			"ranges[0].tokens[1]: the same token as ranges[0].tokens[0]",
		},

		{
			"on_link_loss", edited(t, name, inRange+"on_link_loss: stop"),
			"ranges[0].on_link_loss: wants run_out or hold",
		},
		{
			"a preset without minutes", edited(t, name, inRange+"presets: [{}]"),
			"ranges[0].presets[0].minutes: missing; wants a whole number from 1 to 480",
		},
		{
			"a preset of no minutes", edited(t, name, inRange+"presets: [{minutes: 30}, {minutes: 0}]"),
			"ranges[0].presets[1].minutes: must be more than 0",
		},
		{
			"a preset longer than a session", edited(t, name, inRange+"presets: [{minutes: 481}]"),
			"ranges[0].presets[0].minutes: wants 480 or less, the longest session",
		},
		{
			"a preset to nobody's group",
			edited(t, name, inRange+"presets: [{minutes: 480, group: 33333333-3333-4333-8333-000000000099}]"),
			"ranges[0].presets[0].group: no group of this range has that id",
		},
		{
			"a preset twice", edited(t, name, inRange+"presets: [{minutes: 30}, {minutes: 30}]"),
			"ranges[0].presets[1].minutes: the same sale as ranges[0].presets[0].minutes",
		},
		{
			"too many presets", edited(t, name, inRange+"presets: ["+presetsUpTo(13)+"]"),
			"ranges[0].presets: at most 12",
		},
		{
			"a currency that is none", edited(t, name, inRange+"currency: Euro"),
			"ranges[0].currency: wants three capital letters, such as EUR",
		},
		{
			"a warning at the last moment", edited(t, name, inRange+"warnings: [5m, 9s]"),
			"ranges[0].warnings[1]: wants 10s to 8h",
		},
		{
			"a warning beyond every session", edited(t, name, inRange+"warnings: [9h]"),
			"ranges[0].warnings[0]: wants 10s to 8h",
		},
		{
			"a warning twice", edited(t, name, inRange+"warnings: [60s, 1m]"),
			"ranges[0].warnings[1]: is in the list already",
		},
		{
			"many warnings", edited(t, name, inRange+"warnings: [6m, 5m, 4m, 3m, 2m, 1m]"),
			"ranges[0].warnings: at most 5",
		},
		{"a grace for nobody", edited(t, name, inRange+"grace: 9s"), "ranges[0].grace: wants 10s to 1h"},
		{"a grace without an end", edited(t, name, inRange+"grace: 2h"), "ranges[0].grace: wants 10s to 1h"},
		{"a grace of no time", edited(t, name, inRange+"grace: 0s"), "ranges[0].grace: must be more than 0"},
		{
			"no grace for all", edited(t, name, inRange+"grace_for_all: true"),
			"ranges[0].grace_for_all: wants grace, such as 2m",
		},
		{
			"an open end that is none", edited(t, name, inRange+"presets: [{minutes: 60, open_end: 60}]"),
			"ranges[0].presets[0].open_end: wants more than minutes, and 480 or less: minutes in all",
		},
		{
			"an open end that is too long", edited(t, name, inRange+"presets: [{minutes: 60, open_end: 481}]"),
			"ranges[0].presets[0].open_end: wants more than minutes, and 480 or less: minutes in all",
		},
		{"an open end with a grace", edited(t, name, inRange+"grace: 2m\n    presets: [{minutes: 60, open_end: "+
			"90, grace: true}]"), "ranges[0].presets[0].open_end: goes without grace"},
		{
			"an open end where all have a grace",
			edited(t, name, inRange+"grace: 2m\n    grace_for_all: true\n    presets: [{minutes: 60, open_end: 90}]"),
			"ranges[0].presets[0].open_end: goes without grace_for_all, which gives every session a grace",
		},
		{
			"a preset with no grace", edited(t, name, inRange+"presets: [{minutes: 30, grace: true}]"),
			"ranges[0].presets[0].grace: wants the range to have grace, such as 2m",
		},
		{
			"hours without a zone", edited(t, name, inRange+"hours: {week: {monday: ['09:00-22:00']}}"),
			"ranges[0].hours.timezone: missing; wants a time zone such as Europe/Berlin",
		},
		{
			"hours of a zone that is none",
			edited(t, name, inRange+"hours: {timezone: Europe/Bonn, week: {monday: ['09:00-22:00']}}"),
			"ranges[0].hours.timezone: no such time zone; wants one such as Europe/Berlin",
		},
		{
			"hours of the machine's zone",
			edited(t, name, inRange+"hours: {timezone: Local, week: {monday: ['09:00-22:00']}}"),
			"ranges[0].hours.timezone: no such time zone; wants one such as Europe/Berlin",
		},
		{"hours of no day", edited(t, name, inRange+"hours: {timezone: UTC, exceptions: {2026-12-24: "+
			"['09:00-22:00']}}"), "ranges[0].hours.week: wants an opening on one day at least: nothing " +
			"could ever be sold"},
		{
			"hours that are no times", edited(t, name, inRange+"hours: {timezone: UTC, week: {monday: [9-22]}}"),
			"ranges[0].hours.week.monday[0]: wants opening and closing, such as 09:00-22:00, or " +
				"18:00-02:00 past midnight",
		},
		{"hours that no clock shows", edited(t, name, inRange+
			"hours: {timezone: UTC, week: {monday: ['24:00-25:00']}}"), "ranges[0].hours.week.monday[0]: wants " +
			"opening and closing, such as 09:00-22:00, or 18:00-02:00 past midnight"},
		{
			"hours of no time", edited(t, name, inRange+"hours: {timezone: UTC, week: {sunday: ['09:00-09:00']}}"),
			"ranges[0].hours.week.sunday[0]: opens and closes at one time; 00:00-24:00 is the whole day",
		},
		{"hours that overlap", edited(t, name, inRange+"hours: {timezone: UTC, week: {monday: ['09:00-12:00', "+
			"'11:59-22:00']}}"), "ranges[0].hours.week.monday[1]: begins before the end of the one before it"},
		{
			"hours behind those past midnight",
			edited(t, name, inRange+"hours: {timezone: UTC, week: {monday: ['18:00-02:00', '19:00-20:00']}}"),
			"ranges[0].hours.week.monday[1]: begins before the end of the one before it",
		},
		{
			"hours of a bay that end before they begin",
			edited(t, bayA, bayA+", hours: {timezone: UTC, week: {monday: ['09:00-12:00', '10:00-11:00']}}"),
			"ranges[0].bays[0].hours.week.monday[1]: begins before the end of the one before it",
		},
		{
			"hours of a bay without a zone", edited(t, bayA, bayA+", hours: {week: {monday: ['09:00-12:00']}}"),
			"ranges[0].bays[0].hours.timezone: missing; wants a time zone such as Europe/Berlin",
		},
		{
			"hours of a bay without a day", edited(t, bayA, bayA+", hours: {timezone: UTC, week: {monday: []}}"),
			"ranges[0].bays[0].hours.week: wants an opening on one day at least: nothing could ever be sold",
		},
		{
			"hours of a bay in another zone",
			edited(t, bayA, bayA+", hours: {timezone: UTC, week: {monday: ['09:00-12:00']}}", name, inRange+
				"hours: {timezone: Europe/Berlin, week: {monday: ['09:00-22:00']}}"),
			"ranges[0].bays[0].hours.timezone: another than ranges[0].hours.timezone: a range has one time zone",
		},
		{
			"hours of a group that no clock shows",
			edited(t, public, public+", hours: {timezone: UTC, week: {monday: [9-22]}}"),
			"ranges[0].groups[0].hours.week.monday[0]: wants opening and closing, such as 09:00-22:00, or " +
				"18:00-02:00 past midnight",
		},
		{"hours of a group in another zone than a bay's", edited(t, public, public+", hours: {timezone: UTC}", bayA,
			bayA+", hours: {timezone: Asia/Kolkata}"), "ranges[0].groups[0].hours.timezone: another than " +
			"ranges[0].bays[0].hours.timezone: a range has one time zone"},
		{
			"hours of a date that is wrong",
			edited(t, name, inRange+"hours: {timezone: UTC, week: {monday: ['09:00-22:00']}, exceptions: "+
				"{2026-12-24: ['10:00']}}"), "ranges[0].hours.exceptions.2026-12-24[0]: wants opening and closing, " +
				"such as 09:00-22:00, or 18:00-02:00 past midnight",
		},
		{
			"a lane that is clear at once", edited(t, name, inRange+"clear_after: 0s"),
			"ranges[0].clear_after: must be more than 0",
		},
		{"products without url", edited(t, name, inRange+"products: {}"), "ranges[0].products.url: missing"},
		{
			"products elsewhere", edited(t, name, inRange+"products: {url: 'ftp://h'}"),
			"ranges[0].products.url: " + wantsURL,
		},
		{
			"products relative", edited(t, name, inRange+"products: {url: /products}"),
			"ranges[0].products.url: " + wantsURL,
		},
		{
			"products with an impossible port", edited(t, name, inRange+"products: {url: 'http://h:70000'}"),
			"ranges[0].products.url: " + wantsURL,
		},
		{
			"products with a password", edited(t, name, inRange+"products: {url: 'https://u:p@h'}"),
			"ranges[0].products.url: wants a url without user and password",
		},
		{
			"a queue of nothing", edited(t, name, inRange+"webhook: {url: 'http://h', queue: 0}"),
			"ranges[0].webhook.queue: must be more than 0",
		},
		{
			"retries for less than a minute", edited(t, name, inRange+"webhook: {url: 'http://h', retry: {for: 59s}}"),
			"ranges[0].webhook.retry.for: wants 1m or more",
		},
		{
			"retries for longer than events are kept",
			edited(t, name, inRange+"webhook: {url: 'http://h', retry: {for: 721h}}"),
			"ranges[0].webhook.retry.for: wants no more than store.retention.events, 720h0m0s: what is not in the " +
				"event log cannot be sent again",
		},
		{"staff twice", edited(t, name, inRange+"staff: [{name: sam, pin_hash: "+pin+"}, {name: 'sam ', pin_hash: "+
			pin+"}]"), "ranges[0].staff[1].name: already the name of ranges[0].staff[0]"},
		{
			"staff that is nobody", edited(t, name, inRange+"staff: [{name: controller, pin_hash: "+pin+"}]"),
			"ranges[0].staff[0].name: is not a person's: holds that nobody in particular has set bear it",
		},
		{"staff without pin", edited(t, name, inRange+"staff: [{name: sam}]"), "ranges[0].staff[0].pin_hash: missing"},
		{
			"a pin as it is", edited(t, name, inRange+"staff: [{name: sam, pin_hash: '1234'}]"),
			"ranges[0].staff[0].pin_hash: wants what the command hash-pin prints, in quotes",
		},
		{
			"a hash without quotes", edited(t, name, inRange+
				"staff:\n      - {name: sam, pin_hash: $argon2id$v=19$m=8}"),
			"ranges[0].staff[0].pin_hash: wants what the command hash-pin prints, in quotes",
		},
		{
			"a hash of another kind", edited(t, name, inRange+"staff: [{name: sam, pin_hash: "+
				"'$argon2i$v=19$m=8,t=1,p=1$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu'}]"),
			"ranges[0].staff[0].pin_hash: wants what the command hash-pin prints, in quotes",
		},
		{"a hash without rounds", edited(t, name, inRange+"staff: [{name: sam, pin_hash: "+
			"'$argon2id$v=19$m=8,t=0,p=1$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu'}]"), "ranges[0].staff[0].pin_hash: " +
			"wants an argon2id hash with t and p of at least 1, a salt of 8 bytes and a hash of 16"},
		{
			"a hash of nothing", edited(t, name, inRange+
				"staff: [{name: sam, pin_hash: '$argon2id$v=19$m=8,t=1,p=1$c29tZSBzYWx0$'}]"),
			"ranges[0].staff[0].pin_hash: wants an argon2id hash with t and p of at least 1, a salt of 8 bytes " +
				"and a hash of 16",
		},
		{
			"a hash that takes a gigabyte",
			edited(t, name, inRange+"staff: [{name: sam, pin_hash: "+
				"'$argon2id$v=19$m=1048576,t=1,p=1$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu'}]"),
			"ranges[0].staff[0].pin_hash: wants an argon2id hash with m of at most 262144 and t of at most 16",
		},
		{
			"a hash of little memory", edited(t, name, inRange+"staff: [{name: sam, pin_hash: "+
				"'$argon2id$v=19$m=19455,t=2,p=1$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu'}]"),
			"ranges[0].staff[0].pin_hash: " + cheapHash,
		},
		{
			"a hash of one round", edited(t, name, inRange+"staff: [{name: sam, pin_hash: "+
				"'$argon2id$v=19$m=65536,t=1,p=1$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu'}]"),
			"ranges[0].staff[0].pin_hash: " + cheapHash,
		},
		{
			"a role that there is not", edited(t, name, inRange+"staff: [{name: sam, role: Officer, pin_hash: "+pin+
				"}]"),
			"ranges[0].staff[0].role: wants staff or officer",
		},
		{
			"a ceasefire for nobody's role", edited(t, name, inRange+"release_ceasefire: everybody"),
			"ranges[0].release_ceasefire: wants staff or officer",
		},
		{
			"a ceasefire that nobody could end",
			edited(t, name, inRange+"release_ceasefire: officer\n    staff: [{name: sam, pin_hash: "+pin+"}]"),
			"ranges[0].release_ceasefire: wants an officer among the staff: nobody could end a ceasefire over the " +
				"range on the control screen",
		},

		{
			"an operations token without name", smallest + "operations: {tokens: [{token: x}]}",
			"operations.tokens[0].name: missing",
		},
		{
			"an operations token that is nothing", smallest + "operations: {tokens: [{name: x}]}",
			"operations.tokens[0].token: missing",
		},
		{
			"an operations token of a controller", smallest + "operations: {tokens: [{name: controller, token: x}]}",
			"operations.tokens[0].name: is that of holds that a controller has set",
		},
		{
			"an operations token with the name of the one without", smallest +
				"operations: {tokens: [{name: ' operator', token: x}]}",
			"operations.tokens[0].name: already the name of operations.token",
		},
		{"two operations tokens with a name", smallest + "operations: {tokens: [{name: a, token: x}, {name: a, " +
			"token: y}]}", "operations.tokens[1].name: already the name of operations.tokens[0].name"},
		{
			"one operations token twice", smallest + "operations: {token: x, tokens: [{name: a, token: x}]}",
			"operations.tokens[0].token: the same token as operations.token",
		},
		{
			"an operations token and its hash", smallest + "operations: {token: x, tokens: [{name: a, token: " +
				"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881}]}",
			"operations.tokens[0].token: the same token as operations.token",
		},
		{
			"a short hash of an operations token", smallest + "operations: {token: sha256:abcd}",
			"operations.token: wants 64 hexadecimal digits after sha256:",
		},
		{
			"a person with the name of an operations token",
			edited(t, name, inRange+"staff: [{name: sam, pin_hash: "+pin+"}]") +
				"operations: {tokens: [{name: sam, token: x}]}", "ranges[0].staff[0].name: already the name of " +
				"operations.tokens[0].name: acts are recorded by it",
		},
		{
			"a screen key to guess", edited(t, "Lane 1,", "Lane 1, screen_key: lane-1-secret-1,"),
			"ranges[0].lanes[0].screen_key: wants 16 to 128 letters, digits and . _ ~ -",
		},
		{
			"a screen key for no address", edited(t, "Lane 1,", "Lane 1, screen_key: 'a key/with=signs&more',"),
			"ranges[0].lanes[0].screen_key: wants 16 to 128 letters, digits and . _ ~ -",
		},
		{
			"a board without a key", edited(t, name, inRange+"board: {names: true}"),
			"ranges[0].board.key: wants 16 to 128 letters, digits and . _ ~ -",
		},
		{
			"a board with the key of a lane's screen", edited(t, name, inRange+"board: {key: the-key-of-a-screen}",
				"Lane 1,", "Lane 1, screen_key: the-key-of-a-screen,"),
			"ranges[0].lanes[0].screen_key: the same as ranges[0].board.key",
		},
		{
			"one screen key for two lanes", edited(t, "Lane 1,", "Lane 1, screen_key: the-key-of-a-screen,", "Lane 2,",
				"Lane 2, screen_key: the-key-of-a-screen,"),
			"ranges[0].lanes[1].screen_key: the same as ranges[0].lanes[0].screen_key",
		},

		{
			"no group", edited(t, "[{id: 33333333-3333-4333-8333-000000000001, name: Public}]", "[]"),
			"ranges[0].groups: wants at least one group",
		},
		{"lane without bay", edited(t, "Lane 2, bay: "+bay1, "Lane 2"), "ranges[0].lanes[1].bay: missing; " + wantsID},
		{
			"lane in no bay", edited(t, "Lane 2, bay: "+bay1, "Lane 2, bay: 12345678-5555-4555-8555-000000000009"),
			"ranges[0].lanes[1].bay: no bay with id 12345678… in this range",
		},
		{
			"unknown driver", edited(t, "Lane 1,", "Lane 1, link: {driver: simm},"),
			"ranges[0].lanes[0].link.driver: no such driver; this release has sim, websocket and incoming",
		},
		{
			"websocket without an address", edited(t, "Lane 1,", "Lane 1, link: {driver: websocket},"),
			"ranges[0].lanes[0].link.address: missing; the websocket driver wants a ws or wss url",
		},
		{
			"websocket at a web address",
			edited(t, "Lane 1,", "Lane 1, link: {driver: websocket, address: 'http://h/lane'},"),
			"ranges[0].lanes[0].link.address: " + wantsWS,
		},
		{
			"websocket without a host", edited(t, "Lane 1,",
				"Lane 1, link: {driver: websocket, address: 'ws:///lane'},"),
			"ranges[0].lanes[0].link.address: " + wantsWS,
		},
		{
			"websocket with an impossible port",
			edited(t, "Lane 1,", "Lane 1, link: {driver: websocket, address: 'wss://h:0/lane'},"),
			"ranges[0].lanes[0].link.address: " + wantsWS,
		},
		{
			"websocket with a fragment", edited(t, "Lane 1,",
				"Lane 1, link: {driver: websocket, address: 'ws://h/#lane'},"),
			"ranges[0].lanes[0].link.address: " + wantsWS,
		},
		{
			"websocket with a password", edited(t, "Lane 1,",
				"Lane 1, link: {driver: websocket, address: 'ws://u:p@h/lane'},"),
			"ranges[0].lanes[0].link.address: wants a url without user and password",
		},
		{
			"one controller for two lanes",
			edited(t, "Lane 1,", "Lane 1, link: {driver: websocket, address: 'ws://h/lane'},", "Lane 2,",
				"Lane 2, link: {driver: websocket, address: 'ws://h/lane'},"),
			"ranges[0].lanes[1].link.address: the same as ranges[0].lanes[0].link.address",
		},
		{"two ways to trust", edited(t, name, inRange+"link_tls: {ca: ca.pem, fingerprint: 'sha256:"+
			strings.Repeat("aB", 32)+"'}"), "ranges[0].link_tls: two ways to trust, ca and fingerprint; choose one"},
		{"a fingerprint of another kind", edited(t, name, inRange+"link_tls: {fingerprint: 'sha1:"+
			strings.Repeat("aB", 32)+"'}"), "ranges[0].link_tls.fingerprint: wants sha256: and 64 hexadecimal digits"},
		{
			"a fingerprint that is short", edited(t, name, inRange+"link_tls: {fingerprint: 'sha256:aB'}"),
			"ranges[0].link_tls.fingerprint: wants sha256: and 64 hexadecimal digits",
		},
		{"a fingerprint that is none", edited(t, name, inRange+"link_tls: {fingerprint: 'sha256:"+
			strings.Repeat("aX", 32)+"'}"), "ranges[0].link_tls.fingerprint: wants sha256: and 64 hexadecimal digits"},
		{
			"a key of 127 bits", edited(t, "Lane 1,",
				"Lane 1, link: {driver: websocket, address: 'ws://h/lane', key: 123456789012345678901},"),
			"ranges[0].lanes[0].link.key: wants at least 22 characters of 128 random bits, such as the " +
				"command new-key prints",
		},
		{
			"sim with an address", edited(t, "Lane 1,", "Lane 1, link: {address: 'ws://h/lane'},"),
			"ranges[0].lanes[0].link.address: the sim driver takes no address",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), nil)
			assert.Equal(t, []string{c.fault}, faultsOf(t, err), "this fault and no other")
		})
	}
}

func TestRulesOfProduction(t *testing.T) {
	text := edited(t, "environment: playground\n", "", "name: Demo range",
		"name: Demo range\n    products: {url: 'http://h'}\n    webhook: {url: 'http://h'}")
	_, err := Parse([]byte(text), nil)
	assert.Equal(t, []string{
		"ranges[0].webhook.url: wants https in production",
		"ranges[0].products.url: wants https in production",
		"ranges[0].lanes[0].link.driver: the sim driver is for the playground",
		"ranges[0].lanes[1].link.driver: the sim driver is for the playground",
	}, faultsOf(t, err), "production is the default")
}

// In production nobody on the network of a link can speak for either side of it, unless the operator accepts that.
func TestLinksInProduction(t *testing.T) {
	const (
		key      = ", key: 4GhZ9qJ0sX2vB7nM1cL5kW"
		another  = ", key: 8TbYw3EfR6uQ0pKxD2aHjN"
		trust    = "\n    link_tls: {ca: ca.pem}"
		accepted = "\n    insecure_links: true"
		wantsWSS = "link.address: wants wss:// in production, or insecure_links: true in the range"
		wantsKey = "link.key: missing; wants what the command new-key prints in production, or " +
			"insecure_links: true in the range"
		wantsTrust  = "link_tls: missing; wants ca or fingerprint in production, or insecure_links: true in the range"
		first, next = "ranges[0].lanes[0].", "ranges[0].lanes[1]."
	)
	for _, c := range []struct {
		name, settings, first, second string
		faults                        []string
		insecure                      int
	}{
		{"all that it wants", trust, "'wss://h/1'" + key, "'wss://h/2'" + another, nil, 0},
		{
			"in the clear", "", "'ws://h/1'" + key, "'ws://h/2'" + another,
			[]string{first + wantsWSS, next + wantsWSS},
			2,
		},
		{"one without a key", trust, "'wss://h/1'" + key, "'wss://h/2'", []string{next + wantsKey}, 1},
		{"no trust", "", "'wss://h/1'" + key, "'wss://h/2'" + another, []string{"ranges[0]." + wantsTrust}, 2},
		{"nothing of it", "", "'ws://h/1'", "'wss://h/2'", []string{
			first + wantsWSS, first + wantsKey, next + wantsKey,
			"ranges[0]." + wantsTrust,
		}, 2},
		{"nothing of it, accepted", accepted, "'ws://h/1'", "'wss://h/2'", nil, 2},
		{"some of it, accepted", trust + accepted, "'wss://h/1'" + key, "'ws://h/2'" + another, nil, 1},
	} {
		text := edited(t, "environment: playground\n", "", "name: Demo range", "name: Demo range"+c.settings,
			"Lane 1,", "Lane 1, link: {driver: websocket, address: "+c.first+"},", "Lane 2,",
			"Lane 2, link: {driver: websocket, address: "+c.second+"},")
		cfg, err := Parse([]byte(text), nil)
		if c.faults != nil {
			assert.Equal(t, c.faults, faultsOf(t, err), c.name)
			cfg, err = Parse([]byte("environment: playground\n"+text), nil)
		}
		require.NoError(t, err, c.name)
		assert.Len(t, cfg.InsecureLanes(cfg.Ranges[0]), c.insecure, c.name)
	}
	_, err := Parse([]byte(edited(t, "environment: playground\n", "", "name: Demo range", "name: Demo range"+accepted,
		"Lane 1,", "Lane 1, link: {driver: websocket, address: 'ws://h/1', key: short},", "Lane 2,",
		"Lane 2, link: {driver: websocket, address: 'ws://h/2'},")), nil)
	assert.Len(t, faultsOf(t, err), 1, "a key that is too short is none in any case")
}

// A secret of production cannot be guessed, and who has that of one lane speaks for no other.
func TestSecretsOfProductionAreStrongAndEachLaneHasItsOwn(t *testing.T) {
	const strong = "4GhZ9qJ0sX2vB7nM1cL5kW"
	lanes := func(first, second string) string {
		return edited(t, "environment: playground\n", "", "name: Demo range",
			"name: Demo range\n    link_tls: {ca: ca.pem}",
			"Lane 1,", "Lane 1, link: {driver: websocket, address: 'wss://h/1', key: 8TbYw3EfR6uQ0pKxD2aHjN}, "+first+
				",",
			"Lane 2,", "Lane 2, link: {driver: websocket, address: 'wss://h/2', "+second+",")
	}
	for name, c := range map[string]struct {
		text  string
		fault string
	}{
		"a link's key of one letter": {
			lanes("screen_key: "+strong, "key: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}"),
			"ranges[0].lanes[1].link.key: could be guessed",
		},
		"a link's key twice": {
			lanes("screen_key: "+strong, "key: 8TbYw3EfR6uQ0pKxD2aHjN}"),
			"ranges[0].lanes[1].link.key: the same as ranges[0].lanes[0].link.key",
		},
		"a screen's key that is a link's": {
			lanes("screen_key: "+strong, "key: "+strong+"}"),
			"ranges[0].lanes[1].link.key: the same as ranges[0].lanes[0].screen_key",
		},
		"a screen's key of few digits": {
			lanes("screen_key: '1234567812345678'", "key: "+strong+"}"),
			"ranges[0].lanes[0].screen_key: could be guessed",
		},
		"a webhook's secret of one letter": {
			edited(t, "environment: playground\n", "", "name: Demo range",
				"name: Demo range\n    insecure_links: true\n    webhook: {url: 'https://pos.example/w', secrets: "+
					"[whsec_"+strings.Repeat("YWFh", 11)+"]}",
				"Lane 1,", "Lane 1, link: {driver: websocket, address: 'ws://h/1'},", "Lane 2,",
				"Lane 2, link: {driver: websocket, address: 'ws://h/2'},"),
			"ranges[0].webhook.secrets[0]: could be guessed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), nil)
			faults := faultsOf(t, err)
			require.Len(t, faults, 1)
			require.Contains(t, faults[0], c.fault)
			_, err = Parse([]byte("environment: playground\n"+c.text), nil)
			require.NoError(t, err)
		})
	}
}

func TestRulesOfTheWebhook(t *testing.T) {
	_, err := Parse([]byte(edited(t, "name: Demo range", `name: Demo range
    webhook:
      url: 'mailto:pos@example'
      secrets: [whsec_c2VjcmV0, c2VjcmV0, 'whsec_?', whsec_]
      timeout: soon
      concurrency: -1`)), nil)
	assert.Equal(t, []string{
		"ranges[0].webhook.timeout: wants a duration with its unit, such as 10s or 720h",
		"ranges[0].webhook.concurrency: must be more than 0",
		"ranges[0].webhook.url: wants an absolute http or https url",
		"ranges[0].webhook.secrets: at most two, the second for rotation",
		"ranges[0].webhook.secrets[1]: wants whsec_ and base64",
		"ranges[0].webhook.secrets[2]: wants whsec_ and base64",
		"ranges[0].webhook.secrets[3]: wants whsec_ and base64",
	}, faultsOf(t, err))
}

func TestRulesOfSeveralWebhooks(t *testing.T) {
	_, err := Parse([]byte(edited(t, "name: Demo range", `name: Demo range
    purchasing: true
    webhook: {url: 'http://h/in', name: '-'}
    webhooks:
      - {url: 'http://books.example/in', purchases: true, kinds: [help, bell, help, purchaseRequest]}
      - {url: 'http://books.example/out', purchases: true}
      - {url: 'mailto:pos@example', name: pos}
      - {url: 'http://[::1]/in'}`)), nil)
	assert.Equal(t, []string{
		"ranges[0].webhook.name: wants letters, digits, dots, dashes and underscores, 64 at most",
		"ranges[0].webhooks: not beside webhook: put that one into the list, or take it out",
		"ranges[0].webhooks[0].kinds[1]: wants one of help, carrierHit, sessionCreated, sessionStarted, " +
			"sessionPaused, sessionResumed, sessionStopped, sessionModified, sessionEnding, " +
			"sessionExpired, sessionBeyond",
		"ranges[0].webhooks[0].kinds[2]: is in the list already",
		"ranges[0].webhooks[0].kinds[3]: goes to the webhook with purchases: true alone",
		"ranges[0].webhooks[1].name: already the name of ranges[0].webhooks[0].name; without a name it is " +
			"the host of the url",
		"ranges[0].webhooks[1].purchases: true already for ranges[0].webhooks[0].purchases: one alone " +
			"decides a purchase",
		"ranges[0].webhooks[2].url: wants an absolute http or https url",
		"ranges[0].webhooks[3].name: wants letters, digits, dots, dashes and underscores, 64 at most",
	}, faultsOf(t, err))
	_, err = Parse([]byte(edited(t, "name: Demo range", `name: Demo range
    purchasing: true
    webhooks: [`+strings.Repeat("{url: 'http://h/in', name: a},", 9)+`]`)), nil)
	assert.Contains(t, faultsOf(t, err), "ranges[0].webhooks: at most 8")
	_, err = Parse([]byte(edited(t, "name: Demo range", `name: Demo range
    purchasing: true
    webhooks: [{url: 'http://h/in'}]`)), nil)
	assert.Equal(t, []string{"ranges[0].webhooks: wants purchases: true for one of them, as the range has " +
		"purchasing: true"}, faultsOf(t, err))
}

func TestIdsTokensAndAddressesAreUniqueAcrossRanges(t *testing.T) {
	_, second, _ := strings.Cut(smallest, "ranges:\n")
	_, err := Parse([]byte(smallest+second), nil)
	assert.Equal(t, []string{
		"ranges[1].id: already the id of ranges[0]",
		"ranges[1].tokens[0]: the same token as ranges[0].tokens[0]",
		"ranges[1].lanes[0].id: already the id of ranges[0].lanes[0]",
		"ranges[1].lanes[1].id: already the id of ranges[0].lanes[1]",
	}, faultsOf(t, err), "bays and groups are each range's own")
}

func TestATokenIsTheSameInEverySpelling(t *testing.T) {
	const plain, capitals = "abcdefab-2222-4222-8222-222222222222", "ABCDEFAB-2222-4222-8222-222222222222"
	digest, problem := TokenDigest(plain)
	require.Empty(t, problem)
	for _, spelling := range []Secret{capitals, Secret(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(plain))))} {
		other, problem := TokenDigest(spelling)
		require.Empty(t, problem)
		assert.Equal(t, digest, other)
	}
	_, problem = TokenDigest("no token")
	assert.NotEmpty(t, problem)
}

func TestAllFaultsAreListedAtOnce(t *testing.T) {
	_, err := Parse([]byte(`
environment: playground
htpp: {address: x}
http: {address: x}
store: 5
ranges:
  - id: 5
    name: [5]
    purchasing: perhaps
    groups: {}
    bays: [7]
    lanes:
      - {id: x, name: Lane 1, bay: y, accessible: no way, link: sim}
`), []string{"RANGEGATE_STORE_SQLIT=x"})
	assert.Equal(t, []string{
		`htpp: unknown key, did you mean "http"?`,
		"store: wants keys and values, such as {sqlite: …}",
		"ranges[0].id: " + wantsID + "",
		"ranges[0].name: wants text",
		"ranges[0].purchasing: wants true or false",
		"ranges[0].groups: wants a list",
		"ranges[0].bays[0]: wants keys and values, such as {id: …}",
		"ranges[0].lanes[0].id: " + wantsID + "",
		"ranges[0].lanes[0].bay: " + wantsID + "",
		"ranges[0].lanes[0].accessible: wants true or false",
		"ranges[0].lanes[0].link: wants keys and values, such as {driver: …}",
		"RANGEGATE_STORE_SQLIT: no such setting, did you mean RANGEGATE_STORE_SQLITE?",
		"http.address: wants host:port, such as 127.0.0.1:8080",
		"ranges[0].tokens: wants at least one token",
	}, faultsOf(t, err), "and what could not be read is not reported as missing too")
}

func TestTheListOfFaultsIsBounded(t *testing.T) {
	_, err := Parse([]byte("ranges: ["+strings.Repeat("{}, ", 2000)+"]"), nil)
	list := faultsOf(t, err)
	require.Len(t, list, maxFaults+1)
	assert.Equal(t, "only the first 1000 faults are listed", list[maxFaults])
}

// presetsUpTo returns the presets of 1, 2 and so on minutes.
func presetsUpTo(minutes int) string {
	var list []string
	for n := 1; n <= minutes; n++ {
		list = append(list, fmt.Sprintf("{minutes: %d}", n))
	}
	return strings.Join(list, ", ")
}
