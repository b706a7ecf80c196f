package simulation

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/test/linear"
)

// A store carries out the claim of a process that was killed. Nobody serves the range then, so the gateway that has
// lost it claims it again. Nothing of it is lost.
func TestARangeIsServedAgainThatADeadProcessHasClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwed(t)
		defer o.end()
		session := o.sell(0)
		o.claimElsewhere()
		time.Sleep(30 * time.Second) // with a checkpoint, which is refused
		require.Contains(t, o.unserved(), "not_owner")

		time.Sleep(time.Minute)
		require.Empty(t, o.unserved())
		require.Empty(t, o.unlinked())
		o.command(linear.Call{Kind: "modify", Session: session, Minutes: 1})
	})
}

// The store fails once more, as the range is loaded after that claim.
func TestALostRangeThatCannotBeLoadedIsClaimedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwed(t)
		defer o.end()
		o.sell(0)
		o.claimElsewhere()
		o.loadFails.Store(true)
		time.Sleep(2 * time.Minute)
		require.False(t, o.loadFails.Load(), "it has failed")
		require.Empty(t, o.unserved())
		require.Empty(t, o.unlinked())
	})
}

// Two processes that are configured with the same range do not take it from each other: whoever has it saves something
// of it all the time.
func TestARangeIsNotClaimedAgainThatIsServedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwed(t)
		defer o.end()
		other, epoch := o.claimElsewhere()
		for n := range uint64(60) {
			require.NoError(t, other.Flush(t.Context(), store.Batch{
				Range: o.ranges[0].id, Epoch: epoch, N: n + 1, Now: time.Now(),
				Checkpoint: &lanes.Checkpoint{At: o.now(), Boot: "other"},
			}))
			time.Sleep(10 * time.Second)
		}
		require.Contains(t, o.unserved(), "not_owner")
	})
}

// claimElsewhere has another process claim the first range.
func (o *owed) claimElsewhere() (other store.Store, epoch uint64) {
	o.t.Helper()
	other = o.server.Open(store.Retention{})
	epoch, err := other.Claim(o.t.Context(), o.ranges[0].id, time.Now())
	require.NoError(o.t, err)
	return other, epoch
}
