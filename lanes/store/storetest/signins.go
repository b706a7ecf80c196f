package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
)

// RunSignIns tests a store.SignIns. open opens the one that belongs to the same state, as another process would.
func RunSignIns(t *testing.T, open func(t *testing.T) store.SignIns) {
	ctx := t.Context()
	signIns := open(t)
	first, another := [32]byte{1}, [32]byte{2}
	secret, signedOut, err := signIns.Load(ctx, first)
	require.NoError(t, err)
	require.Equal(t, first, secret, "there was none")
	require.Empty(t, signedOut)
	secret, _, err = open(t).Load(ctx, another)
	require.NoError(t, err)
	require.Equal(t, first, secret, "it stays")

	later := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	a, b, c, past := [32]byte{0xa}, [32]byte{0xb}, [32]byte{0xc}, [32]byte{0xd}
	require.NoError(t, signIns.SignOut(ctx, map[[32]byte]time.Time{a: later, b: later}, nil))
	require.NoError(t, open(t).SignOut(ctx, map[[32]byte]time.Time{
		c:    later.Add(time.Minute),
		past: time.Now().Add(-time.Second),
	}, [][32]byte{b, past, {0xe}}))
	for range 2 { // what is past is dropped at the latest by the first one
		secret, signedOut, err = open(t).Load(ctx, another)
		require.NoError(t, err)
		require.Equal(t, first, secret)
		require.Len(t, signedOut, 2)
		require.True(t, signedOut[a].Equal(later))
		require.True(t, signedOut[c].Equal(later.Add(time.Minute)))
	}

	require.NoError(t, open(t).NewSecret(ctx))
	secret, signedOut, err = signIns.Load(ctx, first)
	require.NoError(t, err)
	require.NotContains(t, [][32]byte{first, another, {}}, secret)
	require.Len(t, signedOut, 2)
	again, _, err := open(t).Load(ctx, first)
	require.NoError(t, err)
	require.Equal(t, secret, again)
	require.NoError(t, signIns.NewSecret(ctx))
	again, _, err = signIns.Load(ctx, first)
	require.NoError(t, err)
	require.NotEqual(t, secret, again)
}
