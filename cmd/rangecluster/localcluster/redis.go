package localcluster

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Redis is a redis-server on a port of 127.0.0.1, which syncs every write before its reply.
type Redis struct {
	Address string // host:port
	process *exec.Cmd
}

// ErrNoRedis says that there is no program redis-server.
var ErrNoRedis = errors.New("redis-server is not installed")

// StartRedis starts a server with its data in dir, on a free port below the kernel's ephemeral ports. It returns
// when the server accepts connections, and ErrNoRedis where there is none to start. The server ends with Stop, or
// with this process.
func StartRedis(dir string) (*Redis, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, ErrNoRedis
	}
	for range 20 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		r := &Redis{Address: net.JoinHostPort("127.0.0.1", port)}
		r.process = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir,
			"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--daemonize", "no")
		r.process.Stdout = io.Discard
		r.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := r.process.Start(); err != nil {
			return nil, err
		}
		for range 100 {
			if conn, err := net.Dial("tcp", r.Address); err == nil {
				_ = conn.Close()
				if r.process.Process.Signal(syscall.Signal(0)) == nil {
					return r, nil
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
		r.Stop()
	}
	return nil, errors.New("redis-server found no free port")
}

// Stop kills the server.
func (r *Redis) Stop() {
	_ = r.process.Process.Kill()
	_ = r.process.Wait() // killed
}
