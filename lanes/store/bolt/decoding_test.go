package bolt

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// onMany is a bucket with more records than one goroutine reads: each has its own cursor as key and as value.
func onMany(t *testing.T, look func(all iter.Seq2[[]byte, []byte])) {
	const many = 20 * atLeast
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "many"), 0o600, nil)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("many"))
		for i := uint64(0); err == nil && i < many; i++ {
			err = b.Put(cursorKey(i), cursorKey(i))
		}
		return err
	}))
	require.NoError(t, db.View(func(tx *bbolt.Tx) error {
		look(func(yield func(key, value []byte) bool) {
			c := tx.Bucket([]byte("many")).Cursor()
			for key, value := c.First(); key != nil && yield(key, value); key, value = c.Next() {
			}
		})
		return nil
	}))
}

func TestAllRecordsComeInTheOrderOfTheirKeys(t *testing.T) {
	onMany(t, func(all iter.Seq2[[]byte, []byte]) {
		records, err := decodeAll(all, func(_, value []byte) (uint64, error) { return cursorOf(value), nil })
		require.NoError(t, err)
		require.Len(t, records, 20*atLeast)
		for i, record := range records {
			require.EqualValues(t, i, record)
		}
	})
}

func TestTheFirstRecordThatCannotBeReadIsNamed(t *testing.T) {
	onMany(t, func(all iter.Seq2[[]byte, []byte]) {
		for _, first := range []uint64{0, 1, atLeast, 10*atLeast - 1, 10 * atLeast, 20*atLeast - 1} {
			damaged := errors.New("the first")
			_, err := decodeAll(all, func(key, _ []byte) (uint64, error) {
				switch at := cursorOf(key); {
				case at == first:
					return 0, damaged
				case at > first:
					return 0, errors.New("another")
				}
				return 0, nil
			})
			require.Equal(t, damaged, err)
		}
	})
}

// A file that is cut short is a fault in memory, in whichever goroutine.
func TestAFaultWhileAllAreReadIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cut")
	require.NoError(t, os.WriteFile(path, []byte("cut"), 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	mapped, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(mapped)) }()
	require.NoError(t, os.Truncate(path, 0))
	onMany(t, func(all iter.Seq2[[]byte, []byte]) {
		err := careful(func() error {
			_, err := decodeAll(all, func(key, _ []byte) (byte, error) {
				if cursorOf(key) == 15*atLeast {
					return mapped[0], nil
				}
				return 0, nil
			})
			return err
		})
		require.ErrorContains(t, err, "the file is damaged")
	})
}
