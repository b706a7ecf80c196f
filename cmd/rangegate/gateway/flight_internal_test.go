package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/config"
)

// fakeRecording writes the number of the dump.
type fakeRecording struct {
	dumps   byte
	err     error
	stopped bool
}

func (r *fakeRecording) WriteTo(w io.Writer) (int64, error) {
	if r.err != nil {
		return 0, r.err
	}
	r.dumps++
	n, err := w.Write([]byte{'0' + r.dumps})
	return int64(n), err
}

func (r *fakeRecording) Stop() { r.stopped = true }

// flightFixture is a recorder in a synctest bubble, with what it has logged.
type flightFixture struct {
	*flightRecorder
	*fakeRecording

	log  bytes.Buffer
	lane uuid.UUID
}

func startFlight(t *testing.T, folder string) *flightFixture {
	f := &flightFixture{fakeRecording: &fakeRecording{}, lane: uuid.New()}
	f.flightRecorder = newFlightRecorder(folder, prometheus.NewRegistry(), zerolog.New(&f.log))
	f.start = func() (recording, error) { return f.fakeRecording, nil }
	ctx, stop := context.WithCancel(context.Background())
	go f.run(ctx)
	t.Cleanup(stop)
	return f
}

// stopLate is a session that is stopped so late.
func (f *flightFixture) stopLate(late time.Duration) {
	f.Late(f.lane, late)
	synctest.Wait()
}

func (f *flightFixture) newest(t *testing.T) string {
	_, content, err := f.Newest()
	require.NoError(t, err)
	return string(content)
}

// Of many late stops one is dumped in ten minutes, and the newest three dumps are kept.
func TestTheFlightRecorderDumpsSomeOfTheLateStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFlight(t, filepath.Join(t.TempDir(), "flight"))
		f.stopLate(time.Hour)
		require.Empty(t, f.newest(t), "it is off")
		f.turn(true)
		f.stopLate(flightLate)
		require.Empty(t, f.newest(t), "that is in time")
		f.stopLate(flightLate + time.Microsecond)
		require.Equal(t, "1", f.newest(t))
		require.Contains(t, f.log.String(), f.lane.String())
		time.Sleep(flightPause - time.Second)
		f.stopLate(time.Minute)
		require.Equal(t, "1", f.newest(t), "within ten minutes")
		for range 4 {
			time.Sleep(flightPause)
			f.stopLate(time.Minute)
		}
		require.Equal(t, "5", f.newest(t))
		recording, dumps, err := f.Dumps()
		require.NoError(t, err)
		require.True(t, recording)
		require.Len(t, dumps, flightFiles)
		require.True(t, dumps[0].At.After(dumps[1].At), "the newest first")
		files, err := os.ReadDir(f.folder)
		require.NoError(t, err)
		require.Len(t, files, flightFiles)
		require.Equal(t, 5, bytes.Count(f.log.Bytes(), []byte("\n")), "one line a dump")

		f.turn(false)
		require.True(t, f.stopped)
		time.Sleep(flightPause)
		f.stopLate(time.Minute)
		require.Equal(t, "5", f.newest(t))
	})
}

// Without a folder the newest dump is in memory.
func TestTheFlightRecorderWithoutAFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFlight(t, "")
		f.turn(true)
		for range 2 {
			f.stopLate(time.Minute)
			time.Sleep(flightPause)
		}
		require.Equal(t, "2", f.newest(t))
		_, dumps, err := f.Dumps()
		require.NoError(t, err)
		require.Len(t, dumps, 1)
	})
}

// A dump that fails is one line of the log, and not tried again at once.
func TestADumpThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFlight(t, t.TempDir())
		f.turn(true)
		f.err = errors.New("the trace is broken")
		f.stopLate(time.Minute)
		f.stopLate(time.Minute)
		require.Equal(t, 1, bytes.Count(f.log.Bytes(), []byte("the trace is broken")))
		require.Empty(t, f.newest(t))
	})
}

// The lanes never wait for the recorder: not for a dump that takes long, either.
func TestLateStopsDoNotWaitForADump(t *testing.T) {
	f := newFlightRecorder("", prometheus.NewRegistry(), zerolog.Nop())
	f.start = func() (recording, error) { return &fakeRecording{}, nil }
	f.turn(true)
	for range 3 {
		f.Late(uuid.New(), time.Minute) // nobody dumps
	}
	require.Len(t, f.wanted, 1)
}

// A process has one flight recorder. The gateway that comes second is without, until the first has ended; what is
// dumped is a trace.
func TestOneFlightRecorderOfAProcess(t *testing.T) {
	var log bytes.Buffer
	first := newFlightRecorder("", prometheus.NewRegistry(), zerolog.Nop())
	second := newFlightRecorder("", prometheus.NewRegistry(), zerolog.New(&log))
	first.turn(true)
	t.Cleanup(func() { first.turn(false) })
	second.turn(true)
	require.Contains(t, log.String(), "could not be turned on")
	recording, _, err := second.Dumps()
	require.NoError(t, err)
	require.False(t, recording)
	first.dump(lateStop{uuid.New(), time.Minute})
	_, content, err := first.Newest()
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(content, []byte("go 1.")), "%q", content[:min(16, len(content))])

	first.turn(false)
	second.turn(true)
	recording, _, err = second.Dumps()
	require.NoError(t, err)
	require.True(t, recording)
	second.turn(false)
}

// Dumps are where the other files of the gateway are.
func TestTheFolderOfTheDumps(t *testing.T) {
	require.Equal(t, "data/flight", flightFolder(config.Store{SQLite: "data/rangegate.db"}, "/var/lib/rangegate"))
	require.Equal(t, "/var/lib/rangegate/flight", flightFolder(config.Store{Redis: "redis://h"}, "/var/lib/rangegate"))
	require.Empty(t, flightFolder(config.Store{Redis: "redis://h"}, ""))
}
