package actors

import (
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A controller reports and reports while the store is away. The lane keeps so many of them, closes its fire line when it is
// told to, and hears the rest when the store is back: all of them, once, in order.
func TestMoreReportsThanALaneKeeps(t *testing.T) {
	const many = maxReports + 100
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			s := &switchboard{}
			onLine(t, s, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				tell := func(line *openLine, from uint64) {
					for seq := from; seq <= many; seq++ {
						line.to.Reported(help(session, seq))
					}
					synctest.Wait()
				}
				g.store.hook(outage)
				first := s.newest()
				tell(first, 1)
				tell(first, 1) // and all of it again
				require.Empty(t, first.acked())
				_ = g.tryPause(session)
				synctest.Wait()
				told := first.told()
				require.Equal(t, lanes.Paused, told[len(told)-1].Session.Phase)

				g.storeReturns()
				acked := first.acked()
				heard := acked[len(acked)-1].Seq
				require.LessOrEqual(t, heard, uint64(maxReports+1), "one was on its way to the store")
				g.pass(lastBackoff)
				require.True(t, first.isClosed())
				tell(s.newest(), heard+1)
				acked = s.newest().acked()
				require.Equal(t, uint64(many), acked[len(acked)-1].Seq)
				require.Equal(t, many, countKind(g.happened(session), lanes.Help))
				tell(s.newest(), 1)
				g.pass(lastBackoff)
				require.Equal(t, many, countKind(g.happened(session), lanes.Help))
				require.False(t, s.newest().isClosed())
			})
		})
	}
}

func help(session uuid.UUID, seq uint64) lanes.Report {
	return lanes.Report{Log: lanes.Log{ID: "log", Seq: seq}, Kind: lanes.ReportHelp, Session: session}
}
