package actors

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A client that hangs up while the store is read is no failure of the store. Its request is given up, without an error in the log.
func TestAReadThatItsClientGivesUp(t *testing.T) {
	var log logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		history := f.interceptHistory()
		release := history.block()
		ctx, hangUp := context.WithCancel(t.Context())
		read := f.runAsync(func() error {
			_, err := f.Session(ctx, uuid.New())
			return err
		})
		hangUp()
		require.ErrorIs(t, <-read, context.Canceled)
		release()
		require.NotContains(t, log.String(), `"level":"error"`)
		require.Contains(t, log.String(), "given up by its client")

		history.setReply(func(context.Context) error { return errReplyLost })
		_, err := f.Session(t.Context(), uuid.New())
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		require.Contains(t, log.String(), "the store could not be read")
	}, withLog(zerolog.New(&log)))
}

// Another request has a key as soon as it was claimed, and for as long as its answer is kept.
func TestAKeyOfAnotherRequest(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		require.False(t, f.KeyReused("k", "a"))
		_, err := f.createOnce(&lanes.Key{Name: "k", Fingerprint: "a", Render: func(*lanes.SessionView) (int, []byte) { return 201, nil }})
		require.NoError(t, err)
		require.False(t, f.KeyReused("k", "a"))
		require.True(t, f.KeyReused("k", "b"))
		f.restart()
		require.True(t, f.KeyReused("k", "b"))
	})
}
