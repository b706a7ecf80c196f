package actors

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Clients that were answered together come back one shortly after the other. They share the next flush, too.
func TestWhoWasAnsweredTogetherIsSavedTogether(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var sizes []int
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if len(batch.Lanes) > 0 {
				sizes = append(sizes, len(batch.Lanes))
			}
			<-time.After(time.Millisecond)
			return flush()
		})
		const clients, rounds = 20, 4
		lane := f.Layout().Lanes[0].ID
		for client := range clients {
			go func() {
				for range rounds {
					answered := make(chan commit.Outcome, 1)
					f.committer.Save(&commit.Write{Lanes: []lanes.Lane{{ID: lane}}, Awaited: true, Done: func(became commit.Outcome) { answered <- became }})
					assert.Equal(t, commit.Saved, <-answered)
					<-time.After(time.Duration(client) * 10 * time.Microsecond)
				}
			}()
		}
		f.advance(time.Second)
		assert.LessOrEqual(t, len(sizes), rounds+1, "%v", sizes)
	})
}
