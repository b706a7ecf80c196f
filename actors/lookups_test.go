package actors

import (
	"context"
	"sync/atomic"
	"testing/synctest"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// lookUps is a history whose readings a story holds up or fails.
type lookUps struct {
	store.Store
	answer atomic.Pointer[func(context.Context) error]
	asked  atomic.Int64
}

func (l *lookUps) Ended(ctx context.Context, rangeID, session uuid.UUID) (lanes.Ended, error) {
	l.asked.Add(1)
	if answer := l.answer.Load(); answer != nil {
		if err := (*answer)(ctx); err != nil {
			return lanes.Ended{}, err
		}
	}
	return l.Store.Ended(ctx, rangeID, session)
}

// answers says how readings end from now on, or what they wait for; nil: at once.
func (l *lookUps) answers(answer func(context.Context) error) {
	if answer == nil {
		l.answer.Store(nil)
		return
	}
	l.answer.Store(&answer)
}

// hold lets readings wait until goOn is called.
func (l *lookUps) hold() (goOn func()) {
	held := make(chan struct{})
	l.answers(func(ctx context.Context) error {
		select {
		case <-held:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return func() {
		l.answers(nil)
		close(held)
		synctest.Wait()
	}
}

// watchLookUps stands before the history from now on.
func (g *rig) watchLookUps() *lookUps {
	l := &lookUps{Store: g.store.Store}
	g.store.Store = l
	g.Cleanup(func() { l.answers(nil) })
	return l
}
