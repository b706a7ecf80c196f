package observer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// story shows a tracker the seconds one after the other.
type story struct {
	*tracker
	now time.Time
}

func newStory() *story { return &story{newTracker(noon), noon} }

// second shows the conditions of the next second, and returns what has changed, a word each.
func (s *story) second(conditions ...condition) (changes []string) {
	s.now = s.now.Add(time.Second)
	for _, a := range s.compare(s.now, conditions) {
		what := "begins"
		switch {
		case !a.EndedAt.IsZero():
			what = "ends"
		case a.Sequence != a.ID:
			what = "grows"
		}
		changes = append(changes, fmt.Sprintf("%s %s%s", a.code, map[bool]string{true: "of others "}[a.others], what))
	}
	return changes
}

// seconds shows the same for so many seconds.
func (s *story) seconds(n int, conditions ...condition) (changes []string) {
	for range n {
		changes = append(changes, s.second(conditions...)...)
	}
	return changes
}

// ofLane is a condition of the n-th lane of the n-th range.
func ofLane(code AdvisoryCode, rangeNumber, n int) condition {
	return condition{
		subject: subject{
			code: code, kind: "lane", rangeID: uuid.UUID{15: byte(rangeNumber + 1)},
			lane: uuid.UUID{14: byte(n >> 8), 15: byte(n), 0: byte(rangeNumber + 1)},
		},
		sentence: "It is so.",
	}
}

// What lasts becomes an advisory, once, and what is over for a while has ended.
func TestAConditionThatLastsIsOneAdvisory(t *testing.T) {
	s, down := newStory(), ofLane(LinkDown, 0, 1)
	require.Empty(t, s.seconds(20, down), "it has not lasted for 20 s before the next look")
	require.Equal(t, []string{"link_down begins"}, s.seconds(600, down))
	open := s.open()
	require.Len(t, open, 1)
	require.Equal(t, noon.Add(time.Second), open[0].since)
	require.Empty(t, s.seconds(4))
	require.Equal(t, []string{"link_down ends"}, s.seconds(600))
	require.Empty(t, s.open())
	require.Equal(t, s.ended[0].ID+1, s.ended[0].Sequence)
	require.Empty(t, s.states, "nothing is kept of it but the advisory")
}

// What comes and goes floods nobody: it is none while it does not last, and one while it is never gone for long.
func TestWhatComesAndGoesFloodsNobody(t *testing.T) {
	s, down, parked := newStory(), ofLane(LinkDown, 0, 1), ofLane(LaneParked, 0, 1)
	var changes []string
	for range 300 {
		changes = append(changes, s.second(down, parked)...)
		changes = append(changes, s.second()...)
	}
	require.Equal(t, []string{"lane_parked begins"}, changes)
}

// A switch that fails takes 5,000 lanes with it: some of them are named, and one advisory counts the others. It is
// told again only when they have become twice as many, and ends when they are back.
func TestAnAdvisoryStandsForMany(t *testing.T) {
	s := newStory()
	var all []condition
	for n := range 5000 {
		all = append(all, ofLane(LaneParked, 0, n))
	}
	changes := s.second(all[:25]...)
	require.Len(t, changes, maxOfRange+1)
	require.Equal(t, "lane_parked of others begins", changes[maxOfRange])
	require.Equal(t, 5, s.open()[maxOfRange].count)
	require.Empty(t, s.second(all[:29]...))
	require.Equal(t, []string{"lane_parked of others grows"}, s.seconds(60, all...))
	open := s.open()
	require.Equal(t, 5000-maxOfRange, open[len(open)-1].count)
	require.Equal(t, "So 4980 more lanes are: the observer shows each of them.", open[len(open)-1].sentence)
	require.Empty(t, s.seconds(60, all[1:]...)[1:], "the others stay together, although one more could be named")
	require.Len(t, s.seconds(60), maxOfRange)
	require.Empty(t, s.open())
}

// However many lanes of however many ranges it is, and however often: what is kept is bounded.
func TestAdvisoriesAreBounded(t *testing.T) {
	s := newStory()
	var all []condition
	for of := range 200 {
		for n := range 50 {
			all = append(all, ofLane(LaneParked, of, n))
		}
	}
	for range 50 {
		s.seconds(2, all...)
		require.LessOrEqual(t, len(s.open()), maxOfCode+200)
		s.seconds(8)
		require.Empty(t, s.open())
	}
	require.Len(t, s.ended, maxEnded)
	require.NotZero(t, s.forgotten)
}

// gatewayOf is what a test shows the signs, a second each.
type gatewayOf struct {
	*signs
	readings Readings
	actors   []lanes.Observed
	now      time.Time
}

