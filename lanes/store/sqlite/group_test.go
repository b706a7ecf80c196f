package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
)

// paused is a store whose writer waits in the middle of a transaction, so that flushes queue up. Afterwards that
// transaction writes nothing.
type paused struct {
	*Store
	t    *testing.T
	goOn func()
}

func pause(t *testing.T, s *Store) *paused {
	entered, release := make(chan struct{}), make(chan struct{})
	go func() {
		assert.Error(t, s.submit(t.Context(), func(*transaction) (rejection, failure error) {
			close(entered)
			<-release
			return nil, errors.New("that was a pause")
		}))
	}()
	<-entered
	p := &paused{s, t, sync.OnceFunc(func() { close(release) })}
	t.Cleanup(p.goOn)
	return p
}

// flush returns once the batch is in the queue.
func (p *paused) flush(ctx context.Context, b store.Batch) <-chan error {
	return p.queue(func() error { return p.Flush(ctx, b) })
}

func (p *paused) queue(call func() error) <-chan error {
	answer, queued := make(chan error, 1), len(p.jobs)
	go func() { answer <- call() }()
	require.Eventually(p.t, func() bool { return len(p.jobs) > queued }, time.Minute, time.Millisecond)
	return answer
}

// commits counts the commits in the WAL, which has those since the store was opened.
func commits(t *testing.T, s *Store) (count int) {
	t.Helper()
	wal := content(t, s.path+"-wal")
	for offset := walHeaderSize; offset+frameHeaderSize+pageSize <= len(wal); offset += frameHeaderSize + pageSize {
		if binary.BigEndian.Uint32(wal[offset+4:]) != 0 {
			count++
		}
	}
	return count
}

func TestFlushesThatWaitAtOnceShareATransaction(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "rangegate.db"))
	batches := make([]store.Batch, 64)
	for i := range batches {
		batches[i] = claimed(t, s)
	}
	before := commits(t, s)
	p := pause(t, s)
	var answers []<-chan error
	for _, b := range batches {
		answers = append(answers, p.flush(t.Context(), b))
	}
	p.goOn()
	for i, answer := range answers {
		require.NoError(t, <-answer)
		loaded, err := s.Load(t.Context(), store.InAnyEpoch(batches[i].Range))
		require.NoError(t, err)
		require.Equal(t, batches[i].Events, loaded.Pending)
	}
	assert.Equal(t, 1, commits(t, s)-before, "transactions")
}

// A batch that fails does not affect the others in its transaction.
func TestABatchThatFailsIsAlone(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "rangegate.db"))
	first, good, fenced, ended := claimed(t, s), claimed(t, s), claimed(t, s), claimed(t, s)
	fenced.Epoch--
	canceled, cancel := context.WithCancel(t.Context())
	p := pause(t, s)
	answers := []<-chan error{
		p.flush(t.Context(), first), p.flush(t.Context(), good), p.flush(t.Context(), fenced), p.flush(canceled, ended),
		p.queue(func() error {
			return s.submit(t.Context(), func(tx *transaction) (rejection, failure error) {
				return nil, execute(tx.writer, "INSERT INTO holds (range) VALUES (1)") // its record is missing
			})
		}),
	}
	cancel()
	require.ErrorIs(t, <-answers[3], context.Canceled)
	p.goOn()
	require.NoError(t, <-answers[0])
	require.NoError(t, <-answers[1])
	require.ErrorIs(t, <-answers[2], store.ErrFenced)
	require.ErrorIs(t, <-answers[4], store.ErrRefused)

	loaded, err := s.Load(t.Context(), store.InAnyEpoch(ended.Range))
	require.NoError(t, err)
	require.Empty(t, loaded.Pending, "nobody waited for it any more")
	good.N = 2
	require.NoError(t, s.Flush(t.Context(), good), "the writer goes on")
	require.NoError(t, s.Flush(t.Context(), ended))
}

// The outcome is unknown to a caller that stops waiting for its commit. A repeat resolves it.
func TestARepeatResolvesAFlushThatNobodyWaitedFor(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "rangegate.db"))
	b := claimed(t, s)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan error, 1)
		go func() { answer <- s.Flush(ctx, b) }()
		cancel()
		if err := <-answer; err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		require.NoError(t, s.Flush(t.Context(), b))
		loaded, err := s.Events(t.Context(), store.RangeEpoch{Range: b.Range, Epoch: b.Epoch}, 0, 1000)
		require.NoError(t, err)
		require.Len(t, loaded, int(b.N))
		b.N++
		b.Events[0].Cursor++
	}
}

// Close commits what is queued and refuses the rest: every caller gets the right answer.
func TestCloseDuringFlushes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	batches, answers := make([]store.Batch, 32), make([]<-chan error, 32)
	for i := range batches {
		batches[i] = claimed(t, s)
	}
	for i, b := range batches {
		answer := make(chan error, 1)
		answers[i] = answer
		go func() { answer <- s.Flush(t.Context(), b) }()
	}
	require.NoError(t, s.Close())
	again := openAt(t, path)
	for i, b := range batches {
		err := <-answers[i]
		loaded, failed := again.Load(t.Context(), store.InAnyEpoch(b.Range))
		require.NoError(t, failed)
		if err == nil {
			require.Equal(t, b.Events, loaded.Pending)
			continue
		}
		require.ErrorIs(t, err, store.ErrRefused)
		require.Empty(t, loaded.Pending)
	}
}
