package sqlite

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const frameSize = frameHeaderSize + pageSize

// aWAL has four commits, and where each of them ends.
func aWAL(t *testing.T) (wal []byte, ends []int) {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	for b.N = 1; b.N <= 3; b.N++ {
		b.Events[0].Cursor = b.N
		require.NoError(t, s.Flush(t.Context(), b))
	}
	wal = content(t, path+"-wal")
	for at := walHeaderSize; at < len(wal); at += frameSize {
		if binary.BigEndian.Uint32(wal[at+4:]) != 0 {
			ends = append(ends, at+frameSize)
		}
	}
	require.Len(t, ends, 4)
	return wal, ends
}

func auditOf(t *testing.T, wal []byte) error {
	path := filepath.Join(t.TempDir(), "a-wal")
	require.NoError(t, os.WriteFile(path, wal, 0o600))
	return auditWAL(path)
}

// A crash leaves a WAL that ends anywhere, or whose last commit has pages in it that never came to the disk.
func TestATornTailIsNoDamage(t *testing.T) {
	t.Parallel()
	wal, ends := aWAL(t)
	require.NoError(t, auditOf(t, wal))
	require.NoError(t, auditWAL(filepath.Join(t.TempDir(), "there is none")))
	for cut := 0; cut <= len(wal); cut += 97 {
		require.NoError(t, auditOf(t, wal[:cut]), "cut to %d", cut)
	}
	for at := ends[2]; at < len(wal); at += 97 {
		torn := slices.Clone(wal)
		torn[at] ^= 4
		require.NoError(t, auditOf(t, torn), "byte %d", at)
	}
	rest := append(slices.Clone(wal), wal[walHeaderSize:]...) // of a WAL that was longer, before this one began anew
	for at := len(wal); at < len(rest); at += frameSize {
		rest[at+8]++ // as SQLite does: one salt goes up by 1, the other is drawn anew
		copy(rest[at+12:], "\xa5\x17\x5c\xe9")
	}
	require.NoError(t, auditOf(t, rest))
}

// What is before the last commit was on the disk when that began.
func TestDamageBeforeTheLastCommitIsNamed(t *testing.T) {
	t.Parallel()
	wal, ends := aWAL(t)
	for at := 0; at < ends[2]; at++ {
		if frame := (at - walHeaderSize) % frameSize; at > 100 && frame > 24 && frame%61 != 0 { // all of the headers, some of the pages
			continue
		}
		damaged := slices.Clone(wal)
		damaged[at] ^= 1 << (at % 8)
		assert.ErrorContains(t, auditOf(t, damaged), "the file is damaged", "byte %d", at)
	}
}
