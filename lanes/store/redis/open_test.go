package redis_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

func TestAURLThatCannotBeUsedIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "localhost:6379", "http://user:secret@127.0.0.1", "redis://user:secret@", "redis://user:sec/ret@127.0.0.1",
		"redis://user:sec#ret@127.0.0.1", "redis://user:sec?ret@127.0.0.1", "redis://user:secret%zz@127.0.0.1",
		"redis://user:secret@127.0.0.1/0?secret=1", "redis://user:secret@127.0.0.1/secret",
		"redis://user:secret@127.0.0.1?pool_size=9", "redis://user:sec ret@127.0.0.1:port",
		"redis://sec:123#ret@127.0.0.1", "redis://sec:123/ret@127.0.0.1",
	} {
		_, err := redis.Open(t.Context(), url, retention)
		require.ErrorContains(t, err, "redis://user:password@host:6379/0", url)
		require.NotContains(t, err.Error(), "sec", url)
		require.NotContains(t, err.Error(), "ret", url)
	}
}

func TestOptionsThatCannotBeUsedAreNamed(t *testing.T) {
	t.Parallel()
	for options, rule := range map[string]string{
		"?addr=": "addr must be host:port", "?addr=secret:port": "addr must be host:port",
		"?addr=u:secret@h:1": "addr must be host:port", "?addr=h:1/secret": "addr must be host:port",
		"?master_name=":                 "master_name must be the name that the Sentinels know the master by",
		"?sentinel_password=secret":     "sentinel_username and sentinel_password are of use with master_name only",
		"/3?addr=127.0.0.1:1":           "several addresses without master_name",
		"?wait_replicas=0":              "wait_replicas must be a number from 1 to 64",
		"?wait_replicas=secret":         "wait_replicas must be a number from 1 to 64",
		"?wait_replicas=65&addr=h:6379": "wait_replicas must be a number from 1 to 64",
	} {
		_, err := redis.Open(t.Context(), "redis://user:secret@127.0.0.1:1"+options, retention)
		require.ErrorContains(t, err, rule, options)
		require.NotContains(t, err.Error(), "secret", options)
	}
}

func TestAUserWhoMayNotWaitForReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	require.NoError(t, client(t, server.URL()).
		Do(t.Context(), "ACL", "SETUSER", "gateway", "on", ">secret", "~rangegate:*", "+@all", "-wait").Err())
	open(t, "redis://gateway:secret@"+server.Addr())
	_, err := redis.Open(t.Context(), "redis://gateway:secret@"+server.Addr()+"?wait_replicas=1", retention)
	require.ErrorContains(t, err, "replicas cannot be waited for: NOPERM")
	require.NotContains(t, err.Error(), "secret")
}

func TestOpenNamesTheServerAndNotThePassword(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "gateway", "on", ">secret", "~*", "+@all").Err())

	s := open(t, "redis://gateway:secret@"+server.Addr())
	require.NoError(t, own(t, s).flush(t.Context()))

	for name, user := range map[string]string{"wrong": "gateway:hidden", "unknown": "nobody:hidden"} {
		_, err := redis.Open(t.Context(), "redis://"+user+"@"+server.Addr()+"/3", retention)
		require.ErrorContains(t, err, server.Addr()+"/3", name)
		require.ErrorContains(t, err, "WRONGPASS", name)
		require.NotContains(t, err.Error(), "hidden", name)
	}

	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "default", ">other").Err())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "default", "resetpass", ">other").Err())
	_, err := redis.Open(t.Context(), server.URL(), retention)
	require.ErrorContains(t, err, server.Addr())
	require.ErrorContains(t, err, "NOAUTH")

	server.Stop()
	_, err = redis.Open(t.Context(), "redis://gateway:secret@"+server.Addr(), retention)
	require.ErrorContains(t, err, server.Addr())
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "secret")
}

// rights are the commands that the package documents.
const rights = "ping select eval evalsha type hget hmget hgetall hscan hset hdel hincrby zadd zrem zcard zrange " +
	"zrangebylex del config|get info bgrewriteaof"

// The commands that the package documents are enough.
func TestAUserOfFewRights(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	user := []any{"ACL", "SETUSER", "gateway", "on", ">secret", "resetkeys", "~rangegate:*", "-@all"}
	for _, command := range strings.Fields(rights) {
		user = append(user, "+"+command)
	}
	require.NoError(t, client(t, server.URL()).Do(t.Context(), user...).Err())
	s := open(t, "redis://gateway:secret@"+server.Addr()+"/1")
	o := own(t, s)
	require.NoError(t, o.flush(t.Context()))
	batch := o.next()
	batch.Refill = true
	batch.Ended = []lanes.Ended{{Cursor: 1, Session: lanes.Session{ID: uuid.New(), Customer: "Jo Smith"}}}
	require.NoError(t, s.Flush(t.Context(), batch)) // and what ended long ago is trimmed
	o.n++
	o.saved()
	require.NoError(t, events(o))
	require.NoError(t, history(o))
	_, err := s.Ended(t.Context(), o.rangeEpoch(), uuid.New())
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Empty(t, s.Warnings(t.Context()))
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	certificate := httptest.NewTLSServer(nil)
	defer certificate.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", certificate.TLS)
	require.NoError(t, err)
	proxy := startProxyOn(t, listener, server.Addr())
	url := strings.Replace(proxy.url(), "redis://", "rediss://", 1) + "?dial_timeout=1m" // a handshake may be slow

	_, err = redis.Open(t.Context(), url, retention)
	require.ErrorContains(t, err, "certificate")
	o := own(t, open(t, url+"&skip_verify=true"))
	require.NoError(t, o.flush(t.Context()))
	o.saved()
}

