package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
)

var openScreens = experiment{"screens", "open screens of a range of 400 lanes: CPU of what they are sent, and which " +
	"of them a change wakes", measureOpenScreens}

const (
	screenLanes  = 400
	screenCount  = 50 // of a kind; lane screens, unless beside others, are those of all lanes
	screenPace   = 2 * restOfScreens
	screenChange = 26 // changes of one lane for each kind of screens
	screenTurns  = 8  // ceasefires and ends of one, likewise
	screenSettle = 3 * restOfScreens
	wokenChanges = 10
)

// screenKinds are the kinds of screens, each with what is sent to them: control screens and wall boards get
// changes of one lane, and lane screens, of which such a change wakes one at most, a ceasefire.
var screenKinds = []string{"control", "board", "lane"}

func measureOpenScreens(ctx context.Context, t *trial) error {
	n := t.lanes(screenLanes)
	if have := files(2*n + 500); have < 2*n+500 {
		return &notMeasured{fmt.Sprintf("this process may open %d files", have)}
	}
	said := map[string]*bareStreams{} // what a screen of each kind was sent in the round before the limit's
	return t.compare(ctx, 2,
		func(ctx context.Context) ([]float64, error) { return screensOfRange(ctx, n, said) },
		func(ctx context.Context) ([]float64, error) { return bareScreens(ctx, n, said) },
		figures.Figure{
			Name: "control", Unit: "µs CPU", Goal: figures.AtMost(2),
			What:  "a change of one lane, for each of 50 control screens",
			Limit: "a request of net/http that writes the same messages, for each of 50",
		},
		figures.Figure{
			Name: "board", Unit: "µs CPU", Goal: figures.AtMost(2),
			What: "the same for each of 50 wall boards", Limit: "likewise",
		},
		figures.Figure{
			Name: "lane", Unit: "µs CPU", Goal: figures.AtMost(2.5),
			What:  "a ceasefire over the range, or its end, for each of 400 lane screens",
			Limit: "likewise, for each of 400",
		},
		figures.Figure{
			Name: "woken", Unit: "screens", Goal: figures.AtMost(1),
			What: "screens that a change of one lane reaches, of 50 control screens, 50 wall boards and 50 lane " +
				"screens of its range and of another",
			Limit: "those that show it: the control screens and wall boards of the range, and the lane's screen",
		})
}

// screensOfRange returns the microseconds of each kind of screen, and how many screens a change reaches. It
// records what a screen was sent.
func screensOfRange(ctx context.Context, n int, said map[string]*bareStreams) (had []float64, err error) {
	w, err := screens{Lanes: n, Sessions: min(n, screenCount)}.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	change, err := w.cost(ctx, w.changeLane, screenChange) // without a screen
	if err != nil {
		return nil, err
	}
	turn, err := w.cost(ctx, w.turnOnce, screenTurns)
	if err != nil {
		return nil, err
	}
	for _, kind := range screenKinds {
		one, times, without := w.changeLane, screenChange, change
		if kind == "lane" {
			one, times, without = w.turnOnce, screenTurns, turn
		}
		if said[kind], err = w.recordScreen(ctx, kind, one); err != nil {
			return nil, err
		}
		audience, count := w.audience(kind)
		all, err := audience.start()
		if err != nil {
			return nil, err
		}
		with, err := w.cost(ctx, one, times)
		if err = errors.Join(err, all.close()); err != nil {
			return nil, err
		}
		had = append(had, (with-without)/float64(count))
	}
	woken, err := w.woken(ctx)
	return append(had, woken), err
}

// audience returns the open screens of a kind, and how many they are.
func (w *watched) audience(kind string) (v viewers, count int) {
	v = viewers{Address: w.address, Range: w.r.Layout().Range.String(), Lanes: w.Lanes}
	switch kind {
	case "control":
		v.Screens = screenCount
	case "board":
		v.Boards = screenCount
	case "lane":
		v.At = laneIDs(w.r, w.Lanes)
	}
	return v, max(v.Screens, v.Boards, len(v.At))
}

func laneIDs(r *actors.Range, count int) (ids []string) {
	for _, lane := range r.Layout().Lanes[:count] {
		ids = append(ids, lane.ID.String())
	}
	return ids
}

// changeLane changes one lane: it pauses a session, or lets it go on.
func (w *watched) changeLane(ctx context.Context, i int) error {
	session := w.sessions[i/2%len(w.sessions)]
	var command lanes.Command = lanes.Pause{Session: session}
	if i%2 == 1 {
		command = lanes.Resume{Session: session}
	}
	_, err := w.r.On(ctx, session, command, nil)
	return err
}

