package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A range is taken by a gateway whose configuration has lost a lane that is in use. Nobody may stop serving
// the others for that.
func TestARefusedLayoutConcernsItsRangeAlone(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		other, settings := f.addRange(nil)
		sold, err := other.Create(f.requestContext(), settings.Layout.Lanes[0].ID, f.newSale(30), nil)
		require.NoError(t, err)
		require.NoError(t, f.gateway.stopRange(f.Context(), other))

		lost := settings
		lost.Layout.Lanes = settings.Layout.Lanes[1:]
		require.NoError(t, f.gateway.Reload(f.Context(), Reload{Begin: []Settings{lost}}))
		synctest.Wait()
		_, err = f.gateway.Range(lost.Layout.Range)
		require.ErrorIs(t, err, lanes.ErrStarting)
		require.ErrorContains(t, err, sold.ID.String())
		require.ErrorIs(t, f.gateway.Refusal(lost.Layout.Range), ErrLayout)
		require.Equal(t, 1.0, f.counterValue("rangegate_ranges_refused"))
		require.True(t, f.gateway.Ready(2), "the other one serves")
		require.Equal(t, 35, f.modify(session, 5).Minutes)

		corrected := Reload{Change: []Changed{{settings, nil}}}
		f.store.loading = func() error { return lanes.ErrStoreUnavailable }
		require.ErrorIs(t, f.gateway.Reload(f.Context(), corrected), lanes.ErrStoreUnavailable)
		require.ErrorIs(t, f.gateway.Refusal(lost.Layout.Range), ErrLayout, "it is still not served")
		require.Equal(t, 1.0, f.counterValue("rangegate_ranges_refused"))
		require.NoError(t, f.gateway.Reload(f.Context(), corrected))
		f.advance(time.Second)
		again, err := f.gateway.Range(settings.Layout.Range)
		require.NoError(t, err)
		require.Equal(t, sold.ID, again.Sessions()[0].ID)
		require.NoError(t, f.gateway.Refusal(settings.Layout.Range))
		require.Zero(t, f.counterValue("rangegate_ranges_refused"))
		require.True(t, f.gateway.Ready(2))
	})
}

// Whoever takes the range out of the configuration has dealt with the refusal.
func TestARefusedRangeCanLeaveTheConfiguration(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		other, settings := f.addRange(nil)
		_, err := other.Create(f.requestContext(), settings.Layout.Lanes[0].ID, f.newSale(30), nil)
		require.NoError(t, err)
		require.NoError(t, f.gateway.stopRange(f.Context(), other))
		settings.Layout.Lanes = settings.Layout.Lanes[1:]
		require.NoError(t, f.gateway.Reload(f.Context(), Reload{Begin: []Settings{settings}}))
		require.Error(t, f.gateway.Refusal(settings.Layout.Range))
		require.NoError(t, f.gateway.Reload(f.Context(), Reload{End: []uuid.UUID{settings.Layout.Range}}))
		require.NoError(t, f.gateway.Refusal(settings.Layout.Range))
		require.True(t, f.gateway.Ready(1))
	})
}

// A start with one process names every fault at once: its operator corrects them together.
func TestAStartNamesEveryRefusedLayout(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		other, settings := f.addRange(nil)
		first := f.create(0, 30)
		second, err := other.Create(f.requestContext(), settings.Layout.Lanes[0].ID, f.newSale(30), nil)
		require.NoError(t, err)
		require.NoError(t, f.gateway.stopRange(f.Context(), other))
		require.NoError(t, f.gateway.stopRange(f.Context(), f.Range))
		lost, otherLost := f.settings, settings
		lost.Layout.Lanes, otherLost.Layout.Lanes = makePlaces(1), makePlaces(1)
		err = f.gateway.StartRanges(f.Context(), []Settings{lost, otherLost})
		require.ErrorIs(t, err, ErrLayout)
		require.ErrorContains(t, err, first.String())
		require.ErrorContains(t, err, second.ID.String())
		require.False(t, f.gateway.Ready(2), "none is left that serves")
	})
}
