package supervised

import (
	"bytes"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// An actor's turn has the labels of its range and its lane, whoever has sent the message.
func TestATurnHasLabelsInProfiles(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		labels := func(to *actor.PID) (found string) {
			f.send(to, work(func(actor.Context) {
				var profile bytes.Buffer
				require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
				for stack := range strings.SplitSeq(profile.String(), "\n\n") {
					if strings.Contains(stack, "guarded).Receive") {
						_, found, _ = strings.Cut(stack, "# labels: ")
						found, _, _ = strings.Cut(found, "\n")
					}
				}
			}))
			return found
		}
		ofRange := `"range":"` + f.Range.String() + `"`
		require.Equal(t, `{`+ofRange+`}`, labels(f.parent))
		require.Equal(t, `{"lane":"`+f.lane.String()+`", `+ofRange+`}`, labels(f.child))
		f.send(f.child, work(func(actor.Context) { panic(errDefect) }))
		require.Equal(t, `{"lane":"`+f.lane.String()+`", `+ofRange+`}`, labels(f.child), "in its next life too")
	})
}