func newGatewayOf() *gatewayOf { return &gatewayOf{signs: newSigns(), now: noon} }

// codes are those of the conditions after so many seconds.
func (g *gatewayOf) codes(after int) (codes string) {
	for range after {
		g.now = g.now.Add(time.Second)
		l := look{at: g.now}
		for _, actor := range g.actors {
			l.actors = append(l.actors, observed{actor, uuid.UUID{15: 1}, "North"})
		}
		codes = ""
		for _, c := range g.conditions(l, g.readings, func(uuid.UUID) string { return "North" }) {
			codes += " " + string(c.code)
			if c.rangeName == "" && c.rangeID != uuid.Nil || c.text(g.now) == "" {
				codes += " without a name or a sentence"
			}
		}
	}
	return strings.TrimSpace(codes)
}

// Each reason of an actor is an advisory of its own, also when a more urgent one hides it in the table; what is normal
// for a while is none.
func TestEachReasonIsACondition(t *testing.T) {
	lane := uuid.New()
	for code, want := range map[lanes.WhyCode]AdvisoryCode{
		lanes.WhyStoreDown: StoreDown, lanes.WhyNotRunning: RangeNotRunning, lanes.WhyParked: LaneParked,
		lanes.WhyHold:   HoldUnconfirmed,
		lanes.WhyAtHand: ActorBlocked, lanes.WhySaving: NotSaved, lanes.WhyUnsaved: NotSaved,
		lanes.WhyGone:    WebhookGone,
		lanes.WhyFailing: WebhookFailing, lanes.WhyFault: HardwareFault, lanes.WhyContested: ControllerContested,
		lanes.WhyDials: LinkDown, lanes.WhyDialling: LinkDown, lanes.WhyAwaits: LinkDown, lanes.WhyKeys: KeysRunOut,
		lanes.WhyBehind: WebhookBehind, lanes.WhyBacklog: RequestsWait, lanes.WhyStarting: LaneNotLoaded,
		lanes.WhyMoving:   LaneReserved,
		lanes.WhyTogether: LaneReserved, lanes.WhyPurchases: PurchasesUnresolved,
		lanes.WhyRetrying: "", lanes.WhyRestarted: "",
	} {
		g := newGatewayOf()
		g.actors = []lanes.Observed{{
			Kind: "lane", Lane: lane, Name: "Lane 1", Why: &lanes.Why{Code: lanes.WhyParked},
			Also: []lanes.Why{{Code: code, Since: noon}},
		}}
		require.Equal(t, strings.TrimSpace("lane_parked "+string(want)), g.codes(1), code)
	}
	require.Len(t, lanes.Urgency, 23, "a new reason is one of these, or is said here to be none")
}

// What a webhook does not get although it should is told for ten minutes; each webhook is told of alone.
func TestEventsThatAreLostAreTold(t *testing.T) {
	g := newGatewayOf()
	pos, books := lanes.Observed{Kind: "events", Webhook: "pos"}, lanes.Observed{Kind: "events", Webhook: "books"}
	g.actors = []lanes.Observed{pos, books}
	require.Empty(t, g.codes(1))
	g.actors[0].Lost.GivenUp, g.actors[1].Lost.Dropped = 2, 1
	require.Equal(t, "events_given_up events_dropped", g.codes(1))
	require.Equal(t, "events_given_up events_dropped", g.codes(590))
	g.actors[1].Lost.Dropped = 2
	require.Equal(t, "events_dropped", g.codes(20))
	require.Empty(t, g.codes(600))
}

// A controller that is faulty is not one that cannot be reached.
func TestAFaultyLinkIsNotOneThatIsDown(t *testing.T) {
	g := newGatewayOf()
	g.actors = []lanes.Observed{{
		Kind: "connection", Lane: uuid.New(), State: string(lanes.LinkFaulty),
		Why: &lanes.Why{Code: lanes.WhyDials},
	}}
	require.Equal(t, "link_faulty", g.codes(1))
}

// A link that comes up anew again and again flaps, although it is up at each look; one that was made anew once does
// not.
func TestALinkFlaps(t *testing.T) {
	g := newGatewayOf()
	g.actors = []lanes.Observed{{Kind: "connection", Lane: uuid.New(), State: string(lanes.LinkUp), Since: noon}}
	reconnect := func() { g.actors[0].Since = g.now }
	require.Empty(t, g.codes(10))
	for range 2 {
		reconnect()
		require.Empty(t, g.codes(20))
	}
	reconnect()
	require.Equal(t, "link_flapping", g.codes(1))
	require.Equal(t, "link_flapping", g.codes(60), "the first two were 100 s ago")
	require.Empty(t, g.codes(60))
	require.Equal(t, "", g.codes(300))
	require.Empty(t, g.links, "nothing is kept of it")
}

