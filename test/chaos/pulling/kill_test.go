package pulling

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

func TestMain(m *testing.M) {
	if setting := os.Getenv(readerVariable); setting != "" {
		runReader(setting)
	}
	support.Run(m)
}

// readerProcess is a reader, which can be killed and started again.
type readerProcess struct {
	t       testing.TB
	mode    string
	api     string
	path    string
	command *exec.Cmd
}

func newReader(t testing.TB, mode, api string) *readerProcess {
	r := &readerProcess{t: t, mode: mode, api: api, path: filepath.Join(t.TempDir(), mode)}
	r.start()
	t.Cleanup(r.kill)
	return r
}

func (r *readerProcess) start() {
	setting, err := json.Marshal(map[string]string{"API": r.api, "Mode": r.mode, "File": r.path})
	require.NoError(r.t, err)
	r.command = exec.Command(os.Args[0])
	r.command.Env = append(os.Environ(), readerVariable+"="+string(setting))
	r.command.Stderr = os.Stderr
	r.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(r.t, r.command.Start())
}

func (r *readerProcess) kill() {
	_ = r.command.Process.Kill()
	_ = r.command.Wait()
}

// written is what the reader has written down, one event a line.
func (r *readerProcess) written() []string {
	text, err := os.ReadFile(r.path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(r.t, err)
	return strings.Fields(string(text[:strings.LastIndexByte(string(text), '\n')+1]))
}

// sellers make events, whatever the gateway answers, and no more than they may: on a fast machine the readers
// would never catch up.
type sellers struct {
	made, allowed atomic.Int64 // events
	stopped       atomic.Bool
	working       sync.WaitGroup
}

// sell makes events on the lane until the sellers are stopped.
func (s *sellers) sell(pos support.POS, lane int) {
	for !s.stopped.Load() {
		if s.made.Load() >= s.allowed.Load() {
			time.Sleep(time.Millisecond)
			continue
		}
		answer, err := pos.Do("POST", "/sessions", support.Order(lane, 30))
		var session support.Session
		if err != nil || json.Unmarshal([]byte(answer.Body), &session) != nil || session.ID == "" {
			s.made.Add(int64(stopAll(pos, lane)))
			continue
		}
		s.made.Add(2) // created and started
		for _, command := range []string{"/pause", "/resume", "/modify?time=5", "/stop"} {
			if answer, err := pos.Do("POST", "/sessions/"+session.ID+command, ""); err == nil && answer.Status == 204 {
				s.made.Add(1)
			}
		}
	}
}

// stopAll ends the session that a kill has left on the lane. It returns how many it has ended.
func stopAll(pos support.POS, lane int) (ended int) {
	answer, err := pos.Do("GET", "/sessions", "")
	if err != nil {
		time.Sleep(5 * time.Millisecond) // the gateway is away
		return 0
	}
	var sessions []support.Session
	_ = json.Unmarshal([]byte(answer.Body), &sessions)
	for _, s := range sessions {
		if s.Lane == support.LaneID(lane) {
			if answer, err := pos.Do("POST", "/sessions/"+s.ID+"/stop", ""); err == nil && answer.Status == 204 {
				ended++
			}
		}
	}
	return ended
}

// A reader that goes on behind the last cursor that it has written down has every event once, and in the
// order of the log: by long polls and by a stream, on both stores, with a webhook beside it whose attempts
// change the records, however often reader and gateway are killed.
func TestReadersThatAreKilledMissNothingAndSeeNothingTwice(t *testing.T) {
	for _, s := range []struct {
		name  string
		store func(t *testing.T) string
	}{
		{"SQLite", func(t *testing.T) string { return support.NewSQLite(t) }},
		{"Redis", func(t *testing.T) string { return support.Redis(redistest.Start(t).URL()) }},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			const laneCount, kills, between = 8, 8, 150
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			chance := rand.New(rand.NewPCG(seed, 1))
			receiver := support.NewReceiver(t)
			config := support.NewConfig(t, support.Lanes(1, laneCount), receiver.Setting())
			config.API, config.HTTP, config.Store = support.FreeAddress(t), support.NoLimit, s.store(t)
			gateway := config.Serve(t)
			readers := []*readerProcess{newReader(t, "poll", gateway.API), newReader(t, "stream", gateway.API)}

			var selling sellers
			for lane := range laneCount {
				pos := gateway.POS()
				selling.working.Go(func() { selling.sell(pos, lane+1) })
			}
			for kill := range kills {
				selling.allowed.Store(int64(kill+2) * between) // so that they are busy when something is killed
				for _, r := range readers {
					support.Eventually(t, fmt.Sprintf("the %s has %d events", r.mode, (kill+1)*between), func() bool {
						return len(r.written()) >= (kill+1)*between
					}, func() any { return len(r.written()) })
				}
				// Anywhere in a save, a page, a message.
				time.Sleep(time.Duration(chance.Int64N(int64(10 * time.Millisecond))))
				victims := chance.IntN(3)
				if victims != 0 {
					for _, r := range readers {
						r.kill()
					}
				}
				if victims != 1 {
					gateway.Kill()
					gateway = config.Serve(t)
				}
				if victims != 0 {
					for _, r := range readers {
						r.start()
					}
				}
			}
			selling.stopped.Store(true)
			selling.working.Wait()

			var log []string
			for _, e := range gateway.POS().Events("0") {
				log = append(log, e.Cursor+","+e.ID)
			}
			for _, r := range readers {
				support.EventuallyNone(t, "the "+r.mode+" has every event", func() []string {
					return log[min(len(r.written()), len(log)):]
				})
				require.Equal(t, log, r.written(), r.mode)
			}
			t.Logf("%d events", len(log))
		})
	}
}
