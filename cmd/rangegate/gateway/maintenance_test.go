package gateway_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/sqlite"
)

// maintained is what a gateway says of its newest jobs.
type maintained struct {
	Backup struct {
		State, Who, File, Error string
		Bytes                   int64
		Ranges, Records         int
	}
	Verify struct {
		State, Who, Error                     string
		Ranges, Sessions, Events, Differences int
		Lanes                                 []struct{ Name, What string }
	}
}

// operate asks the operations address.
func operate(t *testing.T, g *gatewaytest.Gateway, method, path, body string, into any) int {
	t.Helper()
	answer := g.With(method, g.Operations+path, body, "Content-Type", "application/json",
		"Authorization", "Bearer operator")
	answer.Decode(t, into)
	return answer.Status
}

// ended waits until no job runs.
func ended(t *testing.T, g *gatewaytest.Gateway) (m maintained) {
	t.Helper()
	require.Eventually(t, func() bool {
		m = maintained{}
		operate(t, g, "GET", "/observer/maintenance", "", &m)
		return m.Backup.State != "running" && m.Verify.State != "running"
	}, time.Minute, 10*time.Millisecond)
	return m
}

// sellAndStop sells time on the first lane, and stops the session.
func sellAndStop(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	sold := g.POS("POST", "/sessions", `{"customer_name":"Ada","lane_id":"`+gatewaytest.DemoLane+`","group_id":"`+
		gatewaytest.DemoGroup+`","duration":60,"auto_start":true,"purchasing":false}`)
	require.Equal(t, 201, sold.Status)
	var session struct {
		ID string `json:"session_id"`
	}
	sold.Decode(t, &session)
	require.Equal(t, 204, g.POS("POST", "/sessions/"+session.ID+"/stop", "").Status)
}

// actsOf are what staff and operators have done on the range, as the store has it.
func actsOf(t *testing.T, path string) (acts []string) {
	t.Helper()
	from, err := sqlite.OpenReader(path)
	require.NoError(t, err)
	ids, err := from.Ranges(t.Context())
	require.NoError(t, err)
	for _, id := range ids {
		found, err := from.Acts(t.Context(), id, 0, 100)
		require.NoError(t, err)
		for _, act := range found {
			acts = append(acts, act.Who+" "+act.What)
		}
	}
	require.NoError(t, from.Close())
	return acts
}

