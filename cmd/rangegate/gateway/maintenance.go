package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"rangegate/api/observer"
	"rangegate/cmd/rangegate/maintenance"
	"rangegate/config"
	"rangegate/lanes/replay"
	"rangegate/lanes/store/archive"
	"rangegate/lanes/store/sqlite"
)

// The bounds of backups and verifications.
const (
	maintenanceTime = time.Hour              // that a job may take
	maintenanceStop = 500 * time.Millisecond // for a job to end when the gateway stops
	keptBackups     = 3                      // the newest ones, of those that operators have made here
	spaceLeft       = 256 << 20              // bytes that a backup leaves free on the disk
)

// maintenanceJobs backs the store up and verifies it, one job at a time, in the background. It implements
// observer.Maintenance.
type maintenanceJobs struct {
	life     context.Context
	file     *sqlite.Store // nil: the store is no SQLite file
	folder   string        // for backups, beside the file
	store    config.Store
	lane     func(rangeID, lane uuid.UUID) string // its name, empty: not configured
	verified string                               // see Settings.Verified
	free     func(folder string) (bytes uint64, err error)
	timeout  time.Duration
	outcomes *prometheus.CounterVec
	log      zerolog.Logger

	mu           sync.Mutex
	running      chan struct{} // closed once the job has ended; nil: none runs
	backup       observer.Backup
	verification observer.Verification
}

// The kinds of jobs.
const (
	backupJob = "backup"
	verifyJob = "verify"
)

// What becomes of a job, as its metric has it.
const (
	jobSucceeded   = "succeeded"
	jobDifferences = "differences"
	jobFailed      = "failed"
)

// startMaintenance makes jobs possible. Its end cancels the one that runs, before the store is closed.
func (g *Gateway) startMaintenance(context.Context) error {
	life, stop := context.WithCancelCause(g.life)
	file, _ := g.stores.Snapshots.(*sqlite.Store)
	stored := g.settings.Config.Store
	g.maintenance = newMaintenanceJobs(life, file, stored, g.settings.Verified, g.registry, g.log)
	g.maintenance.lane = func(rangeID, lane uuid.UUID) string {
		return laneName(g.current.Load().config, rangeID, lane)
	}
	g.onClose(func() error {
		stop(errors.New("the gateway stops"))
		g.maintenance.wait(maintenanceStop)
		return nil
	})
	return nil
}

func newMaintenanceJobs(
	life context.Context, file *sqlite.Store, stored config.Store, verified string, registry prometheus.Registerer,
	log zerolog.Logger,
) *maintenanceJobs {
	m := &maintenanceJobs{
		life: life, file: file, store: stored, verified: verified, free: freeSpace, timeout: maintenanceTime, log: log,
		outcomes: promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "maintenance_jobs_total",
			Help: "Jobs that operators have begun on the operations address: backup or verify of the store, by what " +
				"became of them: succeeded, failed, or differences, where verify has found some.",
		}, []string{"kind", "outcome"}),
		backup:       observer.Backup{Job: observer.Job{State: observer.JobNever}},
		verification: observer.Verification{Job: observer.Job{State: observer.JobNever}},
	}
	if stored.SQLite != "" {
		m.folder = filepath.Join(filepath.Dir(stored.SQLite), "backups")
	}
	m.outcomes.WithLabelValues(verifyJob, jobDifferences)
	for _, job := range []string{backupJob, verifyJob} {
		for _, outcome := range []string{jobSucceeded, jobFailed} {
			m.outcomes.WithLabelValues(job, outcome)
		}
	}
	return m
}

// laneName returns the name of a lane in the configuration, or nothing.
func laneName(c config.Config, rangeID, lane uuid.UUID) string {
	for _, r := range c.Ranges {
		for _, l := range r.Lanes {
			if r.ID == rangeID && l.ID == lane {
				return l.Name
			}
		}
	}
	return ""
}

// freeSpace returns how many bytes the gateway may write to the disk of a folder.
func freeSpace(folder string) (bytes uint64, err error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return 0, fmt.Errorf("%s: %w", folder, err)
	}
	return disk.Bavail * uint64(disk.Bsize), nil
}

// Newest implements observer.Maintenance.
func (m *maintenanceJobs) Newest() (observer.Backup, observer.Verification) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.backup, m.verification
}

// The name of a backup in its folder: the time, in UTC, is between these.
const (
	backupName   = "rangegate-"
	backupTime   = "20060102-150405.000"
	backupEnding = ".db"
)

// backupPattern matches the names of the backups that are made here, and of no others.
var backupPattern = backupName + regexp.MustCompile(`\d`).ReplaceAllString(backupTime, "[0-9]") + backupEnding