// turnOnce begins a ceasefire, or ends it.
func (w *watched) turnOnce(ctx context.Context, i int) error {
	_, err := w.turn(ctx, i%2 == 0)
	return err
}

// cost returns the microseconds of CPU that this process uses for one call, of an even number of them, with
// what follows from it.
func (w *watched) cost(
	ctx context.Context, one func(context.Context, int) error, times int,
) (microseconds float64, err error) {
	runtime.GC() // of earlier work, such as signing in
	time.Sleep(screenSettle)
	before := cpuTime()
	for i := range times {
		if err := one(ctx, i); err != nil {
			return 0, err
		}
		time.Sleep(screenPace)
	}
	return float64((cpuTime() - before).Microseconds()) / float64(times), nil
}

// recordScreen records what a screen of the kind receives: its picture, and a change and its reverse.
func (w *watched) recordScreen(
	ctx context.Context, kind string, one func(context.Context, int) error,
) (*bareStreams, error) {
	rangeID := w.r.Layout().Range.String()
	var stream io.ReadCloser
	var err error
	switch kind {
	case "control":
		stream, err = openControl(ctx, w.address, rangeID)
	case "board":
		stream, err = openKeyed(ctx, w.address, "/board/"+rangeID)
	default:
		stream, err = openKeyed(ctx, w.address, "/lane/"+w.r.Layout().Lanes[0].ID.String())
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	heard := record(stream)
	bare := &bareStreams{picture: heard.cut(), apart: true}
	for i, text := range []*[]byte{&bare.closing, &bare.opening} {
		if err := one(ctx, i); err != nil {
			return nil, err
		}
		if *text = heard.cut(); len(*text) == 0 {
			return nil, fmt.Errorf("a %s screen was sent nothing", kind)
		}
	}
	return bare, nil
}

// woken returns how many screens a change of one lane reaches, of those of its range and of another one.
func (w *watched) woken(ctx context.Context) (reached float64, err error) {
	other, err := w.gateway.start(ctx, w.Lanes, nil)
	if err != nil {
		return 0, err
	}
	server, address, err := serveAll(w.gateway, w.r, other)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	var audiences []*child
	for _, r := range []*actors.Range{w.r, other} {
		all, err := viewers{
			Address: address, Range: r.Layout().Range.String(), Lanes: w.Lanes, Screens: screenCount,
			Boards: screenCount, At: laneIDs(r, len(w.sessions)),
		}.start()
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, all.close()) }()
		audiences = append(audiences, all)
	}
	since := func() (sum float64, err error) {
		time.Sleep(screenSettle)
		for _, all := range audiences {
			so, err := all.receivedSoFar()
			if err != nil {
				return 0, err
			}
			sum += float64(so.reached)
		}
		return sum, nil
	}
	if _, err := since(); err != nil { // of the opening
		return 0, err
	}
	for i := range wokenChanges {
		if err := w.changeLane(ctx, i); err != nil {
			return 0, err
		}
		some, err := since()
		if err != nil {
			return 0, err
		}
		reached += some / wokenChanges
	}
	return reached, nil
}

// bareScreens writes the recorded bytes to as many bare connections.
func bareScreens(ctx context.Context, n int, said map[string]*bareStreams) (had []float64, err error) {
	for _, kind := range screenKinds {
		bare := said[kind]
		w := &watched{screens: screens{Lanes: n}}
		server, address, err := serve(bare)
		if err != nil {
			return nil, err
		}
		times, audience := screenChange, viewers{
			Address: address, Range: uuid.Nil.String(), Lanes: n,
			Screens: screenCount,
		}
		if kind == "lane" {
			times, audience.Screens, audience.At = screenTurns, 0, make([]string, n)
			for i := range audience.At {
				audience.At[i] = uuid.Nil.String()
			}
		}
		all, err := audience.start()
		if err != nil {
			return nil, errors.Join(err, server.Close())
		}
		cost, err := w.cost(ctx, func(ctx context.Context, i int) error {
			_, err := bare.turn(ctx, i%2 == 0)
			return err
		}, times)
		if err = errors.Join(err, all.close(), server.Close()); err != nil {
			return nil, err
		}
		had = append(had, cost/float64(audience.Screens+len(audience.At)))
	}
	return append(had, 2*screenCount+1), nil
}