// One panic is told for ten minutes; several within a minute are a loop. A range that is started anew counts anew.
func TestPanicsAreToldAndTheirLoop(t *testing.T) {
	g := newGatewayOf()
	g.actors = []lanes.Observed{{Kind: "lane", Lane: uuid.New()}}
	count := &g.actors[0].Panics.Count
	require.Empty(t, g.codes(5))
	*count = 1
	require.Equal(t, "panicked", g.codes(10))
	*count = 3
	require.Equal(t, "panic_loop panicked", g.codes(1))
	require.Equal(t, "panicked", g.codes(120))
	require.Empty(t, g.codes(600))
	*count = 1
	require.Equal(t, "panicked", g.codes(1), "of the range that was started anew")
}

// What is counted of the gateway is an advisory while it grows.
func TestTheReadingsOfTheGateway(t *testing.T) {
	someRange := uuid.UUID{15: 1}
	for name, test := range map[string]struct {
		happen func(r *Readings)
		want   string
		gone   int // seconds later there is none
	}{
		"slow flushes":         {func(r *Readings) { r.Flushes, r.SlowFlushes = 20, 3 }, "store_slow", 60},
		"few slow flushes":     {func(r *Readings) { r.Flushes, r.SlowFlushes = 10, 2 }, "", 1},
		"slow ones among many": {func(r *Readings) { r.Flushes, r.SlowFlushes = 1000, 20 }, "", 1},
		"a POS that floods": {
			func(r *Readings) { r.Limited = map[uuid.UUID]uint64{someRange: 500} },
			"requests_limited", 60,
		},
		"a POS that is impatient": {func(r *Readings) { r.Limited = map[uuid.UUID]uint64{someRange: 5} }, "", 1},
		"a products API that fails": {
			func(r *Readings) { r.Products, r.ProductsLost = 5, 3 },
			"products_failing", 600,
		},
		"one that fails of late": {func(r *Readings) { r.Products, r.ProductsLost = 2, 2 }, "", 1},
		"one that fails rarely":  {func(r *Readings) { r.Products, r.ProductsLost = 7, 3 }, "", 1},
		"too many requests":      {func(r *Readings) { r.Overloaded = 1 }, "overloaded", 60},
		"a clock that is set":    {func(r *Readings) { r.ClockSteps = 1 }, "clock_stepped", 660},
		"a machine that slept":   {func(r *Readings) { r.Suspends = 1 }, "machine_suspended", 660},
		"a range that is lost": {
			func(r *Readings) { r.Lost = map[uuid.UUID]uint64{someRange: 1} },
			"range_lost", 660,
		},
		"a range that is taken": {
			func(r *Readings) { r.TakenOver = map[uuid.UUID]uint64{someRange: 1} },
			"range_taken_over", 660,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGatewayOf()
			require.Empty(t, g.codes(100))
			test.happen(&g.readings)
			require.Equal(t, test.want, g.codes(1))
			require.Equal(t, test.want, g.codes(20))
			require.Empty(t, g.codes(test.gone))
		})
	}
	for name, test := range map[string]struct {
		r    Readings
		want string
	}{
		"a clock ahead":    {Readings{ClockAhead: 300 * time.Millisecond}, "clock_offset"},
		"a clock behind":   {Readings{ClockAhead: -3 * time.Second}, "clock_offset"},
		"a clock in order": {Readings{ClockAhead: 20 * time.Millisecond}, ""},
		"no lease":         {Readings{LeaseNotHeld: true}, "lease_not_held"},
		"a refused reload": {Readings{ReloadFailed: true}, "reload_failed"},
		"a difference":     {Readings{Differences: 1}, "verify_differences"},
		"a good certificate": {
			Readings{Certificates: []Certificate{{"http", noon, noon.Add(30 * 24 * time.Hour), ""}}},
			"",
		},
		"one that ends " +
			"soon": {
			Readings{Certificates: []Certificate{{"http", time.Time{}, noon.Add(20 * 24 * time.Hour), ""}}},
			"certificate_ends_soon",
		},
		"one that has ended": {
			Readings{Certificates: []Certificate{{"http", time.Time{}, noon, ""}}},
			"certificate_ended",
		},
		"one of tomorrow": {Readings{Certificates: []Certificate{{
			"http", noon.Add(time.Hour),
			noon.Add(900 * time.Hour), "",
		}}}, "certificate_ended"},
		"one that is not taken": {
			Readings{Certificates: []Certificate{{"http", noon, noon.Add(900 * time.Hour), "no such file"}}},
			"certificate_not_taken",
		},
	} {
		g := newGatewayOf()
		g.readings = test.r
		require.Equal(t, test.want, g.codes(1), name)
	}
}

