package link

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// leave does what a driver does with a frame.
func leave(t *Taps, lane uuid.UUID, text string) {
	if followers := t.Of(lane); len(followers) > 0 {
		followers.Add(Frame{Payload: []byte(text), Size: int64(len(text))})
	}
}

// take returns the texts of the frames that wait for a follower.
func take(f *Follower) (texts []string, dropped uint64) {
	frames, dropped := f.Next()
	for _, frame := range frames {
		texts = append(texts, string(frame.Payload))
	}
	return texts, dropped
}

// Each follower of a lane gets every frame of its link from when it begins until it stops, and none of another lane.
func TestFollowersOfALinkGetItsFrames(t *testing.T) {
	taps, lane, other := new(Taps), uuid.New(), uuid.New()
	leave(taps, lane, "before anybody follows")
	first, err := taps.Follow(lane)
	require.NoError(t, err)
	leave(taps, lane, "1")
	second, err := taps.Follow(lane)
	require.NoError(t, err)
	elsewhere, err := taps.Follow(other)
	require.NoError(t, err)
	leave(taps, lane, "2")
	leave(taps, other, "of the other lane")
	texts, dropped := take(first)
	require.Equal(t, []string{"1", "2"}, texts)
	require.Zero(t, dropped)
	texts, _ = take(second)
	require.Equal(t, []string{"2"}, texts)
	texts, _ = take(elsewhere)
	require.Equal(t, []string{"of the other lane"}, texts)

	first.Stop()
	first.Stop()
	leave(taps, lane, "3")
	texts, _ = take(first)
	require.Empty(t, texts, "it has stopped")
	texts, _ = take(second)
	require.Equal(t, []string{"3"}, texts)

	second.Stop()
	elsewhere.Stop()
	require.Nil(t, taps.followed.Load(), "nothing is looked up again")
	require.Empty(t, new(Lane).Taps.Of(lane), "a lane without taps is followed by nobody")
}

// A follower that takes nothing keeps the newest frames within bounds, and learns how many it has missed.
func TestASlowFollowerMissesTheOldestFrames(t *testing.T) {
	taps, lane := new(Taps), uuid.New()
	follower, err := taps.Follow(lane)
	require.NoError(t, err)
	for n := range maxWaiting + 3 {
		leave(taps, lane, strings.Repeat("x", n))
	}
	<-follower.Wake()
	texts, dropped := take(follower)
	require.Len(t, texts, maxWaiting)
	require.Equal(t, uint64(3), dropped)
	require.Equal(t, strings.Repeat("x", 3), texts[0])

	long := strings.Repeat("y", 16<<10)
	for range 20 {
		leave(taps, lane, long)
	}
	texts, dropped = take(follower)
	require.Len(t, texts, maxBytes>>14)
	require.Equal(t, uint64(4), dropped, "it counts anew")
}

// A few may follow a lane's link; the next one is told so, until one of them stops.
func TestFewFollowALink(t *testing.T) {
	taps, lane := new(Taps), uuid.New()
	var all []*Follower
	for range MaxFollowers {
		follower, err := taps.Follow(lane)
		require.NoError(t, err)
		all = append(all, follower)
	}
	_, err := taps.Follow(lane)
	require.ErrorIs(t, err, lanes.ErrTooManyFollowers)
	other, err := taps.Follow(uuid.New())
	require.NoError(t, err, "another lane has followers of its own")
	other.Stop()
	all[0].Stop()
	_, err = taps.Follow(lane)
	require.NoError(t, err)
}

// Drivers leave frames while followers come, take, and go.
func TestFollowersComeAndGoWhileFramesAreSent(t *testing.T) {
	taps, lane := new(Taps), uuid.New()
	var drivers, followers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		drivers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					leave(taps, lane, "a frame")
				}
			}
		})
	}
	for range MaxFollowers {
		followers.Go(func() {
			for range 50 {
				follower, err := taps.Follow(lane)
				if err != nil {
					t.Error(err)
					return
				}
				<-follower.Wake()
				if texts, _ := take(follower); len(texts) == 0 || texts[0] != "a frame" {
					t.Error(texts)
				}
				follower.Stop()
			}
		})
	}
	followers.Wait()
	close(stop)
	drivers.Wait()
	require.Nil(t, taps.followed.Load())
}

// What a frame costs whose link nobody follows.
func BenchmarkAFrameThatNobodyFollows(b *testing.B) {
	lane, text := uuid.New(), strings.Repeat("x", 300)
	measure := func(name string, taps *Taps) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				leave(taps, lane, text)
			}
		})
	}
	measure("no range", nil)
	taps := new(Taps)
	measure("no link of the range", taps)
	_, err := taps.Follow(uuid.New())
	require.NoError(b, err)
	measure("another link of the range", taps)
	follower, err := taps.Follow(lane)
	require.NoError(b, err)
	follower.add(Frame{At: time.Now()})
	measure("one follower", taps)
}
