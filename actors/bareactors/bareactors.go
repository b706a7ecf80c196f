// Package bareactors is actors of the actor library with nothing in them: what a lane's memory is held against.
package bareactors

import (
	"io"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// All is many actors that do nothing.
type All struct {
	system *actor.ActorSystem
	all    []*actor.PID
}

// Spawn makes so many.
func Spawn(n int) *All {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	a := &All{system: actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))}
	for range n {
		a.all = append(a.all, a.system.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {})))
	}
	return a
}

// Stop ends them.
func (a *All) Stop() {
	var stopped []*actor.Future
	for _, pid := range a.all {
		stopped = append(stopped, a.system.Root.StopFuture(pid))
	}
	for _, future := range stopped {
		_ = future.Wait()
	}
	a.system.Shutdown()
}
