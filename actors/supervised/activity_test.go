package supervised

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// activity is that of the child.
func (f *fixture) activity() Activity {
	for _, a := range f.Activities() {
		if a.Kind == childKind {
			return a
		}
	}
	require.Fail(f.t, "the child has no activity")
	return Activity{}
}

// An operator sees what a busy actor has at hand and what waits behind it, without asking it.
func TestWhatABusyActorDoesIsSeen(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		idle := f.activity()
		require.Equal(t, Activity{Actor: f.child.GetId(), Kind: childKind, Lane: f.lane, Taken: 1}, idle,
			"it was started")
		goOn := make(chan struct{})
		f.send(f.child, work(func(actor.Context) { <-goOn }))
		asked := newQuestion()
		f.send(f.child, asked)
		f.send(f.child, work(func(actor.Context) {}))
		time.Sleep(3 * time.Second)
		busy := idle
		busy.Waiting, busy.Message, busy.For, busy.Taken = 2, "work", 3*time.Second, 2
		require.Equal(t, busy, f.activity())
		close(goOn)
		synctest.Wait()
		idle.Taken = 4
		require.Equal(t, idle, f.activity())
	})
}

// A panic costs an actor its life and not its record; what has stopped has none.
func TestWhatAnActorDidOutlivesAPanic(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		f.send(f.child, fails)
		after := f.activity()
		require.Empty(t, after.Message)
		require.Greater(t, after.Taken, uint64(2), "it was started again")
		panics := f.PanicsOf(f.lane, childKind)
		require.Equal(t, []any{1, "work", "a defect"}, []any{panics.Count, panics.Message, panics.Said})
		require.Zero(t, f.PanicsOf(f.lane, parentKind))
		require.NoError(t, f.Stop(t.Context(), f.child))
		synctest.Wait()
		require.Len(t, f.Activities(), 1)
	})
}
