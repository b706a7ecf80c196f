package damage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/sqlite"
	"rangegate/test/support"
)

const (
	mostKeys = 100_000 // that a range keeps
	memory   = 512     // MiB for the gateway's data
)

// keep is how long the store of the test keeps what it has.
var keep = store.Retention{Events: term, History: term, Names: term, Cap: 1000}

const term = 24 * time.Hour

// A range has as many idempotency keys as it keeps, each with an answer that has all the metadata there may
// be: the gateway starts on a machine of little memory, and answers a repeat to the byte.
func TestAStartWithTheMostAnswersThatAreKept(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		path := newPath(t)
		startWithTheMostAnswers(t, support.SQLite(path), func() (store.Store, error) { return sqlite.Open(path, keep) })
	})
	t.Run("Redis", func(t *testing.T) {
		url := redistest.Start(t).URL()
		startWithTheMostAnswers(t, support.Redis(url), func() (store.Store, error) {
			return redis.Open(t.Context(), url+"?read_timeout=1m", keep) // a batch of 8 MB, on a disk that may be slow
		})
	})
}

// startWithTheMostAnswers starts the gateway on the store, and on the same one with the most answers.
func startWithTheMostAnswers(t *testing.T, configuration string, open func() (store.Store, error)) {
	config := configured(t, configuration)
	var pairs []string
	for n := range lanes.MaxMetadata {
		pairs = append(pairs, fmt.Sprintf(`"%02d":%q`, n,
			strings.Repeat("x", lanes.MaxMetadataBytes/lanes.MaxMetadata-2)))
	}
	order := support.Order(0, 30, `,"metadata":{`+strings.Join(pairs, ",")+`}`)
	g := serve(t, config)
	first := g.Expect(201, "POST", "/sessions", order, "Idempotency-Key", receipt(0))
	g.terminate(t)
	copyAnswer(t, open)

	process, ready := support.Launch(t, support.Limit(support.ServeCommand(config), fmt.Sprintf("-d %d", memory<<10)))
	require.True(t, ready, process.LogEnd())
	g = gateway{process, process.POS()}
	for _, n := range []int{0, 1, mostKeys / 2, mostKeys - 1} {
		again := g.Expect(201, "POST", "/sessions", order, "Idempotency-Key", receipt(n))
		require.Equal(t, first.Body, again.Body)
		require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	}
	require.Equal(t, "idempotency_key_reused", g.Send("POST", "/sessions", support.Order(1, 30), "Idempotency-Key",
		receipt(1)).Code())
	g.terminate(t)
}

func receipt(n int) string { return fmt.Sprint("receipt-", n) }

// copyAnswer gives the answer to the first receipt to all others.
func copyAnswer(t *testing.T, open func() (store.Store, error)) {
	kept, err := open()
	require.NoError(t, err)
	of := store.RangeEpoch{Range: uuid.MustParse(support.RangeID)}
	of.Epoch, err = kept.Claim(t.Context(), of.Range, time.Now())
	require.NoError(t, err)
	answer, err := kept.Answer(t.Context(), of, receipt(0))
	require.NoError(t, err)
	all := make([]lanes.KeptAnswer, mostKeys)
	for n := range all {
		all[n] = answer
		all[n].Name = receipt(n)
	}
	batch := store.Batch{Range: of.Range, Epoch: of.Epoch, Now: time.Now()}
	for batch.Keys = range slices.Chunk(all, 2000) {
		batch.N++
		require.NoError(t, kept.Flush(t.Context(), batch))
	}
	require.NoError(t, kept.Close())
}