// oneRange is a range with those actors.
type oneRange struct {
	Range
	actors func() []lanes.Observed
}

func (r oneRange) Layout() lanes.Layout               { return lanes.Layout{Name: "North range"} }
func (r oneRange) Observed() iter.Seq[lanes.Observed] { return slices.Values(r.actors()) }

// followed is the advisories of one range whose only lane is as why says.
type followed struct {
	*observerOf
	log      bytes.Buffer
	registry *prometheus.Registry
	why      atomic.Pointer[lanes.Why]
	defect   atomic.Bool
	closing  chan struct{}
}

func follow(t *testing.T) *followed {
	f := &followed{registry: prometheus.NewRegistry(), closing: make(chan struct{})}
	id, lane := uuid.New(), uuid.New()
	settings := Settings{
		Ranges: func() []uuid.UUID { return []uuid.UUID{id} }, Closing: f.closing,
		Range: func(uuid.UUID) (Range, error) {
			return oneRange{actors: func() []lanes.Observed {
				if f.defect.Load() {
					panic("a defect of the look")
				}
				return []lanes.Observed{{Kind: "range"}, {Kind: "lane", Lane: lane, Name: "Lane 7", Why: f.why.Load()}}
			}}, nil
		},
	}
	settings.Advisories = NewAdvisories(AdvisorySettings{
		Ranges: settings.Ranges, Range: settings.Range, Readings: func() Readings { return Readings{} },
		Log:       zerolog.New(&f.log),
		RangeName: func(uuid.UUID) string { return "North range" }, Node: "north-1",
	}, f.registry)
	f.observerOf = &observerOf{Settings: settings}
	go f.Advisories.Run(t.Context())
	return f
}

// ask waits for advisories, and returns them and how long that took.
func (f *followed) ask(t *testing.T, w wantedAdvisories) (advisoriesView, time.Duration) {
	began := time.Now()
	require.NoError(t, f.awaitAdvisories(t.Context(), w))
	took := time.Since(began)
	view, err := f.advisories(t.Context(), w)
	require.NoError(t, err)
	requireSchema(t, view)
	return view, took
}

// counted is the gauge by code, where it is not 0.
func (f *followed) counted(t *testing.T) map[string]float64 {
	families, err := f.registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	require.Len(t, families[0].GetMetric(), len(advisoryRules))
	open := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		if value := metric.GetGauge().GetValue(); value != 0 {
			open[metric.GetLabel()[0].GetValue()] = value
		}
	}
	return open
}

func requireSchema(t *testing.T, view advisoriesView) {
	t.Helper()
	file, err := os.ReadFile("../../docs/advisories.schema.json")
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("advisories.schema.json", document))
	schema, err := compiler.Compile("advisories.schema.json")
	require.NoError(t, err)
	text, err := json.Marshal(view)
	require.NoError(t, err)
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(body), "%s", text)
}

// A long poll ends with the begin and with the end of an advisory, each of which is one line of the log and one step of
// the gauge.
func TestAnAdvisoryIsWaitedForLoggedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		first, took := f.ask(t, wantedAdvisories{})
		require.Zero(t, took)
		require.Empty(t, first.Advisories)
		_, took = f.ask(t, wantedAdvisories{after: first.Sequence, wait: 30 * time.Second})
		require.Equal(t, 30*time.Second, took, "nothing happens")

		f.why.Store(&lanes.Why{Code: lanes.WhyHold, Since: time.Now()})
		begun, took := f.ask(t, wantedAdvisories{after: first.Sequence, wait: time.Minute})
		require.Less(t, took, 10*time.Second)
		require.Len(t, begun.Advisories, 1)
		got := begun.Advisories[0]
		require.Equal(t, []any{HoldUnconfirmed, Critical, "North range", "Lane 7", "lane", "north-1", (*string)(nil)},
			[]any{got.Code, got.Severity, got.RangeName, got.LaneName, got.Kind, got.Node, got.EndedAt})
		require.Contains(t, got.Sentence, "look at the lane")
		require.Equal(t, map[string]float64{"hold_unconfirmed": 1}, f.counted(t))

		f.why.Store(nil)
		ended, _ := f.ask(t, wantedAdvisories{after: begun.Sequence, wait: time.Minute})
		require.Equal(t, got.ID, ended.Advisories[0].ID)
		require.NotNil(t, ended.Advisories[0].EndedAt)
		require.Empty(t, f.counted(t))
		open, _ := f.ask(t, wantedAdvisories{openOnly: true})
		require.Empty(t, open.Advisories)
		all, _ := f.ask(t, wantedAdvisories{})
		require.Len(t, all.Advisories, 1)

		var lines []map[string]any
		for line := range strings.Lines(f.log.String()) {
			var of map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &of))
			require.Equal(t, []any{"hold_unconfirmed", "critical", "North range", "Lane 7", got.Lane.String()},
				[]any{of["code"], of["severity"], of["range"], of["lane"], of["lane_id"]})
			lines = append(lines, of)
		}
		require.Len(t, lines, 2)
		require.Equal(t, []any{"warn", "an advisory begins", "info", "an advisory ends"},
			[]any{lines[0]["level"], lines[0]["message"], lines[1]["level"], lines[1]["message"]})
	})
}

