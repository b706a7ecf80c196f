package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/observer"
	"rangegate/config"
	"rangegate/lanes/replay"
	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
)

// newJobs are those of a SQLite file, of a gateway that stops with the function.
func newJobs(t *testing.T) (m *maintenanceJobs, stop context.CancelCauseFunc) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	file, err := sqlite.Open(path, store.Retention{})
	require.NoError(t, err)
	life, stop := context.WithCancelCause(t.Context())
	m = newMaintenanceJobs(life, file, config.Store{SQLite: path}, "", prometheus.NewRegistry(), zerolog.Nop())
	t.Cleanup(func() {
		stop(nil)
		m.wait(time.Minute)
		require.NoError(t, file.Close())
	})
	return m, stop
}

// begin begins a job that ends with its context or with release, and returns how it has ended.
func begin(m *maintenanceJobs) (release chan<- error, ended <-chan error) {
	released, outcome := make(chan error), make(chan error, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start(func(ctx context.Context) error {
		select {
		case err := <-released:
			return err
		case <-ctx.Done():
			return errors.New("interrupted")
		}
	}, func(err error) { outcome <- err })
	return released, outcome
}

// One job runs at a time, whichever it is.
func TestOneJobOfMaintenanceAtATime(t *testing.T) {
	m, _ := newJobs(t)
	release, ended := begin(m)
	_, err := m.Backup("sam")
	require.ErrorIs(t, err, observer.ErrMaintenanceRuns)
	_, err = m.Verify("sam", time.Hour)
	require.ErrorIs(t, err, observer.ErrMaintenanceRuns)
	backup, verification := m.Newest()
	require.Equal(t, observer.JobNever, backup.State)
	require.Equal(t, observer.JobNever, verification.State)
	release <- nil
	require.NoError(t, <-ended)
	m.wait(time.Minute)
	_, err = m.Backup("sam")
	require.NoError(t, err)
	m.wait(time.Minute)
	backup, _ = m.Newest()
	require.Equal(t, observer.JobSucceeded, backup.State, backup.Error)
	require.FileExists(t, backup.File)
}

// A job ends with the gateway, with its time limit, and with its own panic, and says which it was.
func TestAJobOfMaintenanceEnds(t *testing.T) {
	t.Run("with the gateway", func(t *testing.T) {
		m, stop := newJobs(t)
		_, ended := begin(m)
		stop(errors.New("the gateway stops"))
		require.EqualError(t, <-ended, "the gateway stops")
	})
	t.Run("with its time limit", func(t *testing.T) {
		m, _ := newJobs(t)
		m.timeout = time.Nanosecond
		_, err := m.Backup("sam")
		require.NoError(t, err)
		m.wait(time.Minute)
		backup, _ := m.Newest()
		require.Equal(t, observer.JobFailed, backup.State)
		require.Equal(t, "it took longer than 1ns", backup.Error)
		require.Empty(t, backup.File)
		left, err := filepath.Glob(filepath.Join(m.folder, "*"))
		require.NoError(t, err)
		require.Empty(t, left)
		var failures dto.Metric
		require.NoError(t, m.outcomes.WithLabelValues(backupJob, jobFailed).Write(&failures))
		require.InDelta(t, 1, failures.GetCounter().GetValue(), 0)
	})
	t.Run("with a panic", func(t *testing.T) {
		m, _ := newJobs(t)
		ended := make(chan error, 1)
		m.mu.Lock()
		m.start(func(context.Context) error { panic("a defect") }, func(err error) { ended <- err })
		m.mu.Unlock()
		require.EqualError(t, <-ended, "panic: a defect")
	})
}

// A backup that would fill the disk is not begun: a full disk stops sales. Nor is one without a folder.
func TestABackupLeavesSpaceOnTheDisk(t *testing.T) {
	m, _ := newJobs(t)
	m.free = func(string) (uint64, error) { return spaceLeft + m.size() - 1, nil }
	_, err := m.Backup("sam")
	require.ErrorContains(t, err, "too little space on the disk")
	backup, _ := m.Newest()
	require.Equal(t, observer.JobNever, backup.State)
	m.free = func(string) (uint64, error) { return 0, errors.New("input/output error") }
	_, err = m.Backup("sam")
	require.EqualError(t, err, "the folder for backups cannot be used: input/output error")
	m.free = func(string) (uint64, error) { return spaceLeft + m.size(), nil }
	_, err = m.Backup("sam")
	require.NoError(t, err)
}

// A backup stays, although others bear later times: the clock was wrong when they were made.
func TestABackupStaysBesideThoseOfALaterTime(t *testing.T) {
	m, _ := newJobs(t)
	require.NoError(t, os.Mkdir(m.folder, 0o700))
	var later []string
	for _, year := range []string{"2901", "2902", "2903"} {
		path := filepath.Join(m.folder, "rangegate-"+year+"0501-120000.000.db")
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		later = append(later, path)
	}
	_, err := m.Backup("sam")
	require.NoError(t, err)
	m.wait(time.Minute)
	backup, _ := m.Newest()
	require.Equal(t, observer.JobSucceeded, backup.State, backup.Error)
	require.FileExists(t, backup.File)
	require.NoFileExists(t, later[0], "three are kept")
	require.FileExists(t, later[1])
	require.FileExists(t, later[2])
}

// What others keep in the folder stays, whatever its name begins with: copies that a nightly command makes, and one
// that it is just making.
func TestABackupLeavesTheBackupsOfOthersAlone(t *testing.T) {
	m, _ := newJobs(t)
	require.NoError(t, os.Mkdir(m.folder, 0o700))
	var others []string
	for _, name := range []string{
		"rangegate-2026-05-01.db", "rangegate-2026-05-02.db", "rangegate-2026-05-03.db",
		"rangegate-2026-05-04.db.new", "rangegate-before-upgrade.db",
	} {
		path := filepath.Join(m.folder, name)
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		others = append(others, path)
	}
	for range keptBackups {
		_, err := m.Backup("sam")
		require.NoError(t, err)
		m.wait(time.Minute)
		backup, _ := m.Newest()
		require.Equal(t, observer.JobSucceeded, backup.State, backup.Error)
		require.FileExists(t, backup.File)
	}
	for _, path := range others {
		require.FileExists(t, path)
	}
}

// Differences are sorted by lane: the first of each stands for it.
func TestDifferencesByLane(t *testing.T) {
	m, _ := newJobs(t)
	rangeID, one, two := uuid.New(), uuid.New(), uuid.New()
	m.lane = func(_, lane uuid.UUID) string {
		if lane == one {
			return "Lane 1"
		}
		return ""
	}
	session := uuid.New()
	require.Equal(t, []observer.DifferingLane{
		{Range: rangeID, Lane: one, Name: "Lane 1", Differences: 2, Session: session, What: "used"},
		{Range: rangeID, Lane: two, Differences: 1, What: "sold"},
	}, m.differingLanes(rangeID, []replay.Difference{
		{Lane: one, Session: session, What: "used"}, {Lane: two, What: "sold"}, {Lane: one, What: "paused"},
	}))
}
