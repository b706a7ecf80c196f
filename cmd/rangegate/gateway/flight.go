package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"

	"rangegate/api"
	"rangegate/config"
)

// The bounds of what the flight recorder keeps and writes.
const (
	flightAge   = 10 * time.Second
	flightBytes = 16 << 20 // of memory; a busy gateway fills them in less than flightAge
	flightLate  = 5 * time.Millisecond
	flightPause = 10 * time.Minute // between two dumps
	flightFiles = 3                // the newest ones are kept
)

// recording is a trace.FlightRecorder that runs.
type recording interface {
	WriteTo(w io.Writer) (int64, error)
	Stop()
}

// startRecording starts the flight recorder of the process. The runtime has one: an error says that it is taken.
func startRecording() (recording, error) {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: flightAge, MaxBytes: flightBytes})
	return recorder, recorder.Start()
}

// flightRecorder keeps what the Go runtime did in the newest seconds, and dumps it when a session was stopped late at
// its end: what the goroutines, the processors and the garbage collector did instead is in it. It implements
// metrics.LateStops and api.Flight.
type flightRecorder struct {
	folder string // of the dumps; empty: the newest one is in memory alone
	start  func() (recording, error)
	dumps  *prometheus.CounterVec
	log    zerolog.Logger

	on     atomic.Bool
	wanted chan lateStop // the oldest one that nobody has looked at

	mu        sync.Mutex
	recording recording // nil: off
	dumped    time.Time
	newest    flightDump // where there is no folder
}

// lateStop is the stop of a session that reached its link late.
type lateStop struct {
	lane uuid.UUID
	late time.Duration
}

type flightDump struct {
	api.FlightDump
	content []byte
}

// newFlightRecorder returns one that is off.
func newFlightRecorder(folder string, registry prometheus.Registerer, log zerolog.Logger) *flightRecorder {
	f := &flightRecorder{
		folder: folder, start: startRecording, log: log, wanted: make(chan lateStop, 1),
		dumps: promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "flight_dumps_total",
			Help: "Dumps of the flight recorder, because a session was stopped more than 5 ms late at its end, by " +
				"what became of them: written or failed. At most one in 10 minutes; none without " +
				"operations.flight_recorder. Normal is none.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{"written", "failed"} {
		f.dumps.WithLabelValues(outcome)
	}
	return f
}

// flightFolder is where dumps are kept: beside the SQLite file, else in the folder for the data of the service; empty
// where there is neither.
func flightFolder(store config.Store, state string) string {
	switch {
	case store.SQLite != "":
		return filepath.Join(filepath.Dir(store.SQLite), "flight")
	case state != "":
		return filepath.Join(state, "flight")
	default:
		return ""
	}
}

// startFlightRecorder makes the recorder, which the runtime turns on.
func (g *Gateway) startFlightRecorder(context.Context) error {
	folder := flightFolder(g.settings.Config.Store, g.settings.State)
	g.recorder = newFlightRecorder(folder, g.registry, g.log)
	g.counts.LateStops = g.recorder
	dumping, stop := context.WithCancel(g.life)
	var dumps sync.WaitGroup
	dumps.Go(func() { g.recorder.run(dumping) })
	g.onClose(func() error {
		stop()
		dumps.Wait()
		g.recorder.turn(false)
		return nil
	})
	return nil
}

// turn turns the recorder on or off. One that cannot be turned on stays off, as with several gateways in a process.
func (f *flightRecorder) turn(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case on == (f.recording != nil):
	case on:
		started, err := f.start()
		if err != nil {
			f.log.Warn().Err(err).Msg("the flight recorder is off: it could not be turned on")
			return
		}
		f.recording = started
	default:
		f.recording.Stop()
		f.recording = nil
	}
	f.on.Store(on)
}

// Late implements metrics.LateStops. It never blocks.
func (f *flightRecorder) Late(lane uuid.UUID, late time.Duration) {
	if late <= flightLate || !f.on.Load() {
		return
	}
	select {
	case f.wanted <- lateStop{lane, late}:
	default: // one is about to be looked at
	}
}

