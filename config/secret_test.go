package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestASecretPrintsAsStarsHoweverItIsPrinted(t *testing.T) {
	const s Secret = "planted"
	assert.Equal(t, "planted", s.Reveal())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		assert.Equal(t, "***", fmt.Sprintf(verb, s), verb)
		assert.NotContains(t, fmt.Sprintf(verb, Operations{Token: s}), "706c616e746564", verb)
		assert.NotContains(t, fmt.Sprintf(verb, []Secret{s}), "planted", verb)
	}
	asJSON, err := json.Marshal(map[string]any{"a": s, "b": []Secret{""}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":"***","b":[""]}`, string(asJSON))
	asYAML, err := yaml.Marshal([]Secret{s, ""})
	require.NoError(t, err)
	assert.Equal(t, "- '***'\n- \"\"\n", string(asYAML))
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s)
	assert.Contains(t, log.String(), "secret=***")
	assert.Empty(t, Secret("").String(), "an empty one shows that none is set")
}

// Plants a secret in every place that takes one, in valid and in invalid forms, in the file and in the environment.
func TestNoFaultAndNoOutputShowsASecret(t *testing.T) {
	const planted = "planted"
	good := edited(t,
		"name: Demo range", "name: Demo range\n    staff: [{name: sam, pin_hash: "+
			"'$argon2id$v=19$m=19456,t=2,p=1$cGxhbnRlZC1zYWx0$cGxhbnRlZC1oYXNoLXBsYW50ZWQ'}]\n    board: {key: "+
			"planted-key-of-a-board}",
		"Lane 1,", "Lane 1, screen_key: planted-screen-key, link: {key: planted},",
	) + "operations: {token: planted, tokens: [{name: night, token: planted-2}]}\nstore: {redis: " +
		"'redis://planted:planted@h/0'}"
	cfg, err := Parse([]byte(good), nil)
	require.NoError(t, err)
	text, err := YAML(cfg)
	require.NoError(t, err)
	assert.NotContains(t, string(text), planted)
	assert.NotContains(t, string(text), "argon2id")
	assert.Equal(t, 8, strings.Count(string(text), "***"))
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg), planted)

	values := []string{
		planted, "planted-1", "'*planted'", "*planted", "&planted", "!planted x", "{planted-1: x}", "[planted]",
		"{a: [planted]}", "planted: x",
		"{token:planted}", "'redis://:planted@'", "'redis://planted:%zz@h'", "'redis://h?planted=planted'",
		"'redis://h?sentinel_password=planted'", "'redis://h?addr=u:planted@h:1'", "'http://u:planted@h:99999/'",
		"whsec_planted?", "sha256:planted", `"planted\q"`, "|planted",
	}
	places := []string{
		"operations: {token: %s}", "operations: {tokens: [{token: %s}]}", "operations:\n  token: %s", "operations: %s",
		"store: {redis: %s}", "store:\n  redis: %s",
		"ranges: [{token: %s}]", "ranges: [{tokens: [%s]}]", "ranges: [{tokens: %s}]", "ranges: [{id: %s}]",
		"ranges: [{webhook: {secrets: [%s]}}]", "ranges: [{webhook: {url: %s}, products: {url: %s}}]",
		"ranges: [{staff: [{pin_hash: %s}]}]", "ranges: [{board: {key: %s, names: %s}}]",
		"ranges: [{lanes: [{screen_key: %s, bay: %s, link: {key: %s, driver: %s, address: %s}}]}]",
		"environment: %s", "http: {address: %s, tls: %s}",
		"ranges: [{link_grace: %s, purchasing: %s, on_link_loss: %s}]",
	}
	for _, place := range places {
		for _, value := range values {
			text := strings.ReplaceAll(place, "%s", value)
			_, err := Parse([]byte(text), nil)
			require.Error(t, err, text)
			assert.NotContains(t, err.Error(), planted, text)
		}
	}
	for pattern := range variables {
		name := strings.ReplaceAll(pattern, "#", "0")
		for _, value := range values {
			if err := Override(new(Playground(1, "data", ":0", "http://127.0.0.1:7070")),
				[]string{prefix + name + "=" + value}); err != nil {
				assert.NotContains(t, err.Error(), planted, name)
			}
		}
	}
}

