package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"rangegate/actors"
)

// idle measures what a lane costs the gateway on whose link nothing happens: everything that is its own, the actors, the
// connection, its buffers and stacks.
type idle struct {
	Lanes int `default:"20000" help:"How many lanes. Each takes a file descriptor here and one in the controllers' process."`
}

// Bytes of a lane, at most.
const (
	perSimulated = 10 << 10
	perSession   = 12 << 10 // with one running
	perConnected = 16 << 10
)

// Run compares the memory in use with that before the lanes were there.
func (i idle) Run() error {
	const spare = 1000
	if have := files(i.Lanes + spare); have < i.Lanes+spare {
		i.Lanes = have - spare
		fmt.Printf("this process may open %d files: %d lanes\n", have, i.Lanes)
	}
	return errors.Join(i.connected(), i.simulated())
}

func (i idle) simulated() (err error) {
	g, err := newGateway()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	before := inUse()
	r, err := g.start(context.Background(), i.Lanes, nil)
	if err != nil {
		return err
	}
	idle := i.each("simulated lanes", before, perSimulated)
	if err := sellAll(r); err != nil {
		return err
	}
	return errors.Join(idle, i.each("simulated lanes with a session", before, perSession))
}

func (i idle) connected() (err error) {
	before := inUse()
	r, err := newHeld(context.Background(), i.Lanes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	return i.each("lanes on real connections", before, perConnected)
}

// each waits until every lane has had a ping, and says what one takes.
func (i idle) each(what string, before uint64, most float64) error {
	runtime.GC()
	time.Sleep(6 * time.Second)
	each := float64(inUse()-before) / float64(i.Lanes)
	fmt.Printf("%d %s, nothing happening: %.1f KB each, %d goroutines in all\n", i.Lanes, what, each/1024, runtime.NumGoroutine())
	return bound(fmt.Sprintf("memory of a lane / %.0f KB", most/1024), each/most, 1)
}

// sellAll puts a session on every lane.
func sellAll(r *actors.Range) error {
	var selling errgroup.Group
	selling.SetLimit(64)
	for _, place := range r.Layout().Lanes {
		selling.Go(func() error {
			_, err := sell(context.Background(), r, place.ID)
			return err
		})
	}
	return selling.Wait()
}

// inUse is what heap and stacks hold, in bytes, once everything that is not used is given up.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// files asks for so many file descriptors, as far as this process may, and says how many there are. The process of the
// controllers inherits it.
func files(n int) int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= uint64(n) {
		return n
	}
	for _, most := range []uint64{max(uint64(n), limit.Max), limit.Max} { // the first only for who may do anything
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: min(uint64(n), most), Max: most}) == nil {
			return int(min(uint64(n), most))
		}
	}
	return int(limit.Cur)
}