// A long poll ends with a reload; who asks for a sequence of a run whose clock was ahead gets everything; and only so
// many wait.
func TestTheEndsOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		view, took := f.ask(t, wantedAdvisories{after: 1 << 60})
		require.True(t, view.Missed)
		require.Zero(t, took)

		for range maxWaitingFor {
			go func() { _ = f.awaitAdvisories(t.Context(), wantedAdvisories{wait: time.Minute}) }()
		}
		synctest.Wait()
		require.ErrorContains(t, f.awaitAdvisories(t.Context(), wantedAdvisories{wait: time.Minute}),
			"too many requests wait for advisories")
		time.Sleep(30 * time.Second)
		close(f.closing)
		synctest.Wait()
		require.Empty(t, f.Advisories.waiting)
		_, took = f.ask(t, wantedAdvisories{wait: time.Minute})
		require.Zero(t, took)
	})
}

// A defect in a look costs that look.
func TestADefectOfALookEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		f.defect.Store(true)
		time.Sleep(3 * time.Second)
		f.defect.Store(false)
		f.why.Store(&lanes.Why{Code: lanes.WhyParked, Since: time.Now()})
		time.Sleep(3 * time.Second)
		view, _ := f.ask(t, wantedAdvisories{openOnly: true})
		require.Equal(t, LaneParked, view.Advisories[0].Code)
		require.Contains(t, f.log.String(), "a defect of the look")
	})
}

// Looks that take long are taken less often, and often enough.
func TestLooksTakeAHundredthOfTheTime(t *testing.T) {
	for took, want := range map[time.Duration]int{0: 120, 50 * time.Millisecond: 23, time.Second: 11} {
		synctest.Test(t, func(t *testing.T) {
			looks := 0
			a := NewAdvisories(AdvisorySettings{
				Ranges:   func() []uuid.UUID { looks++; time.Sleep(took); return nil },
				Readings: func() Readings { return Readings{} },
			}, prometheus.NewRegistry())
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+took/2)
			defer cancel()
			a.Run(ctx)
			require.InDelta(t, want, looks, 1, took)
		})
	}
}

// The schema and the rules have the same codes, and everything that lasts is named within a minute.
func TestTheSchemaHasEveryCode(t *testing.T) {
	file, err := os.ReadFile("../../docs/advisories.schema.json")
	require.NoError(t, err)
	var schema struct {
		Defs struct {
			Advisory struct {
				Properties struct{ Code struct{ Enum []AdvisoryCode } }
			}
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(file, &schema))
	require.ElementsMatch(t, schema.Defs.Advisory.Properties.Code.Enum, slices.Collect(maps.Keys(advisoryRules)))
	for code, rule := range advisoryRules {
		require.LessOrEqual(t, rule.after, 30*time.Second, code)
	}
}

// 10,000 lanes, of which some hundred are not as they should be, as they are compared each second.
func BenchmarkAdvisoriesOf10000Lanes(b *testing.B) {
	l := look{noon, manyActors(20_000)}
	for i := range l.actors {
		if i%50 != 0 {
			l.actors[i].Why, l.actors[i].Panics = nil, lanes.Panics{}
		}
	}
	s, t := newSigns(), newTracker(noon)
	for b.Loop() {
		l.at = l.at.Add(time.Second)
		t.compare(l.at, s.conditions(l, Readings{}, func(uuid.UUID) string { return "" }))
	}
}

// The page for operators says of each code how urgent it is, and when it begins.
func TestThePageForOperatorsHasEveryCode(t *testing.T) {
	page, err := os.ReadFile("../../docs/operators.md")
	require.NoError(t, err)
	for code, rule := range advisoryRules {
		require.Contains(t, string(page), fmt.Sprintf("\n| `%s` | %s | ", code, rule.severity))
	}
}
