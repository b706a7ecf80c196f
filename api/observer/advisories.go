package observer

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/routing"
	"rangegate/api/screens"
)

// AdvisorySettings is what advisories are made of. The functions tell what is in force when they are called.
type AdvisorySettings struct {
	Ranges func() []uuid.UUID
	// Range and Router are those of Settings.
	Range     func(id uuid.UUID) (Range, error)
	Router    *routing.Router
	RangeName func(id uuid.UUID) string // as it is configured
	Readings  func() Readings
	Node      string // the name of this node, empty without nodes
	Log       zerolog.Logger
}

// Advisories looks at every actor of this node and at the gateway once a second, and keeps what is not as it should
// be: what is, and what was of late. It outlives a reload. Its methods may be called from any goroutine.
type Advisories struct {
	AdvisorySettings
	looks   looks
	open    *prometheus.GaugeVec
	waiting screens.Slots // requests

	mu      sync.Mutex
	signs   *signs
	tracker *tracker
	changed chan struct{} // closed with the next change
}

// maxWaitingFor is how many requests may wait for an advisory at a time.
const maxWaitingFor = 100

// NewAdvisories registers the metric. It looks at nothing before Run.
func NewAdvisories(settings AdvisorySettings, registry prometheus.Registerer) *Advisories {
	a := &Advisories{
		AdvisorySettings: settings, signs: newSigns(), tracker: newTracker(time.Now()), changed: make(chan struct{}),
		waiting: make(screens.Slots, maxWaitingFor),
		open: promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "advisories_open",
			Help: "Open advisories by their code: what is not as it should be, by the gateway's own judgement. " +
				"GET /advisories has each of them. Normal is 0.",
		}, []string{"code"}),
	}
	for code := range advisoryRules {
		a.open.WithLabelValues(string(code))
	}
	a.looks.take = lookAtAll(settings.Ranges, settings.Range, settings.Router)
	return a
}

// A look at many lanes takes some time, which is to be a hundredth at most of what goes by.
const (
	lookShare = 100
	lookEvery = 10 * time.Second // a look is taken no later than that after the one before
)

// Run looks until ctx ends: once a second, or less often where a look takes long.
func (a *Advisories) Run(ctx context.Context) {
	next := time.NewTimer(refreshEvery)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			began := time.Now()
			a.update()
			next.Reset(min(max(lookShare*time.Since(began), refreshEvery), lookEvery))
		case <-ctx.Done():
			return
		}
	}
}

// update compares what is with what was, and logs each change. A defect costs no more than this comparison.
func (a *Advisories) update() {
	defer func() {
		if defect := recover(); defect != nil {
			a.Log.Error().Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).
				Msg("the advisories could not be brought up to date")
		}
	}()
	readings := a.Readings()
	a.looks.read(func(newest look) { a.compare(newest, readings) })
}

// compare is update with a look. a.mu is not held while that is taken: who reads the advisories does not wait for it.
func (a *Advisories) compare(newest look, readings Readings) {
	a.mu.Lock()
	defer a.mu.Unlock()
	changed := a.tracker.compare(newest.at, a.signs.conditions(newest, readings, a.RangeName))
	for i := range changed {
		a.record(&changed[i])
	}
	if len(changed) > 0 {
		close(a.changed)
		a.changed = make(chan struct{})
	}
}

// record logs and counts a change. a.mu is held.
func (a *Advisories) record(of *Advisory) {
	line, message := a.Log.Warn(), "an advisory begins"
	switch {
	case !of.EndedAt.IsZero():
		line, message = a.Log.Info().Dur("lasted", of.EndedAt.Sub(of.since)), "an advisory ends"
		a.open.WithLabelValues(string(of.code)).Dec()
	case of.Sequence != of.ID:
		message = "an advisory stands for more"
	default:
		a.open.WithLabelValues(string(of.code)).Inc()
	}
	line = line.Str("code", string(of.code)).Str("severity", string(advisoryRules[of.code].severity)).
		Uint64("advisory", of.ID)
	if of.rangeID != uuid.Nil {
		line = line.Stringer("range_id", of.rangeID).Str("range", of.rangeName)
	}
	if of.lane != uuid.Nil {
		line = line.Stringer("lane_id", of.lane).Str("lane", of.laneName)
	}
	for name, value := range map[string]string{"kind": of.kind, "webhook": of.webhook, "address": of.address} {
		if value != "" {
			line = line.Str(name, value)
		}
	}
	line.Time("since", of.since).Str("sentence", of.sentence).Msg(message)
}

// advisoriesView is the answer of GET /advisories.
type advisoriesView struct {
	At         string         `json:"at"`
	Node       string         `json:"node"`
	Sequence   uint64         `json:"seq"`
	Missed     bool           `json:"missed"`
	Advisories []advisoryView `json:"advisories"`
}