// run dumps until ctx ends.
func (f *flightRecorder) run(ctx context.Context) {
	for {
		select {
		case stop := <-f.wanted:
			f.dump(stop)
		case <-ctx.Done():
			return
		}
	}
}

// dump writes what is recorded, unless it has done so of late.
func (f *flightRecorder) dump(stop lateStop) {
	f.mu.Lock()
	defer f.mu.Unlock()
	began := time.Now()
	if f.recording == nil || !f.dumped.IsZero() && began.Sub(f.dumped) < flightPause {
		return
	}
	f.dumped = began
	var content bytes.Buffer
	dump := api.FlightDump{Name: flightName + began.UTC().Format(flightTime) + flightEnding, At: began.UTC()}
	_, err := f.recording.WriteTo(&content)
	if dump.Bytes = content.Len(); err == nil {
		err = f.save(dump, content.Bytes())
	}
	outcome, line := "written", f.log.Warn()
	if err != nil {
		outcome, line = "failed", f.log.Error().Err(err)
	}
	f.dumps.WithLabelValues(outcome).Inc()
	line.Stringer("lane_id", stop.lane).Dur("late_ms", stop.late).Str("folder", f.folder).Str("file", dump.Name).
		Int("bytes", dump.Bytes).Dur("duration_ms", time.Since(began)).
		Msg("a session was stopped late at its end: dump of the flight recorder")
}

// The name of a dump in its folder: the time, in UTC, is between these.
const (
	flightName   = "flight-"
	flightTime   = "20060102-150405.000"
	flightEnding = ".trace"
)

// save keeps the dump, and the newest ones before it.
func (f *flightRecorder) save(dump api.FlightDump, content []byte) error {
	if f.folder == "" {
		f.newest = flightDump{dump, content}
		return nil
	}
	if err := os.MkdirAll(f.folder, 0o700); err != nil {
		return err
	}
	path := filepath.Join(f.folder, dump.Name)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	saved, err := f.saved()
	if err != nil {
		return err
	}
	for _, old := range saved[min(flightFiles, len(saved)):] {
		if err := os.Remove(filepath.Join(f.folder, old.Name)); err != nil {
			return err
		}
	}
	return nil
}

// saved returns the dumps of the folder, the newest first.
func (f *flightRecorder) saved() ([]api.FlightDump, error) {
	dumps := []api.FlightDump{}
	paths, err := filepath.Glob(filepath.Join(f.folder, flightName+"*"+flightEnding))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	slices.Reverse(paths)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		dump := api.FlightDump{Name: info.Name(), Bytes: int(info.Size())}
		moment := strings.TrimSuffix(strings.TrimPrefix(dump.Name, flightName), flightEnding)
		if dump.At, err = time.Parse(flightTime, moment); err == nil {
			dumps = append(dumps, dump)
		}
	}
	return dumps, nil
}

// Dumps implements api.Flight.
func (f *flightRecorder) Dumps() (recording bool, dumps []api.FlightDump, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	recording = f.recording != nil
	switch {
	case f.folder != "":
		dumps, err = f.saved()
	case f.newest.content != nil:
		dumps = []api.FlightDump{f.newest.FlightDump}
	default:
		dumps = []api.FlightDump{}
	}
	return recording, dumps, err
}

// Newest implements api.Flight.
func (f *flightRecorder) Newest() (name string, content []byte, err error) {
	_, dumps, err := f.Dumps()
	if err != nil || len(dumps) == 0 {
		return "", nil, err
	}
	if f.folder != "" {
		content, err = os.ReadFile(filepath.Join(f.folder, dumps[0].Name))
		if err != nil {
			return "", nil, fmt.Errorf("the newest dump of the flight recorder: %w", err)
		}
		return dumps[0].Name, content, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest.Name, f.newest.content, nil
}