// Backup implements observer.Maintenance.
func (m *maintenanceJobs) Backup(who string) (observer.Backup, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.running != nil:
		return observer.Backup{}, observer.ErrMaintenanceRuns
	case m.file == nil:
		return observer.Backup{}, observer.ErrBackupByRedis
	}
	if err := m.prepareFolder(); err != nil {
		return observer.Backup{}, err
	}
	m.backup = observer.Backup{Job: begunBy(who)}
	path := filepath.Join(m.folder, backupName+m.backup.Began.Format(backupTime)+backupEnding)
	m.log.Info().Str("who", who).Str("file", path).Msg("an operator has the store backed up")
	var ranges, records int
	m.start(func(ctx context.Context) error {
		err := m.file.Backup(ctx, path, func(copied *sqlite.Reader) (err error) {
			ranges, records, err = checkCopy(ctx, copied)
			return err
		})
		return errors.Join(err, m.removeOldBackups(path))
	}, func(err error) {
		if info, missing := os.Stat(path); missing == nil { // complete, whatever else has failed
			m.backup.File, m.backup.Bytes = path, info.Size()
			m.backup.Ranges, m.backup.Records = ranges, records
		}
		endJob(&m.backup.Job, err)
		m.report(backupJob, outcomeOf(err), m.backup.Job).Str("file", path).Int64("bytes", m.backup.Bytes).
			Int("ranges", ranges).Int("records", records).Msg("the backup of the store has ended")
	})
	return m.backup, nil
}

// checkCopy reads every record of a copy.
func checkCopy(ctx context.Context, copied *sqlite.Reader) (ranges, records int, err error) {
	ids, err := copied.Ranges(ctx)
	if err != nil {
		return 0, 0, err
	}
	var faults []error
	err = maintenance.Check(ctx, copied, ids, func(id uuid.UUID, c archive.Contents, found []error) {
		records += c.Records
		for _, fault := range found[:min(len(found), maxFaults-len(faults))] {
			faults = append(faults, fmt.Errorf("range %s: %w", id, fault))
		}
	})
	return len(ids), records, errors.Join(append([]error{err}, faults...)...)
}

// maxFaults bounds the unreadable records that the error of a backup names. All are counted.
const maxFaults = 10

// prepareFolder makes the folder for backups, removes what a killed process has left in it, and refuses where a copy
// would fill the disk.
func (m *maintenanceJobs) prepareFolder() error {
	left, err := filepath.Glob(filepath.Join(m.folder, backupPattern+sqlite.Unfinished+"*"))
	if err == nil {
		err = os.MkdirAll(m.folder, 0o700)
	}
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	var free uint64
	if err == nil {
		free, err = m.free(m.folder)
	}
	if err != nil {
		m.log.Error().Err(err).Msg("no backup of the store: its folder is not as it should be")
		return observer.RefuseBackup(observer.NoFolderForBackup,
			"the folder for backups cannot be used: "+err.Error())
	}
	if needed := m.size() + spaceLeft; free < needed {
		return observer.RefuseBackup(observer.NoSpaceForBackup, fmt.Sprintf("a backup would leave too little space on "+
			"the disk of %s, and a full disk stops sales: %d bytes are free, and %d have to be", m.folder, free,
			needed))
	}
	return nil
}

// size is how large a copy of the file is at most.
func (m *maintenanceJobs) size() (bytes uint64) {
	for _, path := range []string{m.store.SQLite, m.store.SQLite + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			bytes += uint64(info.Size())
		}
	}
	return bytes
}

// removeOldBackups keeps the newest backups of the folder. The last one that was made is the newest, also where a
// wrong clock has given others a later time.
func (m *maintenanceJobs) removeOldBackups(last string) error {
	made, err := filepath.Glob(filepath.Join(m.folder, backupPattern))
	slices.Sort(made) // by their times
	if i := slices.Index(made, last); i >= 0 {
		made = append(slices.Delete(made, i, i+1), last)
	}
	for _, old := range made[:max(0, len(made)-keptBackups)] {
		err = errors.Join(err, os.Remove(old))
	}
	return err
}

