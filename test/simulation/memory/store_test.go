package memory

import (
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Bench { return bench{NewServer()} })
}

func TestSignIns(t *testing.T) {
	server := NewServer()
	storetest.RunSignIns(t, func(*testing.T) store.SignIns { return server.Open(store.Retention{}).SignIns() })
}

type bench struct{ server *Server }

func (b bench) Open(_ *testing.T, r store.Retention) store.Store { return b.server.Open(r) }

func (b bench) Where() string { return where }

func (b bench) Copy(*testing.T) (restore func()) { return b.server.Copy() }

func (b bench) Wipe(*testing.T) { b.server.Wipe() }

func (b bench) Overwrite(t *testing.T, named storetest.Record, data []byte) {
	r := b.server.data.ranges[named.Range]
	inLog := func(l log) {
		cursor, err := strconv.ParseUint(named.Name, 10, 64)
		require.NoError(t, err)
		for i := range l {
			if l[i].cursor == cursor {
				l[i].record = data
			}
		}
	}
	switch named.Kind {
	case storetest.Checkpoint:
		r.checkpoint = data
	case storetest.Holds:
		r.holds = data
	case storetest.Lane:
		r.lanes[uuid.MustParse(named.Name)] = data
	case storetest.Key:
		r.keys[named.Name] = data
	case storetest.Event:
		inLog(r.events)
	case storetest.Ended:
		inLog(r.ended)
	case storetest.Act:
		inLog(r.acts)
	}
}
