package observer

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Maintenance backs the store up and verifies it, one job at a time, in the background.
type Maintenance interface {
	// Newest returns the newest job of each kind since the process has started.
	Newest() (Backup, Verification)
	// Backup begins to copy the store to a new file, for who. Errors: those below.
	Backup(who string) (Backup, error)
	// Verify begins to compute the sessions again that have ended in that time, for who. Errors: ErrMaintenanceRuns.
	Verify(who string, back time.Duration) (Verification, error)
}

// The codes of the refusals of maintenance.
const (
	MaintenanceRuns   = "maintenance_runs"
	BackupByRedis     = "backup_by_redis"
	NoSpaceForBackup  = "no_space"
	NoFolderForBackup = "no_backup_folder"
)

// Why a backup or a verification does not begin.
var (
	ErrMaintenanceRuns = endpoint.Refusal(MaintenanceRuns)
	ErrBackupByRedis   = endpoint.Refusal(BackupByRedis)
)

// RefuseBackup returns the error of a backup that does not begin, with a sentence of its own.
func RefuseBackup(code, sentence string) error { return endpoint.Refuse(code, sentence, 0) }

// The states of a job.
const (
	JobNever     = "never" // since the process has started
	JobRunning   = "running"
	JobSucceeded = "succeeded"
	JobFailed    = "failed"
)

// Job is the newest backup or verification.
type Job struct {
	State string
	Who   string
	Began time.Time
	Ended time.Time // zero: it runs
	Error string    // why it has failed
}

// Backup is the newest copy of the store.
type Backup struct {
	Job
	File    string // its path on this machine
	Bytes   int64
	Ranges  int // in it
	Records int // in it, all of which were read
}

// Verification is what came out when sessions were computed again.
type Verification struct {
	Job
	Back        time.Duration // how far before its begin
	Ranges      int
	Sessions    int
	Events      int
	Differences int
	Lanes       []DifferingLane // with differences, at most MaxDifferingLanes
}

// MaxDifferingLanes bounds the lanes of a Verification.
const MaxDifferingLanes = 100

// DifferingLane is a lane with sessions that come out differently when they are computed again.
type DifferingLane struct {
	Range, Lane uuid.UUID
	Name        string // empty: not configured
	Differences int
	Session     uuid.UUID // the first one
	What        string    // is different of that, a sentence
}

type maintenanceView struct {
	Backup backupView `json:"backup"`
	Verify verifyView `json:"verify"`
}

// jobView is a job. What is not known yet is null.
type jobView struct {
	State string  `json:"state"` // never, running, succeeded or failed
	Who   string  `json:"who"`
	Began *string `json:"began_at"`
	Ended *string `json:"ended_at"`
	Error *string `json:"error"`
}

type backupView struct {
	jobView
	File    *string `json:"file"` // on the machine of the gateway, once it is complete
	Bytes   int64   `json:"bytes"`
	Ranges  int     `json:"ranges"`
	Records int     `json:"records"`
}

type verifyView struct {
	jobView
	Hours       int                 `json:"hours"`
	Ranges      int                 `json:"ranges"`
	Sessions    int                 `json:"sessions"`
	Events      int                 `json:"events"`
	Differences int                 `json:"differences"`
	Lanes       []differingLaneView `json:"lanes"` // with differences
}

type differingLaneView struct {
	laneName
	Differences int       `json:"differences"`
	Session     uuid.UUID `json:"session_id"` // the first one that is different
	What        string    `json:"what"`
}

func viewOfJob(j Job) jobView {
	return jobView{
		j.State, j.Who, endpoint.OptionalStamp(&j.Began), endpoint.OptionalStamp(&j.Ended),
		endpoint.Optional(j.Error),
	}
}

func viewOfBackup(b Backup) backupView {
	return backupView{viewOfJob(b.Job), endpoint.Optional(b.File), b.Bytes, b.Ranges, b.Records}
}

func viewOfVerification(v Verification) verifyView {
	return verifyView{
		viewOfJob(v.Job), int(v.Back / time.Hour), v.Ranges, v.Sessions, v.Events, v.Differences,
		endpoint.Views(v.Lanes, func(l DifferingLane) differingLaneView {
			return differingLaneView{laneName{l.Range, l.Lane, l.Name}, l.Differences, l.Session, l.What}
		}),
	}
}

// How far back is verified, in hours.
const (
	verifiedHours    = 24
	maxVerifiedHours = 24 * 366
)

func (s *observerOf) maintenanceEndpoints() []endpoint.Endpoint {
	if s.Maintenance == nil {
		return nil
	}
	hours := func(in *endpoint.Input) int {
		if hours, given := in.OptionalInteger("hours", 1, maxVerifiedHours, "How far back: sessions that have ended "+
			"since then are computed again", verifiedHours); given {
			return hours
		}
		return verifiedHours
	}
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/maintenance", 200, "The newest backup and the newest verification of the store",
			endpoint.NoInput, s.maintenance),
		endpoint.Handle("POST", "/backup", 202, "Copy the store to a new file", endpoint.NoInput, s.backUp),
		endpoint.Handle("POST", "/verify", 202, "Compute the sessions of the store again", hours, s.verify),
	}
}

func (s *observerOf) maintenance(context.Context, endpoint.Empty) (maintenanceView, error) {
	backup, verification := s.Maintenance.Newest()
	return maintenanceView{viewOfBackup(backup), viewOfVerification(verification)}, nil
}

func (s *observerOf) backUp(ctx context.Context, _ endpoint.Empty) (backupView, error) {
	begun, err := s.Maintenance.Backup(s.Who(ctx))
	if err == nil {
		s.noteMaintenance(ctx, lanes.DidBackup, "")
	}
	return viewOfBackup(begun), err
}

func (s *observerOf) verify(ctx context.Context, hours int) (verifyView, error) {
	begun, err := s.Maintenance.Verify(s.Who(ctx), time.Duration(hours)*time.Hour)
	if err == nil {
		s.noteMaintenance(ctx, lanes.DidVerify, fmt.Sprintf("%d h", hours))
	}
	return viewOfVerification(begun), err
}

// noteMaintenance puts a job on record at each range that runs here. One that does not has no record to write.
func (s *observerOf) noteMaintenance(ctx context.Context, what, detail string) {
	for _, id := range s.Ranges() {
		if r, err := s.Range(id); err == nil {
			_ = r.NoteOperation(ctx, s.Who(ctx), what, detail) // it stops: the log has who it was
		}
	}
}
