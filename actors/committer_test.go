package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// What the store does to a flush.
type fate string

const (
	passes         fate = "passes"
	isRefused      fate = "is refused"
	losesItsAnswer fate = "written, the answer is lost"
	isLost         fate = "not written, and nobody knows"
	isSlow         fate = "written after a while"
	hangsUnwritten fate = "hangs, and is not written"
	hangsWritten   fate = "hangs, and is written"
	comesLate      fate = "hangs, and is written after it was given up"
)

var fates = []fate{
	passes, passes, isRefused, losesItsAnswer, isLost, isSlow, hangsUnwritten, hangsWritten, comesLate,
}

// fickle is a store that deals with one flush after the other as it is fated, and then passes them.
type fickle struct {
	assert *assert.Assertions
	store  *hookedStore

	mu     sync.Mutex
	fates  []fate
	unsure map[uint64]string // n → the batch whose outcome nobody knows
}

func (f *fickle) flush(ctx context.Context, batch store.Batch, flush func() error) error {
	switch f.next(batch) {
	case isRefused:
		return store.ErrRefused
	case losesItsAnswer:
		return losesAnswers(ctx, batch, flush)
	case isLost:
		return errAnswerLost
	case isSlow:
		<-time.After(700 * time.Millisecond)
	case hangsUnwritten:
		return hangs(ctx, batch, flush)
	case hangsWritten:
		return goesSilent(ctx, batch, flush)
	case comesLate:
		time.AfterFunc(7*time.Second, func() { _ = f.store.Store.Flush(context.Background(), batch) })
		return hangs(ctx, batch, flush)
	}
	return flush()
}

// next is the fate of the batch. As long as nobody knows what became of an n, there is no other batch of it.
func (f *fickle) next(batch store.Batch) fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	record, err := json.Marshal(batch)
	f.assert.NoError(err)
	if before, unsure := f.unsure[batch.N]; unsure {
		f.assert.Equal(before, string(record), "two batches under one n")
	}
	next := passes
	if len(f.fates) > 0 {
		next, f.fates = f.fates[0], f.fates[1:]
	}
	if next != passes && next != isRefused && next != isSlow {
		f.unsure[batch.N] = string(record)
	}
	return next
}

// step is what the customer of a lane does next.
type step struct {
	Do    string
	After time.Duration
}

// sold is a session as the POS knows it: what was asked of it, and how that was answered.
type sold struct {
	id      uuid.UUID
	created error
	added   int  // minutes whose sale was acknowledged
	maybe   int  // minutes whose sale nobody knows of
	stopped bool // it was told so, saved or not
}

// play lets the lanes have their steps side by side.
func play(g *rig, is *assert.Assertions, scripts [][]step) (all []*sold) {
	var lanes sync.WaitGroup
	sessions := make([][]*sold, len(scripts))
	for i, script := range scripts {
		lanes.Go(func() { sessions[i] = playLane(g, is, i, script) })
	}
	lanes.Wait()
	for _, of := range sessions {
		all = append(all, of...)
	}
	return all
}

func playLane(g *rig, is *assert.Assertions, lane int, script []step) (all []*sold) {
	s, minutes := &sold{}, 1
	for _, next := range script {
		<-time.After(next.After)
		ctx, cancel := context.WithTimeout(g.Context(), 5*time.Second)
		begun := time.Now()
		var err error
		switch next.Do {
		case "create":
			sale := g.sale(100)
			s, minutes = &sold{id: sale.Session}, 1
			all = append(all, s)
			_, s.created = g.Create(ctx, g.lane(lane), sale, nil)
		case "modify":
			_, err = g.On(ctx, s.id, lanes.Modify{Session: s.id, Minutes: minutes}, nil)
			switch err {
			case nil:
				s.added += minutes
			case lanes.ErrTimeout:
				s.maybe += minutes
			}
			minutes *= 2
		case "stop":
			_, err = g.On(ctx, s.id, lanes.Stop{Session: s.id, By: lanes.ByPOS}, nil)
			s.stopped = s.stopped || err == nil || err == lanes.ErrNotSaved
		case "pause":
			_, err = g.On(ctx, s.id, lanes.Pause{Session: s.id}, nil)
		case "move":
			_, err = g.Move(ctx, s.id, g.lane((lane+1)%len(g.settings.Layout.Lanes)), nil)
		case "resume":
			_, err = g.On(ctx, s.id, lanes.Resume{Session: s.id}, nil)
		}
		if next.Do == "stop" || next.Do == "pause" {
			is.NotEqual(lanes.ErrTimeout, err, "%s is answered", next.Do)
			is.LessOrEqual(time.Since(begun), 2*time.Second, "%s is answered soon", next.Do)
		}
		cancel()
	}
	return all
}