func TestAKeyThatMayBeASecretIsNotShown(t *testing.T) {
	for _, key := range []string{
		"token:22222222-2222-4222-8222-222222222222", "whsec_c2VjcmV0MQ", "redis://u:p@h",
		strings.Repeat("k", 25),
	} {
		_, err := Parse([]byte(smallest+"store: {"+key+"}"), nil)
		assert.Equal(t, []string{"store.(line 12): unknown key; known are sqlite, redis, redis_file, insecure, " +
			"retention"}, faultsOf(t, err))
	}
}

func TestForgetTokensKeepsOnlyTheirDigests(t *testing.T) {
	cfg := Playground(1, t.TempDir(), "127.0.0.1:0", "http://127.0.0.1:7070")
	cfg.Operations.Tokens = []OperationsToken{{"night", "night"}, {"day", "sha256:" + Secret(strings.Repeat("ab", 32))}}
	held, token, operator := cfg.Ranges, cfg.Ranges[0].Tokens[0].Token, cfg.Operations.Token.Reveal()
	require.NotEmpty(t, operator)
	digest, _ := TokenDigest(token)
	cfg.ForgetTokens()
	assert.NotContains(t, held[0].Tokens, RangeToken{Token: token, Scope: ScopeSell},
		"in every copy of the configuration")
	assert.NotContains(t, cfg.Operations.Token.Reveal(), operator)
	operations, _ := OperationsDigest(Secret(operator))
	again, problem := OperationsDigest(cfg.Operations.Token)
	assert.Empty(t, problem)
	assert.Equal(t, operations, again)
	assert.Equal(t, OperationsToken{"day", "sha256:" + Secret(strings.Repeat("ab", 32))}, cfg.Operations.Tokens[1],
		"a digest stays what it is")
	assert.NotContains(t, cfg.Operations.Tokens[0].Token.Reveal(), "night")
	kept, problem := TokenDigest(held[0].Tokens[0].Token)
	assert.Empty(t, problem)
	assert.Equal(t, digest, kept, "Compare sees the same token")
}

// In production a token of the operations address is too long to guess; in the playground it is no secret.
func TestAnOperationsTokenHasAtLeast128Bits(t *testing.T) {
	for token, strong := range map[string]bool{
		"operator":                                       false,
		"0123456789abcdef0123456789abcde":                false, // 31 hexadecimal digits
		"0123456789abcdef0123456789abcdef":               true,
		"12345678901234567890123456789012":               false, // 32 decimal digits
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":              false,
		"ababababababababababababababababababababababab": false,
		"q83vASNFZ4mrze8BI0VniQ":                         true, // base64 of 16 bytes
		"qxyzASNFZabcdefghIVniQ":                         true, // without a digit
		"22222222-2222-4222-8222-222222222222":           false,
		"6ba7b810-9dad-41d1-80b4-00c04fd430c8":           true,
		"sha256:" + strings.Repeat("ab", 32):             true, // of whatever
	} {
		text := "operations: {tokens: [{name: night, token: '" + token + "'}]}"
		_, err := Parse([]byte(smallest+text), nil)
		require.NoError(t, err, "the playground takes any")
		_, err = Parse([]byte(strings.Replace(smallest, "playground", "production", 1)+text), nil)
		guessed := false
		for _, fault := range faultsOf(t, err) {
			guessed = guessed || strings.HasPrefix(fault, "operations.tokens[0].token: could be guessed")
			assert.NotContains(t, fault, token)
		}
		assert.Equal(t, strong, !guessed, token)
	}
}
