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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
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

// lanesim answers for the websocket lanes whose addresses are of this machine, and says why for the others.
func TestLanesimAnswersForTheLanesOfThisMachine(t *testing.T) {
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
	assert.Contains(t, log.String(), "Lane 4 (44444444-4444-4444-8444-000000000004) at ws://192.0.2.1:7400/lane: "+
		"is not an address of this machine")
	assert.Contains(t, log.String(), "Lane 5 (44444444-4444-4444-8444-000000000005) at wss://127.0.0.1:7400/lane: "+
		"wants --certificate and --key")

	stop()
	require.NoError(t, <-done)
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
		assert.ErrorAs(t, err, &gateway.Misconfigured{})
		assert.ErrorContains(t, err, want)
	}
}
