package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"runtime"
	"syscall"
	"time"

	"github.com/gobwas/ws"
	"golang.org/x/sync/errgroup"

	"rangegate/actors"
	"rangegate/actors/bareactors"
	"rangegate/cmd/rangebench/figures"
)

// memory is the memory of an idle lane: actors, connection, buffers and stacks.
var memory = experiment{"memory", "what a lane takes on which nothing happens", measureMemory}

func measureMemory(ctx context.Context, t *trial) error {
	const spare = 1000
	simulated, connected := t.lanes(20_000), t.lanes(10_000)
	if have := files(connected + spare); have < connected+spare {
		connected = have - spare
		t.say("this process may open %d files: %d connections", have, connected)
	}
	err := t.compareApart(ctx, 2, isolated{What: "simulated lanes", Lanes: simulated},
		isolated{What: "bare actors", Lanes: simulated},
		figures.Figure{
			Name: "idle", Unit: "KB", Goal: figures.Below(4), What: "a simulated lane",
			Limit: "an actor that does nothing",
		},
		figures.Figure{
			Name: "session", Unit: "KB", Goal: figures.Below(5),
			What: "a simulated lane with a running session", Limit: "an actor that does nothing",
		})
	if err != nil {
		return err
	}
	return t.compareApart(ctx, 2, isolated{What: "connected lanes", Lanes: connected},
		isolated{What: "bare connections", Lanes: connected},
		figures.Figure{
			Name: "connected", Unit: "KB", Goal: figures.AtMost(1.1),
			What:  "a lane on a websocket, pinged",
			Limit: "a websocket connection with a goroutine that reads it through a bufio.Reader",
		})
}

func simulatedLanes(ctx context.Context, a isolated) (had []float64, err error) {
	g, err := newGatewayOn(a.Store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	before := inUse()
	r, err := g.start(ctx, a.Lanes, nil)
	if err == nil {
		err = linksUp(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	idle := each(before, a.Lanes)
	if err := sellAll(r); err != nil {
		return nil, err
	}
	return []float64{idle, each(before, a.Lanes)}, nil
}

func bareActors(_ context.Context, a isolated) ([]float64, error) {
	before := inUse()
	bare := bareactors.Spawn(a.Lanes)
	defer bare.Stop()
	one := each(before, a.Lanes)
	return []float64{one, one}, nil
}

func connectedLanes(ctx context.Context, a isolated) (had []float64, err error) {
	before := inUse()
	r, err := newHeld(ctx, layoutOf(a.Lanes), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	time.Sleep(6 * time.Second) // until every lane has been pinged
	return []float64{each(before, a.Lanes)}, nil
}

func bareConnections(ctx context.Context, a isolated) (had []float64, err error) {
	h, err := newControllerProcess(a.Lanes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	before := inUse()
	var all []net.Conn
	defer func() {
		for _, connection := range all {
			_ = connection.Close()
		}
	}()
	dialer := ws.Dialer{Protocols: []string{"rangegate.lane.v1"}}
	for range a.Lanes {
		connection, _, _, err := dialer.Dial(ctx, h.address)
		if err != nil {
			return nil, err
		}
		all = append(all, connection)
		go func() {
			for frames := bufio.NewReader(connection); ; {
				if _, err := frames.ReadByte(); err != nil {
					return
				}
			}
		}()
	}
	return []float64{each(before, a.Lanes)}, nil
}

// each returns the kilobytes of one.
func each(before uint64, n int) float64 {
	runtime.GC()
	time.Sleep(time.Second)
	return (float64(inUse()) - float64(before)) / float64(n) / 1024
}

// sellAll sells a session on every lane.
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

// inUse returns the bytes of live objects and stacks. Free space in the heap is not counted: it depends on
// earlier work (for a simulated lane 0.6 to 0.9 KB after a start).
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// files raises the limit of file descriptors as far as allowed, and returns it. Child processes inherit it.
func files(n int) int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= uint64(n) {
		return n
	}
	for _, most := range []uint64{max(uint64(n), limit.Max), limit.Max} { // the first needs privileges
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: min(uint64(n), most), Max: most}) == nil {
			return int(min(uint64(n), most))
		}
	}
	return int(limit.Cur)
}
