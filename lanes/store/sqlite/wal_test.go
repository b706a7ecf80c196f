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

// sampleWAL returns a WAL with four commits, and the end of each.
func sampleWAL(t *testing.T) (wal []byte, ends []int) {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	for b.N = 1; b.N <= 3; b.N++ {
		b.Events[0].Cursor = b.N
		require.NoError(t, s.Flush(t.Context(), b))
	}
	wal = content(t, path+"-wal")
	for offset := walHeaderSize; offset < len(wal); offset += frameSize {
		if binary.BigEndian.Uint32(wal[offset+4:]) != 0 {
			ends = append(ends, offset+frameSize)
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

// After a crash the WAL may end anywhere, or its last commit may lack pages.
func TestATornTailIsNoDamage(t *testing.T) {
	t.Parallel()
	wal, ends := sampleWAL(t)
	require.NoError(t, auditOf(t, wal))
	require.NoError(t, auditWAL(filepath.Join(t.TempDir(), "there is none")))
	for cut := 0; cut <= len(wal); cut += 97 {
		require.NoError(t, auditOf(t, wal[:cut]), "cut to %d", cut)
	}
	for offset := ends[2]; offset < len(wal); offset += 97 {
		torn := slices.Clone(wal)
		torn[offset] ^= 4
		require.NoError(t, auditOf(t, torn), "byte %d", offset)
	}
	longer := append(slices.Clone(wal), wal[walHeaderSize:]...) // from a longer WAL, before this one started over
	for offset := len(wal); offset < len(longer); offset += frameSize {
		longer[offset+8]++ // as SQLite does: one salt goes up by 1, the other is random
		copy(longer[offset+12:], "\xa5\x17\x5c\xe9")
	}
	require.NoError(t, auditOf(t, longer))
}

// All commits before the last one were on the disk when it began.
func TestDamageBeforeTheLastCommitIsNamed(t *testing.T) {
	t.Parallel()
	wal, ends := sampleWAL(t)
	for offset := 0; offset < ends[2]; offset++ {
		// All of the headers, some of the pages.
		if frame := (offset - walHeaderSize) % frameSize; offset > 100 && frame > 24 && frame%61 != 0 {
			continue
		}
		damaged := slices.Clone(wal)
		damaged[offset] ^= 1 << (offset % 8)
		assert.ErrorContains(t, auditOf(t, damaged), "the file is damaged", "byte %d", offset)
	}
}
