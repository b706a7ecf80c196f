package actors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// brittle is a driver that fails in every way there is: its dials hang, fail, come too late and panic, and so do its connections.
type brittle struct {
	link.Driver

	mu     sync.Mutex
	chance *rand.Rand // nil: nothing fails any more
	open   int        // connections that nobody has closed
}

// fails reports whether something fails that does so once in so many times.
func (b *brittle) fails(once int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.chance != nil && b.chance.IntN(once) == 0
}

func (b *brittle) heals() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chance = nil
}

func (b *brittle) opened(by int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open += by
	return b.open
}

func (b *brittle) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	switch {
	case b.fails(8):
		panic(errDefect)
	case b.fails(8):
		return nil, link.Hello{}, errNoAnswer
	case b.fails(8):
		<-ctx.Done()
		return nil, link.Hello{}, ctx.Err()
	}
	late := b.fails(4)
	connection, hello, err := b.Driver.Dial(ctx, lane, to)
	if err != nil {
		return nil, hello, err
	}
	b.opened(1)
	if late { // whether or not anybody still wants it
		time.Sleep(300 * time.Millisecond)
	}
	return &brittleLine{Connection: connection, of: b}, hello, nil
}

type brittleLine struct {
	link.Connection
	of    *brittle
	close sync.Once
}

func (l *brittleLine) Send(s link.State) {
	if l.of.fails(8) {
		panic(errDefect)
	}
	l.Connection.Send(s)
}

func (l *brittleLine) Ack(log lanes.Log) {
	if l.of.fails(8) {
		panic(errDefect)
	}
	l.Connection.Ack(log)
}

func (l *brittleLine) Close() {
	l.close.Do(func() { l.of.opened(-1) })
	l.Connection.Close()
	if l.of.fails(4) {
		panic(errDefect)
	}
}

// Whatever befalls the link, its driver, the lane and the store: once that is over there is one connection, the hardware is as it
// is wanted, and every report was taken in once.
func TestALaneIsRightAgainWhateverBefallsItsLink(t *testing.T) {
	for seed := range uint64(50) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			chance := rand.New(rand.NewPCG(seed, 1))
			b := &brittle{}
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 480)
				b.mu.Lock()
				b.chance = rand.New(rand.NewPCG(seed, 2))
				b.mu.Unlock()
				helps, release := 0, func() {}
				var asked []<-chan error
				var keys []*lanes.Key
				ask := func(do func() error) { asked = append(asked, g.begin(do)) }
				modify := func(key *lanes.Key) error {
					_, err := g.On(g.Context(), session, lanes.Modify{Session: session, Minutes: -1}, key)
					return err
				}
				for range 60 {
					switch chance.IntN(9) {
					case 0:
						g.controller(0).Cut(errNoAnswer)
					case 1:
						g.crash(0)
					case 2:
						g.toLane(0, &renewLink{})
					case 3:
						if g.controller(0).Help() == nil {
							helps++
						}
					case 4:
						ask(func() error { _, err := g.Hold(g.request(), everywhere, "sam"); return err })
					case 5:
						ask(func() error { _, err := g.Lift(g.request(), everywhere, "sam"); return err })
					case 6:
						key := keyed(fmt.Sprint("k", len(keys)), "f")
						keys = append(keys, key)
						ask(func() error { return modify(key) })
					case 7:
						release()
						release = g.holdFlushes()
					case 8:
						release()
						release = func() {}
					}
					g.pass(time.Duration(chance.IntN(400)) * time.Millisecond)
				}
				release()
				b.heals()
				g.pass(5 * time.Minute)

				lane, shown := g.Lanes()[0], g.controller(0).Shown()
				require.Equal(t, lanes.LinkUp, lane.Link)
				require.Equal(t, 2, b.opened(0), "one for each lane")
				require.Equal(t, lane.Lane.Held, shown.Hold)
				require.Equal(t, lane.Lane.Held, lane.Locked)
				require.Equal(t, lane.Lane.Held, len(g.inForce()) > 0)
				require.Equal(t, session, shown.Session)
				require.Equal(t, lane.Lane.Session.Phase, shown.Phase)
				require.InDelta(t, g.left(session), shown.Remaining, 0)
				require.Zero(t, g.controller(0).Unacked())
				require.Equal(t, helps, countKind(g.happened(session), lanes.Help))
				for _, asking := range asked {
					select {
					case <-asking:
					default:
						require.Fail(t, "nobody answered")
					}
				}
				for _, key := range keys {
					_ = g.answerOf(g.begin(func() error { return modify(key) }), 0)
				}
				require.True(t, g.gateway.Ready(1))
				require.Equal(t, map[string]int{"range": 1, "events": 1, "lane": 2, "connection": 2}, g.Actors().Live)
				g.shutDown()
				synctest.Wait()
				require.Zero(t, b.opened(0))
			}, func(g *rig) { b.Driver = g.hardware; g.settings.Driver = b })
		})
	}
}
