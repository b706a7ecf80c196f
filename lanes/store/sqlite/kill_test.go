package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// flushing makes this program a gateway that only flushes, to the file that it names.
const flushing = "RANGEGATE_TEST_FLUSHES_TO"

func TestMain(m *testing.M) {
	if path := os.Getenv(flushing); path != "" {
		fmt.Println(flushForever(path))
		os.Exit(1)
	}
	if path := os.Getenv(recorded); path != "" {
		if err := writeRecorded(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var killedRanges = []uuid.UUID{{1}, {2}, {3}, {4}}

// flushForever prints the number of a range and the cursor after each acknowledged flush with a new event.
func flushForever(path string) error {
	s, err := Open(path, keepAll)
	if err != nil {
		return err
	}
	s.checkpointAfter = 40 // so that kills come into checkpoints
	failed := make(chan error)
	for i, id := range killedRanges {
		go func() { failed <- flushRange(s, i, id) }()
	}
	return <-failed
}

func flushRange(s *Store, number int, id uuid.UUID) error {
	ctx := context.Background()
	epoch, err := s.Claim(ctx, id, opening)
	if err != nil {
		return err
	}
	loaded, err := s.Load(ctx, store.InAnyEpoch(id))
	if err != nil {
		return err
	}
	for n := uint64(1); ; n++ {
		b := storetest.BatchOf(id, epoch, n)
		b.Events = b.Events[:1]
		b.Events[0].Cursor, b.Ended[0].Cursor = loaded.LastEvent+n, loaded.LastEnded+n
		b.Holds = storetest.HoldsAfter(b.Events[0].Cursor)
		if err := s.Flush(ctx, b); err != nil {
			return err
		}
		fmt.Println(number, loaded.LastEvent+n)
	}
}

// Acknowledged flushes survive a kill at any instant, complete and once.
func TestKilledDuringFlushes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	acknowledged := make([]uint64, len(killedRanges))
	for range trials(6) {
		gateway := exec.Command(os.Args[0])
		gateway.Env = append(os.Environ(), flushing+"="+path)
		out, err := gateway.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, gateway.Start())
		lines, killAt := bufio.NewScanner(out), 1+rand.IntN(150)
		for line := 1; lines.Scan(); line++ {
			var number int
			var cursor uint64
			_, err := fmt.Sscan(lines.Text(), &number, &cursor)
			require.NoError(t, err, lines.Text())
			acknowledged[number] = cursor
			if line == killAt {
				require.NoError(t, gateway.Process.Kill())
			}
		}
		require.Error(t, gateway.Wait())

		s, err := Open(path, keepAll)
		require.NoError(t, err)
		for i, id := range killedRanges {
			acknowledged[i] = requireAcknowledged(t, s, id, acknowledged[i])
		}
		require.NoError(t, s.Close())
	}
}

// requireAcknowledged requires that the range has every acknowledged flush, and at most one more, which had begun.
func requireAcknowledged(t *testing.T, s store.Store, id uuid.UUID, acknowledged uint64) (last uint64) {
	t.Helper()
	loaded, err := s.Load(t.Context(), store.InAnyEpoch(id))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, loaded.LastEvent, acknowledged)
	assert.LessOrEqual(t, loaded.LastEvent, acknowledged+1)
	assert.Equal(t, loaded.LastEvent, loaded.LastEnded)
	assert.Len(t, loaded.Pending, int(loaded.LastEvent))
	assert.Equal(t, *storetest.HoldsAfter(loaded.LastEvent), loaded.Holds)
	events, err := s.Events(t.Context(), store.InAnyEpoch(id), 0, 1_000_000)
	require.NoError(t, err)
	assert.Equal(t, loaded.Pending, events)
	history, err := s.History(t.Context(), store.InAnyEpoch(id), 0, 1_000_000)
	require.NoError(t, err)
	require.Len(t, history, int(loaded.LastEnded))
	for i := range history {
		assert.Equal(t, uint64(i+1), events[i].Cursor)
		assert.Equal(t, uint64(i+1), history[i].Cursor)
	}
	return loaded.LastEvent
}
