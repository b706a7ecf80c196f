package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// screens measures the cost of open control screens of a large range, and the time from a ceasefire's request
// until the last screen shows every lane. The floor writes the same bytes to as many bare connections.
type screens struct {
	Lanes    int           `default:"400" help:"How many lanes the range has."`
	Sessions int           `default:"200" help:"How many of them have a session."`
	Screens  int           `default:"50" help:"How many control screens are open."`
	Span     time.Duration `default:"10s" help:"How long each cost is measured."`
	Rounds   int           `default:"9" help:"How often a ceasefire is measured."`
}

// The limits of the screens. A change of one lane costs each screen one message and one write: 20 to 50 µs
// and 720 bytes with the names of the benchmark. 50 screens used 0.2 to 0.4 % of a core while idle, and 1.3
// to 2.9 % at ten changes a second, on two cores under four times their load. The limits are twice that.
// Sending every lane instead of the changed one uses 25 %, and 260 times the bytes.
const (
	perSecond   = 10   // changes
	coreIdle    = 0.01 // of a core, for all screens: a beat of each every 5 s
	coreBusy    = 0.06 // at perSecond changes
	bytesIdle   = 16.  // a screen a second
	bytesChange = 1 << 10
	// lastScreen limits the time until the last screen shows all of a ceasefire, as a multiple of the fastest
	// possible one: 0.9 to 1.2 were measured.
	lastScreen = 1.5
	// restOfScreens is the least time between two messages of a stream (api/screens). The first change of a
	// ceasefire is sent at once; lanes that close within that time are in the next message.
	restOfScreens = 100 * time.Millisecond
)

// Run measures the range without screens and with them, in each case idle and with changes, and then the ceasefires.
func (s screens) Run() (err error) {
	ctx := context.Background()
	w, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	without, err := w.use(ctx, nil)
	if err != nil {
		return err
	}
	audience, err := newAudience(w.address, w.r.Layout().Range, s.Lanes, s.Screens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, audience.close()) }()
	with, err := w.use(ctx, audience)
	if err != nil {
		return err
	}
	fmt.Printf("%d lanes, %d of them with a session, %d control screens\n", s.Lanes, s.Sessions, s.Screens)
	return errors.Join(s.costs(without, with), w.ceasefires(ctx, audience))
}

// costs prints the cost of each screen.
func (s screens) costs(without, with usage) error {
	if without.busy.changes == 0 || with.busy.changes == 0 {
		return errors.New("no change was done")
	}
	if received, due := with.busy.messages-with.idle.messages, int64(with.busy.changes*s.Screens); received < due/2 {
		return fmt.Errorf("%d changes came to %d messages on %d screens", with.busy.changes, received, s.Screens)
	}
	each := float64(s.Screens)
	cpuIdle := (with.idle.perSecond() - without.idle.perSecond()) / each
	bytesASecond := float64(with.idle.bytes) / with.idle.took.Seconds() / each
	added := (with.busy.perSecond()-without.busy.perSecond())/each - cpuIdle // for the changes in a second
	cpuChange := added / (float64(with.busy.changes) / with.busy.took.Seconds())
	bytesAChange := (float64(with.busy.bytes)/each - bytesASecond*with.busy.took.Seconds()) / float64(with.busy.changes)
	cpuBusy := cpuIdle + perSecond*cpuChange
	fmt.Printf("  a screen a second, nothing happening     %6.0f µs CPU  %6.0f bytes\n", cpuIdle*1e6, bytesASecond)
	fmt.Printf("  a screen and change                      %6.0f µs CPU  %6.0f bytes\n", cpuChange*1e6, bytesAChange)
	fmt.Printf("  a screen a second, %2d changes a second   %6.0f µs CPU  %6.0f bytes\n",
		perSecond, cpuBusy*1e6, bytesASecond+perSecond*bytesAChange)
	return errors.Join(
		bound(fmt.Sprintf("CPU of all, idle / %.0f %% of a core", coreIdle*100), cpuIdle*each/coreIdle, 1),
		bound(fmt.Sprintf("CPU of all, changes / %.0f %% of a core", coreBusy*100), cpuBusy*each/coreBusy, 1),
		bound(fmt.Sprintf("bytes a screen a second, idle / %.0f", bytesIdle), bytesASecond/bytesIdle, 1),
		bound(fmt.Sprintf("bytes a screen and change / %d", bytesChange), bytesAChange/bytesChange, 1),
	)
}

// ceasefires measures ceasefires by turns with the floor, for which one more screen records its stream.
func (w *watched) ceasefires(ctx context.Context, audience *child) (err error) {
	bare, err := w.rehearse(ctx, audience)
	if err != nil {
		return err
	}
	server, address, err := serve(bare)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	beside, err := newAudience(address, w.r.Layout().Range, w.Lanes, w.Screens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, beside.close()) }()
	all := map[bool][]turnTimes{}
	for range w.Rounds {
		for _, closed := range []bool{true, false} {
			time.Sleep(6 * restOfScreens) // the next message is sent at once
			floor, err := until(ctx, beside, bare.turn, closed)
			if err != nil {
				return err
			}
			one, err := until(ctx, audience, w.turn, closed)
			if err != nil {
				return err
			}
			one.floor = floor.screens
			all[closed] = append(all[closed], one)
		}
	}
	fmt.Printf("  until all lanes have it, until the last screen shows all, the same %d KB to bare connections\n",
		len(bare.closing)>>10)
	return errors.Join(summary("a ceasefire", all[true]), summary("its end", all[false]))
}

// turnTimes are the times since the request of a turn.
type turnTimes struct {
	gateway time.Duration // until the range had all of it
	screens time.Duration // until the last screen had
	floor   time.Duration // until the last of the bare connections had the same bytes
}

// until requests a turn, and waits until all have it.
func until(
	ctx context.Context, all *child, turn func(context.Context, bool) (time.Time, error), closed bool,
) (turnTimes, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	begun := time.Now()
	had, err := turn(ctx, closed)
	if err != nil {
		return turnTimes{}, err
	}
	done, err := all.wait(ctx, closed)
	return turnTimes{gateway: had.Sub(begun), screens: done.Sub(begun)}, err
}

// summary compares the times with the fastest possible one: of the range, the pause of a stream and the bytes.
func summary(name string, laps []turnTimes) error {
	median := func(of func(turnTimes) float64) float64 {
		var some []float64
		for _, each := range laps {
			some = append(some, of(each))
		}
		slices.Sort(some)
		return some[len(some)/2]
	}
	ms := func(of func(turnTimes) time.Duration) float64 {
		return median(func(l turnTimes) float64 { return of(l).Seconds() * 1000 })
	}
	fmt.Printf("  %-30s %6.1f ms  %6.1f ms  %6.1f ms\n", name, ms(func(l turnTimes) time.Duration { return l.gateway }),
		ms(func(l turnTimes) time.Duration { return l.screens }),
		ms(func(l turnTimes) time.Duration { return l.floor }))
	return bound(name+" / (range + 100 ms + bare)",
		median(func(l turnTimes) float64 { return float64(l.screens) / float64(l.gateway+restOfScreens+l.floor) }),
		lastScreen)
}
