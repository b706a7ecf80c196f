package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secretsIn writes files, and returns their folder.
func secretsIn(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

const pinInFile = "$argon2id$v=19$m=65536,t=2,p=2$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu"

// Whatever a Secret is can come from a file: the configuration then is that which has the secrets in it.
func TestEverySecretCanComeFromAFile(t *testing.T) {
	dir := secretsIn(t, map[string]string{
		"operator": "op\n", "redis": "rediss://u:p@cache/2", "pin": pinInFile + "\r\n",
		"screen": "the-key-of-a-screen\n", "link": "sesame\n",
		"tokens": "\n22222222-2222-4222-8222-22222222222a\n22222222-2222-4222-8222-22222222222b\n",
		"whsec":  PlaygroundSecret + "\n",
		"token":  "22222222-2222-4222-8222-22222222222c",
	})
	configuration := func(operator, redis, tokens, token, whsec, pin, screen, link string) string {
		return edited(t,
			"    token: 22222222-2222-4222-8222-222222222222\n", fmt.Sprintf(
				"    %s\n    %s\n    webhook: {url: 'http://h', %s}\n    staff: [{name: sam, %s}]\n", tokens,
				token, whsec, pin),
			"Lane 1,", fmt.Sprintf("Lane 1, %s, link: {%s},", screen, link),
		) + fmt.Sprintf("operations: {%s}\nstore: {%s}\n", operator, redis)
	}
	file := func(key, name string) string { return fmt.Sprintf("%s_file: %q", key, filepath.Join(dir, name)) }
	written, err := Parse([]byte(configuration("token: op", "redis: 'rediss://u:p@cache/2'",
		"tokens: [22222222-2222-4222-8222-22222222222a, 22222222-2222-4222-8222-22222222222b]",
		"token: 22222222-2222-4222-8222-22222222222c",
		"secrets: ["+PlaygroundSecret+"]", "pin_hash: '"+pinInFile+"'", "screen_key: the-key-of-a-screen",
		"key: sesame")), nil)
	require.NoError(t, err)
	read, err := Parse([]byte(configuration(file("token", "operator"), file("redis", "redis"), file("tokens", "tokens"),
		file("token", "token"),
		file("secrets", "whsec"), file("pin_hash", "pin"), file("screen_key", "screen"), file("key", "link"))), nil)
	require.NoError(t, err)
	assert.Equal(t, written, read)
	written.ForgetTokens()
	read.ForgetTokens()
	assert.True(t, Compare(written, read).Empty(), "a reload sees no difference")

	named, err := Parse([]byte(strings.ReplaceAll(configuration(file("token", "operator"), file("redis", "redis"),
		file("tokens", "tokens"),
		file("token", "token"), file("secrets", "whsec"), file("pin_hash", "pin"), file("screen_key", "screen"),
		file("key", "link")),
		dir+"/", "")), []string{"CREDENTIALS_DIRECTORY=" + dir})
	require.NoError(t, err, "a relative path is a credential of the unit")
	named.ForgetTokens()
	assert.Equal(t, read, named)
}

func TestAVariableNamesTheFileOfASecret(t *testing.T) {
	dir := secretsIn(t, map[string]string{
		"operator": "op\n", "tokens": "22222222-2222-4222-8222-22222222222a\n",
		"link": "sesame",
	})
	cfg, err := Parse([]byte(smallest+"operations: {token: of the file}"), []string{
		"CREDENTIALS_DIRECTORY=" + dir,
		"RANGEGATE_OPERATIONS_TOKEN_FILE=operator",
		"RANGEGATE_RANGES_0_TOKENS_FILE=" + dir + "/tokens",
		"RANGEGATE_RANGES_0_LANES_1_LINK_KEY_FILE=link",
	})
	require.NoError(t, err)
	assert.Equal(t, Secret("op"), cfg.Operations.Token, "the environment counts more than the file")
	assert.Equal(t, []RangeToken{
		{"22222222-2222-4222-8222-22222222222a", "", ScopeSell},
		{"22222222-2222-4222-8222-222222222222", "", ScopeSell},
	}, cfg.Ranges[0].Tokens)
	assert.Equal(t, Secret("sesame"), cfg.Ranges[0].Lanes[1].Link.Key)

	_, err = Parse([]byte(smallest), []string{
		"RANGEGATE_OPERATIONS_TOKEN=op", "RANGEGATE_OPERATIONS_TOKEN_FILE=" + dir + "/operator",
		"RANGEGATE_RANGES_0_TOKENS_0=22222222-2222-4222-8222-22222222222a",
		"RANGEGATE_RANGES_0_TOKENS_FILE=" + dir + "/tokens",
		"RANGEGATE_RANGES_0_STAFF_3_PIN_HASH_FILE=" + dir + "/operator",
		"RANGEGATE_RANGES_0_NAME_FILE=" + dir + "/operator",
		"RANGEGATE_STORE_REDS_FILE=" + dir + "/operator",
		"RANGEGATE_STORE_REDIS_FILE=",
	})
	assert.ElementsMatch(t, []string{
		"RANGEGATE_OPERATIONS_TOKEN_FILE: given beside RANGEGATE_OPERATIONS_TOKEN; choose one",
		"RANGEGATE_RANGES_0_TOKENS_FILE: given beside RANGEGATE_RANGES_0_TOKENS_0; choose one",
		"RANGEGATE_RANGES_0_STAFF_3_PIN_HASH_FILE: no item with this index, there are 0, counted from 0",
		"RANGEGATE_RANGES_0_NAME_FILE: no such setting",
		"RANGEGATE_STORE_REDS_FILE: no such setting, did you mean RANGEGATE_STORE_REDIS_FILE?",
		"RANGEGATE_STORE_REDIS_FILE: wants the path of a file",
	}, faultsOf(t, err))
}

func TestFaultsOfSecretFiles(t *testing.T) {
	dir := secretsIn(t, map[string]string{
		"planted": "planted", "empty": "\n\r\n", "two": "one\ntwo\n", "large": strings.Repeat("x", maxSecretFile+1),
		"bytes":     "\xff\xfe",
		"everybody": "planted", "writable": "planted", "pin": "1234",
	})
	require.NoError(t, os.Chmod(filepath.Join(dir, "everybody"), 0o644))
	require.NoError(t, os.Chmod(filepath.Join(dir, "writable"), 0o602))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for _, c := range []struct{ name, setting, fault string }{
		{
			"no such file", "token_file: %s/planted-elsewhere",
			"operations.token_file: names a file that does not exist",
		},
		{"a folder", "token_file: %s", "operations.token_file: names something that is no regular file"},
		{"a pipe", "token_file: %s/pipe", "operations.token_file: names something that is no regular file"},
		{
			"a file below a file", "token_file: %s/planted/x",
			"operations.token_file: names a file that cannot be read",
		},
		{"one that everybody can read", "token_file: %s/everybody", "operations.token_file: names a file that every " +
			"user of this machine can read or change: wants mode 0640 or 0600 (chmod o= FILE)"},
		{"one that everybody can change", "token_file: %s/writable", "operations.token_file: names a file that " +
			"every user of this machine can read or change: wants mode 0640 or 0600 (chmod o= FILE)"},
		{"an empty one", "token_file: %s/empty", "operations.token_file: names a file that is empty"},
		{"more than one secret", "token_file: %s/two", "operations.token_file: wants a file with one line"},
		{"a large one", "token_file: %s/large", "operations.token_file: names a file of more than 64 KiB"},
		{"no text", "token_file: %s/bytes", "operations.token_file: names a file that is not text in UTF-8"},
		{"no path", "token_file: ''", "operations.token_file: wants the path of a file"},
		{"a list", "token_file: [planted]", "operations.token_file: wants text"},
		{"a credential without its folder", "token_file: planted", "operations.token_file: is no absolute path, and " +
			"CREDENTIALS_DIRECTORY is not set: wants an absolute path, or LoadCredential= in the " +
			"systemd unit"},
		{"a way out of the folder", "token_file: ../planted", "operations.token_file: wants an absolute path, or " +
			"the name of a credential of the systemd unit"},
		{
			"both", "token: planted, token_file: %s/planted",
			"operations.token_file: given beside token (lines 12 and 12); choose one",
		},
		{
			"twice", "token_file: %[1]s/planted, token_file: %[1]s/planted",
			"operations.token_file: given twice (lines 12 and 12)",
		},
		{"a setting that is no secret", "address_file: %s/planted", "operations.address_file: unknown key; " +
			"known are address, tls, token, token_file, tokens, hosts, flight_recorder"},
		{
			"a key that is nearly one", "token_fil: %s/planted",
			`operations.token_fil: unknown key, did you mean "token_file"?`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.setting
			if strings.Contains(text, "%") {
				text = fmt.Sprintf(text, dir)
			}
			_, err := Parse([]byte(smallest+"operations: {"+text+"}"), nil)
			assert.Equal(t, []string{c.fault}, faultsOf(t, err), "this fault and no other")
		})
	}
	for setting, fault := range map[string]string{
		"staff: [{name: sam, pin_hash_file: " + dir +
			"/none}]": "ranges[0].staff[0].pin_hash_file: names a file that does not exist",
		"staff: [{name: sam, pin_hash_file: " + dir +
			"/pin}]": "ranges[0].staff[0].pin_hash: wants what the command hash-pin prints, in quotes",
		"staff: [{name: sam, pin_hash_file: ~}]": "ranges[0].staff[0].pin_hash: missing",
	} {
		_, err := Parse([]byte(edited(t, "name: Demo range", "name: Demo range\n    "+setting)), nil)
		assert.Equal(t, []string{fault}, faultsOf(t, err), "what could not be read is not reported as missing too")
	}
}

