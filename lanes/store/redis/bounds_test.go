package redis_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

// Every call ends by its own timeout, whatever state the server is in: the context of these calls does not end.
func TestEveryCallEndsWithinItsBound(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(*redistest.Server, *proxy){
		"the server hangs":                func(s *redistest.Server, _ *proxy) { s.Hang() },
		"the network swallows":            func(_ *redistest.Server, p *proxy) { p.set(swallow) },
		"the connections are half-closed": func(_ *redistest.Server, p *proxy) { p.set(halfClose) },
		"the server was killed":           func(s *redistest.Server, _ *proxy) { s.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := startProxy(t, server.Addr())
			url := proxy.url() + "?read_timeout=1s&dial_timeout=500ms"
			s := open(t, url)
			o := own(t, s)
			o.save(o.next())
			fails(server, proxy)

			require.Error(t, flush(o))
			require.Error(t, claim(o))
			require.Error(t, load(o))
			require.Error(t, events(o))
			require.Error(t, history(o))
			require.Error(t, forget(o))
			_, err := s.Ended(t.Context(), o.rangeEpoch(), uuid.New())
			require.Error(t, err)
			warnings := s.Warnings(t.Context())
			require.Len(t, warnings, 1)
			require.Contains(t, warnings[0], "could not be checked")
			_, err = redis.Open(t.Context(), url, retention)
			require.Error(t, err)
			require.NoError(t, s.Close())
		})
	}
}

// A flush without a reply is unknown; a repeat resolves it once the network is back.
func TestAFlushThatTheNetworkSwallowedIsUnknown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := startProxy(t, server.Addr())
	o := own(t, open(t, proxy.url()+"?read_timeout=1s"))
	for _, fault := range []mode{swallow, halfClose} {
		o.save(o.next())
		proxy.set(fault)
		batch := o.next()
		unknown(t, o.store.Flush(t.Context(), batch))
		proxy.set(forward)
		o.save(batch)
		o.saved()
	}
}
