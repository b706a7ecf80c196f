package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/link/websocket"
)

func lane(i int) link.Lane {
	return link.Lane{
		Range: uuid.MustParse("11111111-1111-4111-8111-111111111111"),
		ID:    uuid.MustParse(fmt.Sprintf("44444444-4444-4444-8444-%012d", i)), Epoch: 1,
	}
}

// Every lane is dialled with its own driver: two have controllers on real sockets, one with a key.
func TestEachLaneIsDialledWithItsDriver(t *testing.T) {
	machine, err := clock.NewSystem()
	require.NoError(t, err)
	const key = "4GhZ9qJ0sX2vB7nM1cL5kW"
	hardware, err := lanesim.New(lanesim.Settings{Now: machine.Now},
		lanesim.Lane{ID: lane(2).ID, Listen: "127.0.0.1:0", Key: key},
		lanesim.Lane{ID: lane(3).ID, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer hardware.Close()
	configured := config.Range{ID: lane(1).Range, Lanes: []config.Lane{
		{ID: lane(1).ID, Link: config.Link{Driver: config.DriverSim}},
		{ID: lane(2).ID, Link: config.Link{
			Driver:  config.DriverWebSocket,
			Address: hardware.Controller(lane(2).ID).Address(), Key: key,
		}},
		{ID: lane(3).ID, Link: config.Link{
			Driver:  config.DriverWebSocket,
			Address: hardware.Controller(lane(3).ID).Address(),
		}},
	}}
	g := &Gateway{clock: machine, hardware: sim.New(machine.Now), counts: metrics.New(prometheus.NewRegistry())}
	driver := g.driver(configured, websocket.TLS{})
	for i := 1; i <= 3; i++ {
		conn, hello, err := driver.Dial(t.Context(), lane(i), ignoringReceiver{})
		require.NoError(t, err, "lane %d", i)
		assert.NotEmpty(t, hello.LogID)
		conn.Close()
	}
	_, _, err = driver.Dial(t.Context(), lane(9), ignoringReceiver{})
	assert.ErrorContains(t, err, "no link is configured")
	hardware.Close()
	_, _, err = driver.Dial(t.Context(), lane(2), ignoringReceiver{})
	assert.Error(t, err)
}

func TestTheCAFileMustBeReadable(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(notPEM, []byte("no certificate"), 0o600))
	for _, file := range []string{notPEM, notPEM + ".missing"} {
		g := &Gateway{}
		g.settings.Places = func() config.Places {
			return placesIn(t, map[string]config.Position{"ranges[0].link_tls.ca": in(9, 20)})
		}
		_, _, err := g.build(config.Config{Ranges: []config.Range{{LinkTLS: config.LinkTLS{CA: file}}}}, nil)
		assert.ErrorAs(t, err, &Misconfigured{})
		assert.Regexp(t, `^ranges\[0\]\.link_tls\.ca: .+ \(f:9:20\)$`, err.Error())
	}
}

type ignoringReceiver struct{}

func (ignoringReceiver) Applied(uint64)        {}
func (ignoringReceiver) Reported(lanes.Report) {}
func (ignoringReceiver) Down(error)            {}