// Verify implements observer.Maintenance.
func (m *maintenanceJobs) Verify(who string, back time.Duration) (observer.Verification, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != nil {
		return observer.Verification{}, observer.ErrMaintenanceRuns
	}
	m.verification = observer.Verification{Job: begunBy(who), Back: back}
	began := m.verification.Began
	m.log.Info().Str("who", who).Dur("back_ms", back).Msg("an operator has the store verified")
	var found observer.Verification
	m.start(func(ctx context.Context) (err error) {
		found, err = m.verifyAll(ctx, began, back)
		return err
	}, func(err error) {
		found.Job, found.Back = m.verification.Job, back
		m.verification = found
		endJob(&m.verification.Job, err)
		outcome := outcomeOf(err)
		if err == nil && found.Differences > 0 {
			outcome = jobDifferences
		}
		m.report(verifyJob, outcome, m.verification.Job).Int("ranges", found.Ranges).Int("sessions", found.Sessions).
			Int("events", found.Events).Int("differences", found.Differences).
			Msg("the verification of the store has ended")
	})
	return m.verification, nil
}

// verifyAll computes the sessions of all ranges in the store again, and saves the figures as rangegate verify does.
func (m *maintenanceJobs) verifyAll(
	ctx context.Context, began time.Time, back time.Duration,
) (found observer.Verification, err error) {
	from, err := m.openRecord(ctx)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	ids, err := from.Ranges(ctx)
	if err != nil {
		return found, err
	}
	figures, err := maintenance.Verify(ctx, from, ids, began.Add(-back),
		func(id uuid.UUID, differences []replay.Difference) {
			found.Lanes = append(found.Lanes, m.differingLanes(id, differences)...)
		})
	found.Lanes = found.Lanes[:min(len(found.Lanes), observer.MaxDifferingLanes)]
	found.Ranges, found.Sessions, found.Events = len(ids), figures.Sessions, figures.Events
	found.Differences = figures.Differences
	if err == nil && m.verified != "" {
		err = Verified{began, figures.Sessions, figures.Events, figures.Differences}.Save(m.verified)
	}
	return found, err
}

// openRecord opens the store for reading beside this gateway.
func (m *maintenanceJobs) openRecord(ctx context.Context) (maintenance.Record, error) {
	switch {
	case m.file != nil:
		return m.file.Beside()
	case m.store.Redis != "":
		return maintenance.Open(ctx, m.store)
	}
	return nil, errors.New("the store is neither a SQLite file nor a Redis server")
}

// differingLanes sorts the differences of a range by lane.
func (m *maintenanceJobs) differingLanes(id uuid.UUID, found []replay.Difference) (all []observer.DifferingLane) {
	for _, d := range found {
		i := slices.IndexFunc(all, func(l observer.DifferingLane) bool { return l.Lane == d.Lane })
		if i < 0 {
			i = len(all)
			all = append(all, observer.DifferingLane{
				Range: id, Lane: d.Lane, Name: m.lane(id, d.Lane), Session: d.Session, What: d.What,
			})
		}
		all[i].Differences++
	}
	return all
}

// start runs a job in the background, and then ended with the lock held. A panic is an error of the job.
func (m *maintenanceJobs) start(work func(context.Context) error, ended func(error)) {
	running := make(chan struct{})
	m.running = running
	go func() {
		defer close(running)
		ctx, cancel := context.WithTimeoutCause(m.life, m.timeout, fmt.Errorf("it took longer than %v", m.timeout))
		defer cancel()
		err := recovered(ctx, work)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running = nil
		ended(err)
	}()
}

func recovered(ctx context.Context, work func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(ctx)
}

// wait waits until no job runs, so long at most.
func (m *maintenanceJobs) wait(most time.Duration) {
	m.mu.Lock()
	running := m.running
	m.mu.Unlock()
	if running == nil {
		return
	}
	select {
	case <-running:
	case <-time.After(most):
		m.log.Warn().Msg("the gateway stops before a backup or a verification has ended")
	}
}

func begunBy(who string) observer.Job {
	return observer.Job{State: observer.JobRunning, Who: who, Began: time.Now().UTC()}
}

func endJob(job *observer.Job, err error) {
	job.State, job.Ended = observer.JobSucceeded, time.Now().UTC()
	if err != nil {
		job.State, job.Error = observer.JobFailed, err.Error()
	}
}

func outcomeOf(err error) string {
	if err != nil {
		return jobFailed
	}
	return jobSucceeded
}

// report counts a job that has ended, and begins its line of the log.
func (m *maintenanceJobs) report(kind, outcome string, job observer.Job) *zerolog.Event {
	m.outcomes.WithLabelValues(kind, outcome).Inc()
	line := m.log.Info()
	if outcome != jobSucceeded {
		line = m.log.Error()
	}
	if job.Error != "" {
		line = line.Str("error", job.Error)
	}
	return line.Str("who", job.Who).Str("outcome", outcome).Dur("duration_ms", job.Ended.Sub(job.Began))
}
