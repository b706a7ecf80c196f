package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// idle measures what a lane costs the gateway on whose link nothing happens: everything that is its own, the actors, the
// connection, its buffers and stacks.
type idle struct {
	Lanes int `default:"20000" help:"How many lanes. Each takes a file descriptor here and one in the controllers' process."`
}

const perLane = 24 << 10 // bytes

// Run compares the memory in use with that before the lanes were there.
func (i idle) Run() (err error) {
	files(uint64(i.Lanes) + 1000)
	before := inUse()
	r, err := newHeld(context.Background(), i.Lanes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	each := float64(inUse()-before) / float64(i.Lanes)
	fmt.Printf("%d connected lanes, nothing happening: %.1f KB each, %d goroutines in all\n", i.Lanes, each/1024, runtime.NumGoroutine())
	return bound("memory of a lane / 24 KB", each/perLane, 1)
}

// inUse is what heap and stacks hold, in bytes, once everything that is not used is given up.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// files asks for so many file descriptors, as far as this process may. The process of the controllers inherits it.
func files(n uint64) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= n {
		return
	}
	limit.Cur, limit.Max = n, max(n, limit.Max)
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // what is missing is said when a connection fails
}
