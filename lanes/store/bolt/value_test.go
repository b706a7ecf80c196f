package bolt

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func TestAValueIsSealedWithItsKey(t *testing.T) {
	t.Parallel()
	key := []byte("key")
	value, err := encode(key, lanes.Checkpoint{Boot: "boot"})
	require.NoError(t, err)
	got, err := decode[lanes.Checkpoint](key, value)
	require.NoError(t, err)
	assert.Equal(t, "boot", got.Boot)

	_, err = decode[lanes.Checkpoint]([]byte("kez"), value)
	assert.ErrorContains(t, err, "not what was written")
	for bit := range 8 * len(value) {
		value[bit/8] ^= 1 << (bit % 8)
		_, err := decode[lanes.Checkpoint](key, value)
		assert.Error(t, err, "bit %d", bit)
		value[bit/8] ^= 1 << (bit % 8)
	}
	for size := range value {
		_, err := decode[lanes.Checkpoint](key, value[:size])
		assert.Error(t, err, "cut to %d", size)
	}
}

// FuzzRecord reads anything as any record. What it takes for one, sealed or not, means the same when it is saved again.
func FuzzRecord(f *testing.F) {
	key := []byte("key")
	b := batchOf(uuid.UUID{1}, 1, 2)
	for _, v := range []any{b.Lanes[0], b.Events[0], b.Events[3], b.Ended[0], b.Keys[0], *b.Checkpoint, meta{}, format{}} {
		value, err := encode(key, v)
		require.NoError(f, err)
		f.Add(value)
		f.Add(value[sealSize:])
		f.Add(value[:len(value)-2])
	}
	f.Add([]byte(nil))
	f.Add([]byte(`{"v":2}`))
	f.Add([]byte(`{"v":1,"records":null,"range_id":""}`))
	f.Add([]byte(`{"v":1,"at":"0000-01-01T00:00:00Z","cursor":-1,"sum":18446744073709551616}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, value := range [][]byte{content, seal(key, content)} {
			again[lanes.Snapshot](t, key, value)
			again[lanes.Logged](t, key, value)
			again[lanes.Ended](t, key, value)
			again[lanes.KeptAnswer](t, key, value)
			again[meta](t, key, value)
			again[format](t, key, value)
		}
	})
}

func again[T any](t *testing.T, key, value []byte) {
	first, err := decode[T](key, value)
	if err != nil {
		assert.Zero(t, first)
		return
	}
	saved, err := encode(key, first)
	require.NoError(t, err)
	second, err := decode[T](key, saved)
	require.NoError(t, err)
	once, err := encode(key, second)
	require.NoError(t, err)
	require.Equal(t, string(saved), string(once))
}
