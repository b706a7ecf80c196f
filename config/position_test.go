package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// positionsOf are the faults of a file, each as its path and its position.
func positionsOf(t *testing.T, err error) (list []string) {
	t.Helper()
	for _, text := range strings.Split(err.Error(), "\n") {
		path, rest, _ := strings.Cut(text, ": ")
		at := strings.LastIndex(rest, " (")
		if at < 0 {
			list = append(list, path)
			continue
		}
		list = append(list, path+" "+strings.TrimSuffix(rest[at+2:], ")"))
	}
	return list
}

// Whoever corrects the file is led to the place of each fault.
func TestPositionsOfFaults(t *testing.T) {
	const (
		group = "    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]\n"
		bay   = "    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]\n"
		lane1 = "{id: 44444444-4444-4444-8444-000000000001, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001"
		lane2 = "{id: 44444444-4444-4444-8444-000000000002, name: Lane 2, bay: 55555555-5555-4555-8555-000000000001"
		lanes = "    lanes:\n      - " + lane1 + "}\n      - " + lane2 + "}\n"
		begin = "environment: playground\nranges:\n  - id: 11111111-1111-4111-8111-111111111111\n"
		token = "    token: 22222222-2222-4222-8222-222222222222\n"
		rest  = token + group + bay + lanes
		whole = begin + "    name: Range\n" + rest // of 10 lines, on 1 to 6 up to its groups
	)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a value", begin + "    name: ''\n" + rest, []string{"ranges[0].name f.yaml:4:11"}},
		{"the key of a list", begin + "    name:\n      - x\n" + rest, []string{"ranges[0].name f.yaml:4:5"}},
		{"a key without a value", begin + "    name:\n" + rest, []string{"ranges[0].name f.yaml:4:5"}},
		{"a missing key, at the item of the list that lacks it", begin + rest, []string{"ranges[0].name f.yaml:3:5"}},
		{"a missing key, at its section", whole + "controllers: {tls: {key: k}}\n", []string{
			"controllers.address f.yaml:11:1", "controllers.tls.certificate f.yaml:11:15",
		}},
		{"a missing key, at the file", "\n\nenvironment: playground", []string{"ranges f.yaml:3:1"}},
		{"an empty file", "", []string{"ranges f.yaml:1:1"}},
		{"an unknown key and a default", whole + "htpp: {}\nhttp: {address: x, addr: y}\n", []string{
			"htpp f.yaml:11:1", "http.addr f.yaml:12:20", "http.address f.yaml:12:17",
		}},
		{"a key that is not shown", whole + "operations: {token:22222222-2222-4222-8222-222222222222}", []string{
			"operations.(line 11) f.yaml:11:14",
		}},
		{"a key given twice, at the second", whole + "log: {level: info, level: warn}", []string{
			"log.level f.yaml:11:20",
		}},
		{"an item of a list", begin + "    name: Range\n    tokens: [22222222-2222-4222-8222-222222222222, x]\n" +
			group + bay + lanes, []string{"ranges[0].tokens[1] f.yaml:5:52"}},
		{
			"the single token beside a list", begin +
				"    name: Range\n    tokens: [22222222-2222-4222-8222-222222222222]\n    token: x\n" + group +
				bay + lanes,
			[]string{"ranges[0].tokens[1] f.yaml:6:12"},
		},
		{
			"a token in a section", begin + "    name: Range\n    tokens: [{token: x, scope: all}]\n" +
				group + bay + lanes,
			[]string{"ranges[0].tokens[0] f.yaml:5:14", "ranges[0].tokens[0].scope f.yaml:5:32"},
		},
		{
			"a link's key", begin + "    name: Range\n" + token + group + bay + "    lanes:\n      - " + lane1 +
				"}\n      - " + lane2 +
				"\n        , link: {driver: websocket,\n          address: 'ws://h/1', key: short}}\n",
			[]string{"ranges[0].lanes[1].link.key f.yaml:12:37"},
		},
		{
			"dates",
			begin + "    name: Range\n    hours:\n      timezone: UTC\n      week: {monday: ['09:00-22:00']}\n" +
				"      exceptions: {2026-12-24: [x], 2026-02-30: [], 2026-12-25: }\n" + rest,
			[]string{
				"ranges[0].hours.exceptions.(line 8) f.yaml:8:37",
				"ranges[0].hours.exceptions.2026-12-25 f.yaml:8:53",
				"ranges[0].hours.exceptions.2026-12-24[0] f.yaml:8:33",
			},
		},
		{"a merge key, which is unknown", "http: &h {address: ':1'}\noperations: {<<: *h}\n" + whole, []string{
			"operations.(line 2) f.yaml:2:14",
		}},

		{"a tab is one character", begin + "    name:\t\t''\n" + rest, []string{"ranges[0].name f.yaml:4:12"}},
		{"lines of Windows", strings.ReplaceAll(begin+"    name: ''\n"+rest, "\n", "\r\n"), []string{
			"ranges[0].name f.yaml:4:11",
		}},
		{"characters of several bytes", "# Schießstand 🎯\n" + whole +
			"log: {level: 'größer 🎯', \"lével\": x}\n", []string{
			"log.(line 12) f.yaml:12:26", "log.level f.yaml:12:14",
		}},
		{"a byte order mark", "\ufeffstore: x\n" + whole, []string{"store f.yaml:1:8"}},

		{"an alias, and where it stands for something", begin + "    name: Range\n" + token + group + bay +
			"    lanes:\n      - &lane " + lane1 + "}\n      - *lane\n", []string{
			"ranges[0].lanes[1].id f.yaml:9:20, through the alias at f.yaml:10:9",
		}},
		{"an alias for a scalar", "http: {address: &here x}\noperations: {address: *here}\n" + whole, []string{
			"http.address f.yaml:1:17", "operations.address f.yaml:1:17, through the alias at f.yaml:2:23",
		}},
		{
			"an alias for a section that lacks a key",
			"http: {tls: &tls {key: k}}\noperations: {tls: *tls}\n" + whole,
			[]string{
				"http.tls.certificate f.yaml:1:8",
				"operations.tls.certificate f.yaml:1:13, through the alias at f.yaml:2:19",
			},
		},
		{
			"an unknown key behind an alias",
			"http: {limits: &l {burst: x, bursd: 1}}\nstore: {retention: *l}\n" + whole,
			[]string{
				"http.limits.burst f.yaml:1:27", "http.limits.bursd f.yaml:1:30",
				"store.retention.burst f.yaml:1:20, through the alias at f.yaml:2:20",
				"store.retention.bursd f.yaml:1:30, through the alias at f.yaml:2:20",
			},
		},

		{"malformed YAML, at the text of the line", whole + "log: {level: info}\n   x: [\n", []string{
			"line 12 f.yaml:12:4",
		}},
		{
			"malformed YAML, at the line of the bracket that nothing closes",
			"# ö\n  # x\n" + "store: [\nhttp: {}\n",
			[]string{
				"line 3 f.yaml:3:1",
			},
		},
		{"malformed YAML on the first line", "http: [}", []string{"malformed YAML f.yaml:1:1"}},
		{"a tab for spaces", "http:\n\taddress: x", []string{"line 2 f.yaml:2:1"}},
		{"an alias to nothing", "# ö\nname: ö\nhttp: {address: *nowhere}", []string{"line 3 f.yaml:3:17"}},
		{"a byte that is no text", "# ö\nname: ö\xff", []string{"malformed YAML f.yaml:2:8"}},
		{"a control character", "# ö\r\nname: ö \x01", []string{"malformed YAML f.yaml:2:9"}},
		{"a second document", whole + "---\nhttp: {}", []string{"holds a second YAML document; one file is one " +
			"configuration (f.yaml:11:1)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile("f.yaml", []byte(c.text), 0o600))
			_, err := Load("f.yaml", nil)
			require.Error(t, err)
			assert.Equal(t, c.want, positionsOf(t, err), "%v", err)
		})
	}
}

