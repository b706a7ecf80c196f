package websocket_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
)

const (
	idleLanes      = 2000
	controllersEnv = "RANGEGATE_TEST_CONTROLLERS" // set: this process has the controllers of TestAnIdleLaneIsCheap
)

func TestMain(m *testing.M) {
	if os.Getenv(controllersEnv) != "" {
		serveControllers()
		return
	}
	os.Exit(m.Run())
}

func idleLane(i int) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, "lane ", i)) }

// serveControllers serves all lanes on one port until its input ends.
func serveControllers() {
	address, served := "127.0.0.1:"+os.Getenv(controllersEnv), []lanesim.Lane(nil)
	for i := range idleLanes {
		served = append(served, lanesim.Lane{ID: idleLane(i), Listen: address, Path: fmt.Sprintf("/lane/%d", i)})
	}
	if _, err := lanesim.New(lanesim.Settings{Now: clock()}, served...); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Measured on amd64, Go 1.26, with the controllers in another process: 3.5 kB a lane, and one goroutine. 2
// KiB of it are its stack, 0.5 kB the runtime's record of it.
func TestAnIdleLaneIsCheap(t *testing.T) {
	port := freePort(t)
	hardware := exec.Command(os.Args[0])
	hardware.Env = append(os.Environ(), controllersEnv+"="+port)
	hardware.Stderr = os.Stderr
	stop, err := hardware.StdinPipe()
	require.NoError(t, err)
	says, err := hardware.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, hardware.Start())
	t.Cleanup(func() {
		_ = stop.Close()
		_ = hardware.Wait()
	})
	line, err := bufio.NewReader(says).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready", strings.TrimSpace(line))

	targets := make(map[uuid.UUID]websocket.Target, idleLanes)
	for i := range idleLanes {
		targets[idleLane(i)] = websocket.Target{Address: fmt.Sprintf("ws://127.0.0.1:%s/lane/%d", port, i)}
	}
	driver := websocket.New(websocket.Settings{Now: clock(), Lanes: targets})
	conns := make([]link.Connection, idleLanes)
	t.Cleanup(func() {
		for _, conn := range conns {
			if conn != nil {
				conn.Close()
			}
		}
	})
	rangeID, received := uuid.New(), make(chan uint64, idleLanes)
	goroutines, before, began := runtime.NumGoroutine(), used(), time.Now()
	for i := range conns {
		conn, _, err := driver.Dial(t.Context(), link.Lane{Range: rangeID, ID: idleLane(i), Epoch: 1},
			counting{received})
		require.NoError(t, err)
		conn.Send(link.State{Revision: 1})
		conns[i] = conn
	}
	for range conns {
		<-received
	}
	took := time.Since(began)
	for range 6 { // each collection halves a stack that is mostly unused
		runtime.GC()
	}
	each := (used() - before) / idleLanes
	t.Logf("%d lanes: %d bytes of heap and stack a lane, %d goroutines, connected in %v", idleLanes, each,
		runtime.NumGoroutine()-goroutines, took)
	assert.True(t, underRace || each < 6<<10)
	runtime.KeepAlive(conns)
}

type counting struct{ applied chan<- uint64 }

func (c counting) Applied(revision uint64) { c.applied <- revision }
func (counting) Reported(lanes.Report)     {}
func (counting) Down(error)                {}

func used() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// allocated returns the bytes allocated since the start.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
