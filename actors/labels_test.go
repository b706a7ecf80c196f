package actors

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// deadNetwork is a driver whose dials hang until they are given up.
type deadNetwork struct{}

func (deadNetwork) Dial(ctx context.Context, _ link.Lane, _ link.Receiver) (link.Connection, link.Hello, error) {
	<-ctx.Done()
	return nil, link.Hello{}, ctx.Err()
}

// labelsOfProfile returns the labels of the goroutines that have the function on their stacks, as a profile of all
// goroutines shows them.
func labelsOfProfile(t *testing.T, function string) (labels []string) {
	var profile bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if !strings.Contains(stack, function) {
			continue
		}
		for line := range strings.SplitSeq(stack, "\n") {
			if set, found := strings.CutPrefix(line, "# labels: "); found {
				labels = append(labels, set)
			}
		}
	}
	return labels
}

// A profile of goroutines says whose they are: a dial its lane's, an attempt its webhook's, a flush its range's,
// whoever began it.
func TestProfilesSayWhoseAGoroutineIs(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		answered := make(chan struct{})
		t.Cleanup(func() { close(answered) })
		webhook.reply = func(_ context.Context, event lanes.Event) lanes.Attempt {
			<-answered
			return lanes.Attempt{At: event.At, Status: 200}
		}
		ofRange := `"range":"` + f.id.String() + `"`
		require.ElementsMatch(t, []string{
			`{"lane":"` + f.laneID(0).String() + `", ` + ofRange + `}`,
			`{"lane":"` + f.laneID(1).String() + `", ` + ofRange + `}`,
		}, labelsOfProfile(t, "deadNetwork.Dial"))

		f.createWaiting(0, 30)
		require.Equal(t, []string{`{` + ofRange + `, "webhook":"only"}`}, labelsOfProfile(t, "fakeWebhook).Attempt"))

		release := f.blockFlushes()
		f.startHold(rangeScope)
		synctest.Wait()
		require.Equal(t, []string{`{` + ofRange + `}`}, labelsOfProfile(t, "commit.(*Committer).flushAll"))
		release()
	}, withDriver(deadNetwork{}), withWebhook(webhook))
}