// What a variable of the environment has set has no place in the file: the fault names the variable.
func TestFaultsOfVariablesNameThem(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte(edited(t, "name: Demo range", "name: ''")+
		"http: {address: '127.0.0.1:1'}\nlog: {level: info}\n"), 0o600))
	secrets := secretsIn(t, map[string]string{"tokens": "x\n22222222-2222-4222-8222-22222222222a\n", "key": "short"})
	_, err := Load(file, []string{
		"CREDENTIALS_DIRECTORY=" + secrets,
		"RANGEGATE_HTTP_ADDRESS=x",
		"RANGEGATE_LOG_LEVEL=loud",
		"RANGEGATE_NODES_NAME=a",
		"RANGEGATE_RANGES_0_TOKENS_FILE=tokens",
		"RANGEGATE_RANGES_0_TOKEN=y",
		"RANGEGATE_RANGES_0_LANES_1_LINK_DRIVER=websocket",
		"RANGEGATE_RANGES_0_LANES_1_LINK_KEY_FILE=key",
		"RANGEGATE_STORE_SQLIT=x",
		"OTEL_EXPORTER_OTLP_ENDPOINT=ftp://c",
	})
	require.Error(t, err)
	assert.Equal(t, []string{
		"RANGEGATE_STORE_SQLIT",
		"http.address RANGEGATE_HTTP_ADDRESS",
		"log.level RANGEGATE_LOG_LEVEL",
		"telemetry.endpoint OTEL_EXPORTER_OTLP_ENDPOINT",
		"nodes RANGEGATE_NODES_NAME",
		"nodes.address RANGEGATE_NODES_NAME",
		"ranges[0].name " + file + ":5:11",
		"ranges[0].tokens[0] RANGEGATE_RANGES_0_TOKENS_FILE",
		"ranges[0].tokens[2] RANGEGATE_RANGES_0_TOKEN",
		"ranges[0].lanes[1].link.address " + file + ":11:9",
		"ranges[0].lanes[1].link.key RANGEGATE_RANGES_0_LANES_1_LINK_KEY_FILE",
	}, positionsOf(t, err), "%v", err)

	cfg := Playground(1, "", "127.0.0.1:0", "http://127.0.0.1:1")
	err = Override(&cfg, []string{"RANGEGATE_HTTP_ADDRESS=x"})
	require.EqualError(t, err, "http.address: wants host:port, such as 127.0.0.1:8080 (RANGEGATE_HTTP_ADDRESS)",
		"of a configuration without a file, too")
}

// A secret in a file of its own has the position of what names the file.
func TestAFaultyFileOfASecretHasThePositionOfItsSetting(t *testing.T) {
	secrets := secretsIn(t, map[string]string{"tokens": "x\n22222222-2222-4222-8222-22222222222a\n", "key": "short"})
	text := edited(t, "    token: 22222222-2222-4222-8222-222222222222\n",
		"    token: z\n    tokens_file: tokens\n",
		"Lane 2,", "Lane 2, link: {driver: websocket, address: 'ws://h', key_file: key},") +
		"operations: {token_file: nowhere}\n"
	_, _, err := read("f.yaml", []byte(text), []string{"CREDENTIALS_DIRECTORY=" + secrets})
	require.Error(t, err)
	assert.Equal(t, []string{
		"operations.token_file f.yaml:13:26",
		"ranges[0].tokens[0] f.yaml:7:18",
		"ranges[0].tokens[2] f.yaml:6:12",
		"ranges[0].lanes[1].link.key f.yaml:12:121",
	}, positionsOf(t, err), "%v", err)
}