func TestAFileThatThisUserMayNotRead(t *testing.T) {
	if os.Geteuid() == 0 {
		require.Equal(t, "names a file that this user may not read", unreadable(os.ErrPermission),
			"root may read everything")
		return
	}
	dir := secretsIn(t, map[string]string{"planted": "planted"})
	require.NoError(t, os.Chmod(filepath.Join(dir, "planted"), 0))
	_, err := Parse([]byte(smallest+"operations: {token_file: "+dir+"/planted}"), nil)
	assert.Equal(t, []string{"operations.token_file: names a file that this user may not read"},
		faultsOf(t, err))
}

// A file is read once however many aliases repeat it, and anew by the next reading of the configuration.
func TestAFileIsReadOnceAReading(t *testing.T) {
	dir := secretsIn(t, map[string]string{"token": "one"})
	files := newSecretFiles(nil)
	read := func() Secret {
		var cfg Config
		require.Empty(t, cfg.set("OPERATIONS_TOKEN_FILE", dir+"/token", files, new(source)))
		return cfg.Operations.Token
	}
	require.Equal(t, Secret("one"), read())
	require.NoError(t, os.WriteFile(dir+"/token", []byte("two"), 0o600))
	require.Equal(t, Secret("one"), read())
	files = newSecretFiles(nil)
	require.Equal(t, Secret("two"), read())
}