// audit compares what the POS was told with what is on record, on the board, on the hardware and at the webhook.
func audit(g *rig, is *assert.Assertions, sessions []*sold, received *inbox) {
	log, err := g.Events(g.Context(), 0, 1_000_000)
	is.NoError(err)
	facts, delivered := map[uuid.UUID]map[lanes.Kind]int{}, map[uuid.UUID][]uuid.UUID{}
	for i, logged := range log {
		is.True(i == 0 || log[i-1].Cursor < logged.Cursor, "cursors ascend")
		if facts[logged.Event.Session] == nil {
			facts[logged.Event.Session] = map[lanes.Kind]int{}
		}
		facts[logged.Event.Session][logged.Event.Kind]++
		delivered[logged.Event.Lane] = append(delivered[logged.Event.Lane], logged.Event.ID)
		is.True(logged.Attempt != nil && logged.Attempt.Status == 200, "attempted: %v", logged)
	}
	is.Equal(delivered, received.byLane(), "each once, in order per lane")

	history, err := g.History(g.Context(), 0, 1_000_000)
	is.NoError(err)
	ended := map[uuid.UUID]lanes.Ended{}
	for _, record := range history {
		is.NotContains(ended, record.Session.ID)
		is.Equal(record.Session.Sold, record.Used+record.Session.Left)
		ended[record.Session.ID] = record
	}
	for _, s := range sessions {
		record, over := ended[s.id]
		view, _ := g.Session(g.Context(), s.id)
		happened := facts[s.id]
		switch {
		case s.created == nil:
			is.Equal(1, happened[lanes.SessionCreated])
		case s.created != lanes.ErrTimeout:
			is.Empty(happened, "refused: %v", s.created)
		}
		is.Equal(over, s.stopped, "stopped exactly when it was told so")
		is.Equal(over, happened[lanes.SessionStopped] == 1)
		is.LessOrEqual(happened[lanes.SessionStopped], 1)
		switch {
		case over:
			is.Nil(view)
			is.True(explains(s, int(record.Session.Sold/time.Minute)-100), "%+v, sold %s", s, record.Session.Sold)
		case happened[lanes.SessionCreated] == 1:
			if is.NotNil(view) {
				is.True(explains(s, view.Minutes-100), "%+v, sold %d", s, view.Minutes)
				hardware := g.hardware.Controller(view.Lane).Shown()
				is.Equal(s.id, hardware.Session)
				is.Equal(view.Phase == lanes.Running, hardware.Open)
			}
		}
	}
	shown := g.Lanes()
	g.restart()
	for i, lane := range g.Lanes() {
		is.Equal(shown[i].Lane, lane.Lane, "what is shown is what is saved")
	}
}

// explains reports whether the minutes sold later are all that were acknowledged, and maybe some that timed out. Each
// sale was twice the one before.
func explains(s *sold, minutes int) bool {
	return minutes&s.added == s.added && minutes&^(s.added|s.maybe) == 0
}

type findings []string

func (f *findings) Errorf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func TestWhateverTheStoreDoes(t *testing.T) {
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			rapid.SampledFrom([]string{"create", "create", "modify", "modify", "pause", "resume", "move", "stop"}).Draw(t, "do"),
			time.Duration(rapid.IntRange(0, 3000).Draw(t, "after")) * time.Millisecond,
		}
	}), 1, 10)
	rapid.Check(t, func(rt *rapid.T) {
		fated := rapid.SliceOfN(rapid.SampledFrom(fates), 0, 30).Draw(rt, "fates")
		scripts := rapid.SliceOfN(steps, 1, 3).Draw(rt, "scripts")
		var found findings
		synctest.Test(t, func(t *testing.T) {
			is, received := assert.New(&found), &inbox{}
			g := startRig(t, withLanes(len(scripts)), withWebhook(received))
			f := &fickle{assert: is, store: g.store, fates: fated, unsure: map[uint64]string{}}
			g.store.hook(f.flush)
			sessions := play(g, is, scripts)
			g.store.hook(nil)
			g.pass(30 * time.Second)
			audit(g, is, sessions, received)
		})
		if len(found) > 0 {
			rt.Fatal(found)
		}
	})
}
