package actors

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// Twenty clients use each of a hundred lanes, some of them at the same time. Whatever they were answered must be
// explained by the commands of a lane having been done one after the other, each between its asking and its answer.
// No time passes meanwhile.
func TestEveryLaneDoesOneThingAfterTheOther(t *testing.T) {
	const clients, together, commands = 20, 8, 6
	inFakeTime(t, func(t *testing.T, g *rig) {
		var order atomic.Int64
		var all sync.WaitGroup
		crowds := make([]*crowd, len(g.settings.Layout.Lanes))
		for i := range crowds {
			crowds[i] = &crowd{rig: g, lane: i, order: &order, turns: make(chan struct{}, together)}
			for client := range clients {
				all.Go(func() { crowds[i].use(client, commands) })
			}
		}
		all.Wait()
		heard := map[string]int{}
		for i, crowd := range crowds {
			require.Len(t, crowd.history, clients*commands)
			require.True(t, porcupine.CheckOperations(oneLane, crowd.history), "the history of lane %d", i)
			for _, did := range crowd.history {
				heard[did.Input.(asked).kind+" "+did.Output.(heardOf).code]++
			}
		}
		for _, answer := range []string{
			"create ok", "create lane_occupied", "get ok", "get session_ended", "enter ok", "enter not_waiting", "modify ok",
			"modify session_ended", "modify duration_out_of_range", "pause ok", "pause not_running", "resume ok",
			"resume not_paused", "stop ok", "stop session_ended",
		} {
			require.NotZero(t, heard[answer], answer)
		}
	}, withLanes(100))
}

// asked and heardOf are what a client asked of a lane, and what it was answered.
type (
	asked struct {
		kind    string
		session uuid.UUID
		minutes int
	}
	heardOf struct {
		code    string
		phase   lanes.Phase
		minutes int
	}
)

// crowd is the clients of one lane. They hear of each other's sessions once those have been created.
type crowd struct {
	*rig
	lane  int
	order *atomic.Int64
	turns chan struct{}
	known atomic.Pointer[uuid.UUID]

	mu      sync.Mutex
	history []porcupine.Operation
}

func (c *crowd) use(client, commands int) {
	chance := rand.New(rand.NewPCG(uint64(c.lane), uint64(client)))
	for range commands {
		c.turns <- struct{}{}
		what := c.choose(chance)
		called := c.order.Add(1)
		answer := c.do(what)
		returned := c.order.Add(1)
		<-c.turns
		c.mu.Lock()
		c.history = append(c.history, porcupine.Operation{
			ClientId: client, Input: what, Call: called, Output: answer, Return: returned,
		})
		c.mu.Unlock()
	}
}

func (c *crowd) choose(chance *rand.Rand) asked {
	known := c.known.Load()
	kinds := []string{"create", "create", "modify", "modify", "pause", "resume", "enter", "get", "get", "stop"}
	kind := kinds[chance.IntN(len(kinds))]
	switch {
	case known == nil || kind == "create":
		return asked{"create", uuid.New(), 60 + chance.IntN(60)}
	case kind == "modify":
		return asked{kind, *known, chance.IntN(600) - 200}
	}
	return asked{kind, *known, 0}
}

func (c *crowd) do(what asked) heardOf {
	ctx := c.T.Context()
	var view *lanes.SessionView
	var err error
	switch what.kind {
	case "create":
		sale := lanes.Create{Session: what.session, Group: c.group, Customer: "Jo", Minutes: what.minutes, AutoStart: what.minutes%2 == 0}
		if view, err = c.Create(ctx, c.rig.lane(c.lane), sale, nil); err == nil {
			c.known.Store(&what.session)
		}
	case "modify":
		view, err = c.On(ctx, what.session, lanes.Modify{Session: what.session, Minutes: what.minutes}, nil)
	case "pause":
		view, err = c.On(ctx, what.session, lanes.Pause{Session: what.session}, nil)
	case "resume":
		view, err = c.On(ctx, what.session, lanes.Resume{Session: what.session}, nil)
	case "enter":
		view, err = c.On(ctx, what.session, lanes.Enter{Session: what.session}, nil)
	case "stop":
		view, err = c.On(ctx, what.session, lanes.Stop{Session: what.session, By: lanes.ByPOS}, nil)
	case "get":
		view, err = c.Session(ctx, what.session)
	}
	if err != nil {
		return heardOf{code: code(err)}
	}
	return heardOf{"ok", view.Phase, view.Minutes}
}

// oneLane is a lane to which one thing happens after the other: what is on it, and what it answers.
var oneLane = porcupine.Model{
	Init: func() any { return onLane{} },
	Step: func(state, input, output any) (bool, any) {
		next, answer := state.(onLane).then(input.(asked))
		return answer == output.(heardOf), next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

type onLane struct {
	session uuid.UUID
	phase   lanes.Phase
	minutes int
}

func (l onLane) then(what asked) (onLane, heardOf) {
	refused := func(err *lanes.Error) (onLane, heardOf) { return l, heardOf{code: err.Code()} }
	next := l
	switch {
	case what.kind == "create" && l.session != uuid.Nil:
		return refused(lanes.ErrLaneOccupied)
	case what.kind == "create":
		next = onLane{what.session, lanes.Waiting, what.minutes}
		if what.minutes%2 == 0 {
			next.phase = lanes.Running
		}
	case what.session != l.session: // it was created, or nobody would know of it
		return refused(lanes.ErrSessionEnded)
	case what.kind == "modify" && (l.minutes+what.minutes < lanes.MinMinutes || l.minutes+what.minutes > lanes.MaxMinutes):
		return refused(lanes.ErrDurationOutOfRange)
	case what.kind == "modify":
		next.minutes += what.minutes
	case what.kind == "enter" && l.phase != lanes.Waiting:
		return refused(lanes.ErrNotWaiting)
	case what.kind == "pause" && l.phase != lanes.Running:
		return refused(lanes.ErrNotRunning)
	case what.kind == "resume" && l.phase != lanes.Paused:
		return refused(lanes.ErrNotPaused)
	case what.kind == "enter", what.kind == "resume":
		next.phase = lanes.Running
	case what.kind == "pause":
		next.phase = lanes.Paused
	case what.kind == "stop":
		return onLane{}, heardOf{"ok", l.phase, l.minutes}
	}
	return next, heardOf{"ok", next.phase, next.minutes}
}
