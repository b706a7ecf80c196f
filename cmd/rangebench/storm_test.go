package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangebench/figures"
)

// TestMain makes the test's program the processes that an experiment starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
		return
	}
	os.Exit(m.Run())
}

// A small storm: measure fails unless each change that was answered is there once, all links are up again and every
// event has come.
func TestASmallStorm(t *testing.T) {
	report := &figures.Report{Begun: time.Now()}
	tried := &trial{experiment: storming, report: report, progress: io.Discard}
	require.NoError(t, stormSize{
		Ranges: 2, Lanes: 5, Rate: 20, Times: 10, Calm: time.Second, Storm: 2 * time.Second, After: time.Second,
		Patience: time.Second, Store: sqliteStore,
	}.measure(t.Context(), tried))
	var rows []string
	for _, f := range report.Figures {
		require.Len(t, f.Ours, 1, f.Name)
		rows = append(rows, strings.TrimPrefix(f.Name, "storm "))
	}
	require.Equal(t, []string{
		"goodput", "back", "during", "attempts", "attempts after", "links", "dials",
		"mailboxes", "unsaved", "queues", "backlog", "level", "memory",
	}, rows)
}

func TestAStormIsOverOnceItIsAsBefore(t *testing.T) {
	w := &stormFixture{stormSize: stormSize{Calm: 2 * time.Second, Storm: 3 * time.Second}}
	called := stormCalled{
		Begun:     []float64{10, 10, 100, 100, 100, 10, 10, 10, 10, 10},
		Attempts:  []float64{10, 10, 150, 150, 300, 10, 10, 10, 10, 10},
		Good:      []float64{10, 10, 5, 0, 0, 5, 10, 10, 10, 9},
		Completed: []float64{10, 10, 50, 40, 30, 100, 100, 10, 10, 10},
	}
	samples := []stormSample{{At: time.Second, Mailboxes: 5}}
	for i, mailboxes := range []float64{9000, 8000, 200, 4, 200, 4, 4, 4, 4} {
		at := 4*time.Second + time.Duration(i)*time.Second/2
		samples = append(samples, stormSample{At: at, Mailboxes: mailboxes, Waiting: 7})
	}
	figure := map[string]figures.Figure{}
	seen := stormSeen{samples: samples, redial: redialling{3, 4}}
	for _, f := range w.rows(stormCalled{PerSecond: 80}, called, redialling{1, 2}, seen) {
		figure[f.Name] = f
	}
	for name, want := range map[string]float64{
		"goodput": 9, "back": 1, "during": 40, "attempts": 2, "attempts after": 1, "links": 3, "dials": 4,
		"mailboxes": 9000, "queues": 3, "backlog": 7,
	} {
		require.InDelta(t, want, figure[name].Ours[0], 1e-9, name)
	}
	ratio, _ := figure["during"].Ratio()
	require.InDelta(t, 0.5, ratio, 1e-9)
}
