// Package controller has a lane controller that was written from docs/hardware.md alone, in another language, and takes
// it through a whole session with the running gateway.
package controller

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

const key = "W3V5aB0nq7oXr2kTQmJx9eLcYd4sHf6uPZgA1iEwN8M"

// shown is what the controller says is in force.
type shown struct {
	Open      bool
	Hold      bool
	Session   *string
	Phase     *string
	Customer  *string
	Remaining *int64 `json:"remaining_ms"`
	Beyond    int64  `json:"beyond_ms"`
	Purchase  *struct {
		Phase       string
		UserMessage *string `json:"user_message"`
	}
	Kept int
}

// controller is the program, running.
type controller struct {
	t    *testing.T
	port int
	tell io.Writer

	mu     sync.Mutex
	latest shown
}

func start(t *testing.T, mistake ...string) *controller { return startWith(t, "", mistake...) }

// startDialling starts a controller that dials that URL.
func startDialling(t *testing.T, url string, mistake ...string) *controller {
	return startWith(t, "GATEWAY="+url, mistake...)
}

func startWith(t *testing.T, setting string, mistake ...string) *controller {
	support.Program(t, "node")
	if _, err := os.Stat("node_modules/ws"); err != nil {
		support.Missing(t, "the npm packages of test/contract/controller are not installed (make tools)")
	}
	program := exec.Command("node", append([]string{"controller.mjs", support.LaneID(1), key}, mistake...)...)
	program.Stderr, program.Env = os.Stderr, append(os.Environ(), setting)
	program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := program.StdinPipe()
	require.NoError(t, err)
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	var listening struct{ Port int }
	require.NoError(t, json.Unmarshal(lines.Bytes(), &listening))
	c := &controller{t: t, port: listening.Port, tell: in}
	go func() {
		for lines.Scan() {
			var now shown
			if json.Unmarshal(lines.Bytes(), &now) == nil {
				c.mu.Lock()
				c.latest = now
				c.mu.Unlock()
			}
		}
	}()
	return c
}

// do has something happen at the lane.
func (c *controller) do(what string) {
	_, err := fmt.Fprintln(c.tell, what)
	require.NoError(c.t, err)
}

// waitShown waits for what is in force on the lane.
func (c *controller) waitShown(what string, condition func(shown) bool) {
	c.t.Helper()
	support.Eventually(c.t, what, func() bool { return c.shows(condition) })
}

func (c *controller) shows(condition func(shown) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return condition(c.latest)
}
