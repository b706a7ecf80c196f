package sqlite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/powercut"
	"rangegate/lanes/store/storetest"
)

// The power is cut at some instant of several lives of a gateway, and the disk has what was synced and anything of the
// rest. The next start needs nobody, and has everything that was acknowledged, once and whole.
func TestNoPowerCutLosesWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	record := func() *powercut.Recording { return recordLives(t) }
	powercut.Try(t, record, powercut.AnySectors, trials(200), func(folder string, c *powercut.Cut) {
		startAfterCut(t, filepath.Join(folder, recordedFile), acknowledgedBy(c.Notes), c)
	})
}

// The folders of the file are made with it.
const recordedFile = "new/folders/rangegate.db"

// recordLives records five gateways, one after another. All but the fourth are killed.
func recordLives(t *testing.T) *powercut.Recording {
	folder := powercut.Folder(t)
	r, err := powercut.New(folder)
	require.NoError(t, err)
	for life := range 5 {
		gateway := exec.Command(os.Args[0])
		gateway.Env = append(os.Environ(), recorded+"="+filepath.Join(folder, recordedFile), closes+"=")
		if life == 3 {
			gateway.Env = append(gateway.Env, closes+"=1")
		}
		gateway.Stderr = os.Stderr
		wait, err := r.Start(gateway)
		require.NoError(t, err)
		require.NoError(t, wait())
		require.NoError(t, r.Complete())
	}
	return r
}

// acknowledged is what a gateway has acknowledged.
type acknowledged struct {
	epochs, batches []uint64 // of each range
	secret          string
	signedOut       int
}

func acknowledgedBy(notes []string) acknowledged {
	a := acknowledged{epochs: make([]uint64, len(killedRanges)), batches: make([]uint64, len(killedRanges))}
	for _, note := range notes {
		var number, signedOut int
		var value uint64
		if n, _ := fmt.Sscanf(note, claimedNote, &number, &value); n == 2 {
			a.epochs[number] = value
		} else if n, _ := fmt.Sscanf(note, flushedNote, &number, &value); n == 2 {
			a.batches[number] = value
		} else if n, _ := fmt.Sscanf(note, signedOutNote, &signedOut); n == 1 {
			a.signedOut = signedOut
		} else if n, _ := fmt.Sscanf(note, "secret %s\n", &a.secret); n == 1 {
			continue
		}
	}
	return a
}

// startAfterCut starts the gateway anew, reads everything, and goes on with one of the ranges.
func startAfterCut(t *testing.T, path string, a acknowledged, c *powercut.Cut) {
	s, err := Open(path, keepAll)
	require.NoError(t, err)
	for i, id := range killedRanges {
		count := storetest.RequireBatches(t, s, id, a.batches[i])
		epoch, err := s.Claim(t.Context(), id, opening)
		require.NoError(t, err)
		require.Greater(t, epoch, a.epochs[i])
		if i == c.Number%len(killedRanges) {
			b := storetest.BatchOf(id, epoch, count+1)
			b.N = 1
			require.NoError(t, s.Flush(t.Context(), b))
			storetest.RequireBatches(t, s, id, count+1)
		}
	}
	signIns, err := SignInsBeside(path)
	require.NoError(t, err)
	secret, ended, err := signIns.Load(t.Context(), newSecret())
	require.NoError(t, err)
	if a.secret != "" {
		require.Equal(t, a.secret, fmt.Sprintf("%x", secret))
	}
	require.GreaterOrEqual(t, len(ended), a.signedOut)
	require.NoError(t, s.Close())
}