// An operator backs the store up while it sells, and the copy has what was sold. Of the copies that were made so the
// newest stay; what else is in the folder does, too. It is on record, in the log and in the metrics.
func TestAnOperatorBacksTheStoreUp(t *testing.T) {
	data := t.TempDir()
	var log bytes.Buffer // read once the gateway has stopped
	cfg := config.Playground(2, data, "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address = "127.0.0.1:0"
	settings := gateway.Settings{Config: cfg, Version: "test", Log: zerolog.New(zerolog.SyncWriter(&log))}
	g := gatewaytest.Serve(t, settings)
	folder := filepath.Join(filepath.Dir(cfg.Store.SQLite), "backups")
	require.Equal(t, "never", ended(t, g).Backup.State)
	sellAndStop(t, g)

	var begun struct{ State, Who string }
	require.Equal(t, 202, operate(t, g, "POST", "/observer/backup", "", &begun))
	require.Equal(t, "running", begun.State)
	require.NotEmpty(t, begun.Who)
	made := ended(t, g).Backup
	require.Equal(t, "succeeded", made.State, made.Error)
	require.Equal(t, begun.Who, made.Who)
	require.Equal(t, 1, made.Ranges)
	require.Positive(t, made.Records)
	info, err := os.Stat(made.File)
	require.NoError(t, err)
	require.Equal(t, made.Bytes, info.Size())
	require.Equal(t, folder, filepath.Dir(made.File))
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Contains(t, g.Metrics(), `rangegate_maintenance_jobs_total{kind="backup",outcome="succeeded"} 1`+"\n")

	copied, err := sqlite.Open(made.File, store.Retention{})
	require.NoError(t, err)
	require.NoError(t, copied.Close())

	others := filepath.Join(folder, "mine.db")
	left := filepath.Join(folder, "rangegate-20260501-120000.000.db.new")
	for _, path := range []string{others, left} {
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	for range 3 {
		require.Equal(t, 202, operate(t, g, "POST", "/observer/backup", "", &begun))
		require.Equal(t, "succeeded", ended(t, g).Backup.State)
	}
	require.NoFileExists(t, made.File, "the oldest of four")
	require.NoFileExists(t, left, "a killed process has left it")
	require.FileExists(t, others)
	kept, err := filepath.Glob(filepath.Join(folder, "rangegate-*"))
	require.NoError(t, err)
	require.Len(t, kept, 3)
	sellAndStop(t, g)
	g.Stop()
	require.Equal(t, 4, strings.Count(log.String(), `"message":"the backup of the store has ended"`))
	require.Contains(t, strings.Join(actsOf(t, cfg.Store.SQLite), "\n"), begun.Who+" backup")
}

// An operator has the last 24 hours computed again: what the gateway itself has recorded comes out the same, on either
// store, and the metrics of the nightly run have it. A Redis is not backed up by the gateway.
func TestAnOperatorVerifiesTheStore(t *testing.T) {
	for name, redis := range map[string]bool{"SQLite": false, "Redis": true} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			cfg := config.Playground(2, data, "127.0.0.1:0", "http://127.0.0.1:1")
			cfg.Operations.Address = "127.0.0.1:0"
			if redis {
				cfg.Store.SQLite, cfg.Store.Redis = "", config.Secret(redistest.Start(t).URL())
			}
			g := gatewaytest.Serve(t, gateway.Settings{
				Config: cfg, Version: "test", Log: zerolog.Nop(), Verified: filepath.Join(data, "verified.json"),
			})
			sellAndStop(t, g)
			var begun struct {
				State string
				Hours int
			}
			require.Equal(t, 202, operate(t, g, "POST", "/observer/verify", "", &begun))
			require.Equal(t, 24, begun.Hours)
			found := ended(t, g).Verify
			require.Equal(t, "succeeded", found.State, found.Error)
			require.Equal(t, 1, found.Ranges)
			require.Equal(t, 1, found.Sessions)
			require.Positive(t, found.Events)
			require.Zero(t, found.Differences)
			require.Empty(t, found.Lanes)
			metrics := g.Metrics()
			require.Contains(t, metrics, "rangegate_verified_sessions 1\n")
			require.Contains(t, metrics, `rangegate_maintenance_jobs_total{kind="verify",outcome="succeeded"} 1`+"\n")

			var refused struct{ Code string }
			if redis {
				require.Equal(t, 409, operate(t, g, "POST", "/observer/backup", "", &refused))
				require.Equal(t, "backup_by_redis", refused.Code)
			}
			require.Equal(t, 400, operate(t, g, "POST", "/observer/verify", `{"hours":0}`, &refused))
			g.Stop()
		})
	}
}

// A session in the history that nobody has sold is a difference of its lane, in what the operator sees, in the metrics
// and in the log.
func TestAnOperatorIsToldOfDifferences(t *testing.T) {
	data := t.TempDir()
	var log bytes.Buffer // read once the gateway has stopped
	cfg := config.Playground(2, data, "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address = "127.0.0.1:0"
	settings := gateway.Settings{Config: cfg, Version: "test", Log: zerolog.New(zerolog.SyncWriter(&log))}
	g := gatewaytest.Serve(t, settings)
	sellAndStop(t, g)
	g.Stop()

	s, err := sqlite.Open(cfg.Store.SQLite, store.Retention(cfg.Store.Retention))
	require.NoError(t, err)
	id := uuid.MustParse(gatewaytest.DemoRange)
	epoch, err := s.Claim(t.Context(), id, time.Now())
	require.NoError(t, err)
	made := lanes.Ended{
		Cursor: 2, Lane: uuid.MustParse(gatewaytest.DemoLane), At: time.Now(), Reason: "pos", Used: time.Minute,
		Session: lanes.Session{ID: uuid.New(), Sold: time.Minute, Created: lanes.Instant{Wall: time.Now()}},
	}
	require.NoError(t, s.Flush(t.Context(), store.Batch{
		Range: id, Epoch: epoch, N: 1, Now: time.Now(), Ended: []lanes.Ended{made},
	}))
	require.NoError(t, s.Close())

	g = gatewaytest.Serve(t, settings)
	var begun struct{ State string }
	require.Equal(t, 202, operate(t, g, "POST", "/observer/verify", `{"hours":1}`, &begun))
	found := ended(t, g).Verify
	require.Equal(t, "succeeded", found.State, found.Error)
	require.Equal(t, 1, found.Differences)
	require.Len(t, found.Lanes, 1)
	require.Equal(t, "Lane 1", found.Lanes[0].Name)
	require.Contains(t, found.Lanes[0].What, "none of its events is in the log")
	require.Contains(t, g.Metrics(), `rangegate_maintenance_jobs_total{kind="verify",outcome="differences"} 1`+"\n")
	g.Stop()
	require.Contains(t, log.String(), `"outcome":"differences"`)
}
