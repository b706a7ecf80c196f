package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/sqlite"
)

// storeKind is a store that the gateway can have.
type storeKind string

const (
	sqliteStore storeKind = "sqlite"
	redisStore  storeKind = "redis"
)

// disk is the directory of a store in this run and, for Redis, a server that syncs every write before its reply.
type disk struct {
	kind   storeKind
	dir    string
	port   int
	server *exec.Cmd
}

func newDisk(kind storeKind) (d *disk, err error) {
	d = &disk{kind: kind}
	if d.dir, err = os.MkdirTemp("", "rangebench-"); err != nil {
		return nil, err
	}
	if kind == redisStore {
		if err := d.serve(); err != nil {
			return nil, errors.Join(err, os.RemoveAll(d.dir))
		}
	}
	return d, nil
}

// serve starts a server on a free port below the kernel's ephemeral ports.
func (d *disk) serve() error {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return &notMeasured{"redis-server is not installed"}
	}
	for range 20 {
		d.port = 20000 + rand.IntN(12000)
		d.server = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(d.port), "--dir", d.dir,
			"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--daemonize", "no")
		d.server.Stdout = io.Discard
		d.server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := d.server.Start(); err != nil {
			return err
		}
		for range 100 {
			if conn, err := net.Dial("tcp", d.address()); err == nil {
				_ = conn.Close()
				if d.server.Process.Signal(syscall.Signal(0)) == nil {
					return nil
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
		_ = d.server.Process.Kill()
		_ = d.server.Wait()
	}
	return errors.New("redis-server found no free port")
}

func (d *disk) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.port)) }

// open opens the gateway's store on the disk.
func (d *disk) open() (store.Store, error) {
	const long = 24 * time.Hour
	keep := store.Retention{Events: long, History: long, Names: long, Cap: 1_000_000}
	if d.kind == redisStore {
		return redis.Open(context.Background(), fmt.Sprintf("redis://%s/0", d.address()), keep)
	}
	return sqlite.Open(filepath.Join(d.dir, "range.db"), keep)
}

// remove stops the server and removes the directory.
func (d *disk) remove() error {
	if d.server != nil {
		_ = d.server.Process.Kill()
		_ = d.server.Wait() // killed
	}
	return os.RemoveAll(d.dir)
}
