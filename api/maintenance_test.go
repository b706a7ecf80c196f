package api

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/api/observer"
	"rangegate/lanes"
)

// fakeMaintenance begins every job, or refuses it.
type fakeMaintenance struct {
	backup       observer.Backup
	verification observer.Verification
	refused      error
}

func (f *fakeMaintenance) Newest() (observer.Backup, observer.Verification) {
	return f.backup, f.verification
}

func (f *fakeMaintenance) Backup(who string) (observer.Backup, error) {
	f.backup = observer.Backup{Job: observer.Job{State: observer.JobRunning, Who: who, Began: noon}}
	return f.backup, f.refused
}

func (f *fakeMaintenance) Verify(who string, back time.Duration) (observer.Verification, error) {
	f.verification = observer.Verification{
		Job:  observer.Job{State: observer.JobRunning, Who: who, Began: noon},
		Back: back,
	}
	return f.verification, f.refused
}

// An operator begins a backup or a verification under the name of the token, on record at each range that runs here,
// and sees what came of it. What is refused is on no record.
func TestAnOperatorMaintainsTheStore(t *testing.T) {
	f, fake := &fakeMaintenance{}, &fakeOperatedRange{}
	s := operationsSettings(prometheus.NewRegistry(), fake, "operator")
	s.Maintenance = f
	h := NewOperations(s)
	for _, path := range []string{"/observer/backup", "/observer/verify"} {
		require.Equal(t, 401, send(h, "POST", path).Code)
		require.Equal(t, 405, sendAuthorized(h, "GET", path, "").Code)
	}
	require.Equal(t, 401, send(h, "GET", "/observer/maintenance").Code)
	require.Empty(t, fake.acts)

	begun := sendAuthorized(h, "POST", "/observer/backup", "")
	require.Equal(t, 202, begun.Code)
	require.JSONEq(t, `{"state":"running","who":"operator","began_at":"2026-05-01T12:00:00.250Z","ended_at":null,`+
		`"error":null,"file":null,"bytes":0,"ranges":0,"records":0}`, begun.Body.String())
	require.Equal(t, 202, sendAuthorized(h, "POST", "/observer/verify", "").Code)
	require.Equal(t, 24*time.Hour, f.verification.Back)
	require.Equal(t, 202, sendAuthorized(h, "POST", "/observer/verify", `{"hours":26}`).Code)
	require.Equal(t, 26*time.Hour, f.verification.Back)
	require.Equal(t, 400, sendAuthorized(h, "POST", "/observer/verify", `{"hours":0}`).Code)
	require.Equal(t, []string{"operator backup ", "operator verify 24 h", "operator verify 26 h"}, fake.acts)

	f.backup.State, f.backup.Ended, f.backup.File = observer.JobSucceeded, noon.Add(time.Second), "/backups/a.db"
	f.backup.Bytes, f.backup.Ranges, f.backup.Records = 4096, 1, 12
	f.verification.State, f.verification.Error = observer.JobFailed, "the disk fails"
	f.verification.Lanes = []observer.DifferingLane{{
		Range: uuid.MustParse(someRange), Lane: uuid.MustParse(theLane), Name: "Lane 1", Differences: 2,
		Session: uuid.MustParse(theSession), What: "used differs",
	}}
	require.JSONEq(t, `{"backup":{"state":"succeeded","who":"operator","began_at":"2026-05-01T12:00:00.250Z",`+
		`"ended_at":"2026-05-01T12:00:01.250Z","error":null,"file":"/backups/a.db","bytes":4096,"ranges":1,"records":12},`+
		`"verify":{"state":"failed","who":"operator","began_at":"2026-05-01T12:00:00.250Z","ended_at":null,`+
		`"error":"the disk fails","hours":26,"ranges":0,"sessions":0,"events":0,"differences":0,"lanes":[`+
		`{"range_id":"`+someRange+`","lane_id":"`+theLane+`","name":"Lane 1","differences":2,"session_id":"`+theSession+
		`","what":"used differs"}]}}`, sendAuthorized(h, "GET", "/observer/maintenance", "").Body.String())

	fake.acts = nil
	for refused, status := range map[error]int{observer.ErrMaintenanceRuns: 409, observer.ErrBackupByRedis: 409} {
		f.refused = refused
		require.Equal(t, status, sendAuthorized(h, "POST", "/observer/backup", "").Code)
		require.Equal(t, status, sendAuthorized(h, "POST", "/observer/verify", "").Code)
	}
	require.Empty(t, fake.acts)
}

// drainedNodes are two, and this one gives its range to b unless that is refused.
type drainedNodes struct{ refused error }

func (n *drainedNodes) List() (nodes []Node, unowned int) { return nil, 0 }
func (n *drainedNodes) Drain()                            {}
func (n *drainedNodes) Forget(context.Context, string) (ranges int, err error) {
	return 0, errors.ErrUnsupported
}

func (n *drainedNodes) DrainRange(id uuid.UUID) (to string, err error) {
	if id != uuid.MustParse(someRange) {
		return "", lanes.ErrNotOwner
	}
	return "b", n.refused
}

// An operator gives a range to another node under the name of the token, on record. A refusal says why, and is on none.
func TestAnOperatorGivesARangeAway(t *testing.T) {
	fake, nodes := &fakeOperatedRange{}, &drainedNodes{}
	s := operationsSettings(prometheus.NewRegistry(), fake, "operator")
	at := "/observer/drain?range=" + someRange
	require.Equal(t, "no_nodes", codeOf(t, sendAuthorized(NewOperations(s), "POST", at, "")))
	s.Nodes = nodes
	h := NewOperations(s)
	require.Equal(t, 401, send(h, "POST", at).Code)
	for refused, code := range map[error]string{
		ErrNoOtherNode: "no_other_node", ErrTooManyDrained: "too_many_drained",
		lanes.ErrStoreUnavailable: "store_unavailable", lanes.ErrNotOwner: "not_owner",
	} {
		nodes.refused = refused
		require.Equal(t, code, codeOf(t, sendAuthorized(h, "POST", at, "")))
	}
	require.Equal(t, "not_owner", codeOf(t, sendAuthorized(h, "POST", "/observer/drain?range="+otherRange, "")))
	require.Equal(t, "not_found", codeOf(t, sendAuthorized(h, "POST", "/observer/drain?range="+theSession, "")))
	require.Equal(t, 400, sendAuthorized(h, "POST", "/observer/drain", "").Code)
	require.Empty(t, fake.acts)
	nodes.refused = nil
	given := sendAuthorized(h, "POST", at, "")
	require.Equal(t, 202, given.Code)
	require.JSONEq(t, `{"node":"b"}`, given.Body.String())
	require.Equal(t, []string{"operator drain b"}, fake.acts)
}