// A server older than Redis 7 is refused at the start, and its records can be exported.
func TestAServerThatIsTooOldIsRefused(t *testing.T) {
	t.Parallel()
	for version, refused := range map[string]bool{"6.2.14": true, "7.0.0": false, "7.2.4": false, "10.1.0": false} {
		url := "redis://" + startFake(t, "redis_version:"+version)
		s, err := redis.Open(t.Context(), url, retention)
		if refused {
			require.ErrorContains(t, err, "its version is 6.2.14, and rangegate needs Redis 7.0 or newer")
			require.ErrorContains(t, err, url)
		} else {
			require.NoError(t, err, version)
			require.NoError(t, s.Close())
		}
		r, err := redis.OpenReader(t.Context(), url)
		require.NoError(t, err)
		require.NoError(t, r.Close())
	}
}

// startFake starts a server that replies with the text to INFO, and with an error to other commands than PING.
func startFake(t *testing.T, info string) (address string) {
	fake, err := server.NewServer("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	require.NoError(t, fake.Register("PING", func(c *server.Peer, _ string, _ []string) { c.WriteInline("PONG") }))
	require.NoError(t, fake.Register("INFO", func(c *server.Peer, _ string, _ []string) { c.WriteBulk(info + "\r\n") }))
	return fake.Addr().String()
}

func TestOpenEndsWithTheTimeoutAndWithTheContext(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and sends nothing
	require.NoError(t, err)
	defer func() { require.NoError(t, silent.Close()) }()

	_, err = redis.Open(t.Context(), "redis://"+silent.Addr().String()+"?read_timeout=100ms", retention)
	require.ErrorContains(t, err, silent.Addr().String())

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = redis.Open(ctx, "redis://"+silent.Addr().String(), retention)
	require.ErrorIs(t, err, context.Canceled, "before any time-out of its own")
}

func TestReadsEndWithTheContext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	server.Hang()
	defer server.Wake()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := o.store.Load(ctx, o.rangeEpoch())
	require.ErrorIs(t, err, context.Canceled)
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	s := open(t, server.URL())
	require.Empty(t, s.Warnings(t.Context()))

	for _, setting := range []struct{ name, bad, good, says string }{
		{"appendonly", "no", "yes", "appendonly is not yes"},
		{"appendfsync", "everysec", "always", "appendfsync is everysec, not always"},
		{"no-appendfsync-on-rewrite", "yes", "no", "no-appendfsync-on-rewrite is not no"},
		{"maxmemory-policy", "allkeys-lru", "noeviction", "maxmemory-policy is allkeys-lru, not noeviction"},
	} {
		require.NoError(t, admin.ConfigSet(t.Context(), setting.name, setting.bad).Err())
		warnings := s.Warnings(t.Context())
		require.Len(t, warnings, 1)
		require.Contains(t, warnings[0], setting.says)
		require.Contains(t, warnings[0], server.Addr())
		require.NoError(t, admin.ConfigSet(t.Context(), setting.name, setting.good).Err())
	}

	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory-policy", "volatile-lru").Err())
	require.Empty(t, s.Warnings(t.Context()), "no key of the store expires")

	require.NoError(t, admin.ConfigSet(t.Context(), "appendonly", "no").Err())
	require.NotContains(t, s.Warnings(t.Context())[0], "snapshot", "there is none")
	require.NoError(t, admin.ConfigSet(t.Context(), "save", "60 1").Err())
	require.Contains(t, s.Warnings(t.Context())[0], "what was acknowledged since its last snapshot is lost")
	require.NoError(t, admin.ConfigSet(t.Context(), "appendonly", "yes").Err())
	require.Eventually(t, func() bool { return len(s.Warnings(t.Context())) == 0 }, patience, tick,
		"snapshots do no harm")

	waiting := open(t, server.URL()+"?wait_replicas=2")
	require.NoError(t, admin.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	warnings := waiting.Warnings(t.Context())
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "min-replicas-to-write is 1, less than wait_replicas, 2")
	require.NoError(t, admin.ConfigSet(t.Context(), "min-replicas-to-write", "2").Err())
	require.Empty(t, waiting.Warnings(t.Context()))
}

func TestWarningsWhenTheSettingsMayNotBeRead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	require.NoError(t, client(t, server.URL()).
		Do(t.Context(), "ACL", "SETUSER", "gateway", "on", ">secret", "~rangegate:*", "+@all", "-config").Err())
	warnings := open(t, "redis://gateway:secret@"+server.Addr()).Warnings(t.Context())
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "could not be checked")

	warnings = open(t, "redis://"+miniredis.RunT(t).Addr()).Warnings(t.Context())
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "could not be checked")
}