// advisoryView names no customer.
type advisoryView struct {
	ID        uint64       `json:"id"`
	Sequence  uint64       `json:"seq"`
	At        string       `json:"at"`
	Code      AdvisoryCode `json:"code"`
	Severity  Severity     `json:"severity"`
	Range     *uuid.UUID   `json:"range_id"`
	RangeName string       `json:"range_name"`
	Lane      *uuid.UUID   `json:"lane_id"`
	LaneName  string       `json:"lane_name"`
	Kind      string       `json:"kind"`
	Webhook   string       `json:"webhook"`
	Address   string       `json:"address"`
	Others    int          `json:"others"`
	Node      string       `json:"node"`
	Since     string       `json:"since"`
	Sentence  string       `json:"sentence"`
	EndedAt   *string      `json:"ended_at"`
}

// wantedAdvisories is which of them a client wants.
type wantedAdvisories struct {
	after    uint64
	wait     time.Duration
	openOnly bool
	rangeID  uuid.UUID // uuid.Nil: of all, and of none
}

const maxAdvisoryWait = 60 // seconds

func readAdvisories(in *endpoint.Input) wantedAdvisories {
	return wantedAdvisories{
		after: in.QueryCursor("after", "Only those that have changed since the answer with that seq"),
		wait: time.Duration(in.QueryLimit("wait", 0, maxAdvisoryWait, 0, "Seconds to wait at most for one of them")) *
			time.Second,
		openOnly: in.QueryOneOf("open", "false", "Only those that have not ended", "true", "false") == "true",
		rangeID:  in.QueryOptionalID("range", "Only those about that range"),
	}
}

// of returns those that are wanted, in the order of their changes.
func (a *Advisories) of(w wantedAdvisories) (v advisoriesView, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.tracker.open()
	if !w.openOnly {
		all = append(append([]Advisory{}, a.tracker.ended...), all...)
		slices.SortFunc(all, func(x, y Advisory) int { return cmp.Compare(x.Sequence, y.Sequence) })
	}
	v = advisoriesView{
		At: endpoint.Stamp(time.Now()), Node: a.Node, Sequence: a.tracker.sequence, Advisories: []advisoryView{},
		Missed: w.after > 0 && w.after < a.tracker.forgotten,
	}
	if w.after > v.Sequence { // of a run whose clock was ahead
		w.after, v.Missed = 0, true
	}
	for i := range all {
		if of := &all[i]; of.Sequence > w.after && (w.rangeID == uuid.Nil || of.rangeID == w.rangeID) {
			v.Advisories = append(v.Advisories, a.view(of))
		}
	}
	return v, a.changed
}

func (a *Advisories) view(of *Advisory) advisoryView {
	v := advisoryView{
		ID: of.ID, Sequence: of.Sequence, At: endpoint.Stamp(of.At), Code: of.code,
		Severity: advisoryRules[of.code].severity,
		Range:    endpoint.Optional(of.rangeID), RangeName: of.rangeName, Lane: endpoint.Optional(of.lane),
		LaneName: of.laneName,
		Kind:     of.kind, Webhook: of.webhook, Address: of.address, Others: of.count, Node: a.Node,
		Since: endpoint.Stamp(of.since), Sentence: of.sentence,
	}
	if !of.EndedAt.IsZero() {
		v.EndedAt = new(endpoint.Stamp(of.EndedAt))
	}
	return v
}

// awaitAdvisories returns once there is an advisory that is wanted, the time to wait is over, or the configuration is
// another one.
func (s *observerOf) awaitAdvisories(ctx context.Context, w wantedAdvisories) error {
	if err := s.knows(w.rangeID); err != nil || w.wait == 0 {
		return err
	}
	began, enough := time.Now(), time.NewTimer(w.wait)
	defer enough.Stop()
	if !s.Advisories.waiting.TryAcquire() {
		return screens.Overloaded("requests wait for advisories")
	}
	defer s.Advisories.waiting.Release()
	defer func() {
		if i := request.Of(ctx); i != nil {
			i.Waited = time.Since(began)
		}
	}()
	for {
		view, changed := s.Advisories.of(w)
		if len(view.Advisories) > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-enough.C:
			return nil
		case <-s.Closing:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *observerOf) advisories(_ context.Context, w wantedAdvisories) (advisoriesView, error) {
	if err := s.knows(w.rangeID); err != nil {
		return advisoriesView{}, err
	}
	view, _ := s.Advisories.of(w)
	return view, nil
}

// ofAdvisoryQuery is ofQuery for advisories, which may be waited for.
func (s *observerOf) ofAdvisoryQuery(r *http.Request) (uuid.UUID, routing.Way) {
	id, way := s.ofQuery(r)
	if r.URL.Query().Has("wait") {
		way = routing.OperationWaiting
	}
	return id, way
}
