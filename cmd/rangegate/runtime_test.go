package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/link/websocket"
	"rangegate/test/support"
)

const networkRange = `
environment: playground
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: Demo range
    token: 22222222-2222-4222-8222-222222222222
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
      - {id: 44444444-4444-4444-8444-000000000001, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001}
      - {id: 44444444-4444-4444-8444-000000000002, name: Lane 2, bay: 55555555-5555-4555-8555-000000000001,
         link: {driver: websocket, address: "ws://%[1]s/lane?n=2", key: 4GhZ9qJ0sX2vB7nM1cL5kW}}
      - {id: 44444444-4444-4444-8444-000000000003, name: Lane 3, bay: 55555555-5555-4555-8555-000000000001,
         link: {driver: websocket, address: "ws://%[1]s/lane?n=3"}}
      - {id: 44444444-4444-4444-8444-000000000004, name: Lane 4, bay: 55555555-5555-4555-8555-000000000001,
         link: {driver: websocket, address: "ws://192.0.2.1:7400/lane"}}
      - {id: 44444444-4444-4444-8444-000000000005, name: Lane 5, bay: 55555555-5555-4555-8555-000000000001,
         link: {driver: websocket, address: "wss://127.0.0.1:7400/lane"}}
`

func lane(i int) link.Lane {
	return link.Lane{
		Range: uuid.MustParse("11111111-1111-4111-8111-111111111111"),
		ID:    uuid.MustParse(fmt.Sprintf("44444444-4444-4444-8444-%012d", i)), Epoch: 1,
	}
}

// Every lane is dialled with its own driver; lanesim answers for the websocket lanes.
func TestLinksReachLanesim(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rangegate.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, networkRange, support.FreeAddress(t)), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	out, prints := io.Pipe()
	var log strings.Builder
	done := make(chan error, 1)
	go func() {
		done <- laneSim{Config: file, Every: time.Hour}.Run(&terminal{ctx: ctx, out: prints, log: &log})
		_ = prints.Close()
	}()
	var printed []string
	for lines := bufio.NewScanner(out); len(printed) < 3 && lines.Scan(); {
		printed = append(printed, lines.Text())
	}
	require.Len(t, printed, 3, log.String())
	assert.Contains(t, printed[0], "/lane?n=2\tLane 2")
	assert.Equal(t, "answering as the controllers of 2 lanes", printed[2])
	assert.Contains(t, log.String(), "Lane 4 (44444444-4444-4444-8444-000000000004) at ws://192.0.2.1:7400/lane: is not an address of this machine")
	assert.Contains(t, log.String(), "Lane 5 (44444444-4444-4444-8444-000000000005) at wss://127.0.0.1:7400/lane: wants --certificate and --key")

	cfg, err := config.Load(file, nil)
	require.NoError(t, err)
	clock, err := clock.NewSystem()
	require.NoError(t, err)
	s := &service{clock: clock, hardware: sim.New(clock.Now), counts: metrics.New(prometheus.NewRegistry())}
	driver := s.driver(cfg.Ranges[0], websocket.TLS{})
	for i := 1; i <= 3; i++ {
		conn, hello, err := driver.Dial(t.Context(), lane(i), ignoringReceiver{})
		require.NoError(t, err, "lane %d", i)
		assert.NotEmpty(t, hello.LogID)
		conn.Close()
	}
	_, _, err = driver.Dial(t.Context(), lane(9), ignoringReceiver{})
	assert.ErrorContains(t, err, "no link is configured")

	stop()
	require.NoError(t, <-done)
	_, _, err = driver.Dial(t.Context(), lane(2), ignoringReceiver{})
	assert.Error(t, err)
}

func TestTheCAFileMustBeReadable(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(notPEM, []byte("no certificate"), 0o600))
	for _, file := range []string{notPEM, notPEM + ".missing"} {
		_, _, err := (&service{}).build(config.Config{Ranges: []config.Range{{LinkTLS: config.LinkTLS{CA: file}}}}, nil)
		assert.ErrorAs(t, err, &misconfigured{})
		assert.ErrorContains(t, err, "ranges[0].link_tls.ca: ")
	}
}

func TestLanesimRefusesBadFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rangegate.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, networkRange, support.FreeAddress(t)), 0o600))
	for want, s := range map[string]laneSim{
		"no such fault: sneeze": {Config: file, Faults: []string{"drop", "sneeze"}, Every: time.Minute},
		"--every":               {Config: file, Faults: []string{"all", "drop"}[1:]},
		"--certificate, --key":  {Config: file, Certificate: "nowhere.pem", Every: time.Minute},
		"nowhere.yaml":          {Config: "nowhere.yaml"},
	} {
		err := s.Run(&terminal{ctx: t.Context(), out: io.Discard, log: io.Discard})
		assert.ErrorAs(t, err, &misconfigured{})
		assert.ErrorContains(t, err, want)
	}
}

type ignoringReceiver struct{}

func (ignoringReceiver) Applied(uint64)        {}
func (ignoringReceiver) Reported(lanes.Report) {}
func (ignoringReceiver) Down(error)            {}
