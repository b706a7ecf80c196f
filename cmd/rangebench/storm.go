package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangebench/figures"
	wholegateway "rangegate/cmd/rangegate/gateway"
)

// storm measures whether a gateway comes back from a storm: ten times the load, clients that repeat what is not
// answered in time, controllers that all dial again, and a webhook that returns with a backlog. The limit of what it
// does afterwards is what it did before, in the same run.
type storm struct {
	stormSize
	JSON string `type:"path" placeholder:"FILE" help:"Write the figures there."`
}

// stormSize is what a storm is made of.
type stormSize struct {
	Ranges   int           `default:"10" help:"How many ranges."`
	Lanes    int           `default:"100" help:"How many lanes each has, with a session and a controller that dials."`
	Rate     int           `default:"400" help:"Requests a second of all clients together, before and after the storm."`
	Times    int           `default:"10" help:"How many times as many come in the storm."`
	Calm     time.Duration `default:"10s" help:"How long it is measured before the storm."`
	Storm    time.Duration `default:"30s" help:"How long the storm takes."`
	After    time.Duration `default:"30s" help:"How long it is measured after the storm."`
	Patience time.Duration `default:"2s" help:"After how long a client gives an attempt up and repeats it."`
	Rude     bool          `help:"Clients repeat after 100 ms, whatever Retry-After says."`
	Store    storeKind     `enum:"sqlite,redis" default:"sqlite" help:"The store."`
}

const (
	backWithin   = 10   // seconds after the storm
	goodEnough   = 0.95 // of what was answered before
	capacitySpan = 3 * time.Second
	sampleEvery  = 250 * time.Millisecond
	levelWithin  = 10 * time.Minute // until the webhook's backlog is gone
)

// storming is no experiment of the table: it takes minutes, and needs a machine on which nothing else runs.
var storming = experiment{
	name: "storm",
	what: "ten times the load, repeats, links that are cut, a webhook with a backlog",
}

// Run measures one storm, and prints its rows.
func (s storm) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	report := figures.Report{Begun: time.Now()}
	a := all{JSON: s.JSON}
	t := &trial{all: a, experiment: storming, report: &report, place: "1/1", begun: report.Begun, progress: os.Stderr}
	t.say("%s", storming.what)
	err := s.measure(ctx, t)
	report.Took = time.Since(report.Begun)
	return errors.Join(err, a.publish(report))
}

// measure has one storm come over a gateway, and notes its figures.
func (s stormSize) measure(ctx context.Context, t *trial) error {
	const spare = 2000
	if want := 2*s.Ranges*s.Lanes + s.Rate*s.Times*3 + spare; files(want) < want {
		return &notMeasured{fmt.Sprintf("it takes %d files", want)}
	}
	w, err := s.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { _ = w.close() }()
	return w.measure(ctx)
}

// stormFixture is a gateway with everything around it, each in a process of its own.
type stormFixture struct {
	stormSize
	t           *trial
	disk        *disk
	gateway     *peer
	receiver    *peer
	controllers *peer
	clients     *peer
	at          wholegateway.Addresses
}

func (s stormSize) open(ctx context.Context, t *trial) (w *stormFixture, err error) {
	w = &stormFixture{stormSize: s, t: t}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.disk, err = newDisk(s.Store); err != nil {
		return w, err
	}
	var receiver stormReceived
	if w.receiver, err = newPeer("storm-receiver"); err == nil {
		err = w.receiver.question(stormReceiving{}, &receiver)
	}
	if err != nil {
		return w, err
	}
	serve := stormServing{Dir: w.disk.dir, Ranges: s.Ranges, Lanes: s.Lanes, Webhook: receiver.Address}
	if w.disk.server != nil {
		serve.Redis = "redis://" + w.disk.server.Address + "/0"
	}
	if w.gateway, err = newPeer("storm-gateway"); err == nil {
		err = w.gateway.question(serve, &w.at)
	}
	if err != nil {
		return w, err
	}
	var linked int
	if w.controllers, err = newPeer("storm-controllers"); err == nil {
		dial := stormDialling{Ranges: s.Ranges, Lanes: s.Lanes, Address: w.at.Controllers}
		err = w.controllers.question(dial, &linked)
	}
	if err != nil {
		return w, err
	}
	if w.clients, err = newPeer("storm-clients"); err != nil {
		return w, err
	}
	_, err = w.until(ctx, "every link is up", patience*4, w.linked)
	return w, err
}

// close ends the processes. One that cannot be asked any more is killed.
func (w *stormFixture) close() (err error) {
	for _, p := range []*peer{w.clients, w.controllers, w.gateway, w.receiver} {
		if p != nil {
			kill := time.AfterFunc(patience, func() { _ = p.process.Process.Kill() })
			err = errors.Join(err, p.close())
			kill.Stop()
		}
	}
	if w.disk != nil {
		err = errors.Join(err, w.disk.remove())
	}
	return err
}

// linked reports whether every lane has its link.
func (w *stormFixture) linked(s stormSample) bool { return int(s.LinksUp) == w.Ranges*w.Lanes }

// until looks at the metrics until the condition holds, and returns how long that took.
func (w *stormFixture) until(
	ctx context.Context, what string, within time.Duration, holds func(stormSample) bool,
) (took time.Duration, err error) {
	begun := time.Now()
	for {
		seen, err := w.sample()
		switch {
		case err == nil && holds(seen):
			return time.Since(begun), nil
		case time.Since(begun) > within:
			return 0, fmt.Errorf("%s: not within %s; %+v %w", what, within, seen, cmp.Or(err, errNever))
		}
		if err := pause(ctx, sampleEvery/5); err != nil {
			return 0, err
		}
	}
}

var errNever = errors.New("it never came")

// askClients asks the clients, and kills them when ctx ends first.
func (w *stormFixture) askClients(ctx context.Context, question stormCalls) (had stormCalled, err error) {
	question.Ranges, question.Lanes, question.Address = w.Ranges, w.Lanes, w.at.API
	question.Patience, question.Rude = w.Patience, w.Rude
	stop := context.AfterFunc(ctx, func() { _ = w.clients.process.Process.Kill() })
	defer stop()
	err = w.clients.question(question, &had)
	if err == nil && had.Wrong != "" {
		err = errors.New(had.Wrong)
	}
	return had, errors.Join(ctx.Err(), err)
}

// measure goes through the phases: sold, at capacity, links cut in the calm, calm, storm, after it.
func (w *stormFixture) measure(ctx context.Context) error {
	if _, err := w.askClients(ctx, stormCalls{What: sellAllLanes}); err != nil {
		return err
	}
	w.t.say("as much as there is room for, %s", capacitySpan)
	capacity, err := w.askClients(ctx, stormCalls{What: atCapacity, Calm: capacitySpan})
	if err != nil {
		return err
	}
	quiet, err := w.redialQuietly(ctx)
	if err != nil {
		return err
	}
	w.t.say("%s before the storm, %s of it, %s after it", w.Calm, w.Storm, w.After)
	var called stormCalled
	begun, done := time.Now(), make(chan error, 1)
	go func() {
		var err error
		called, err = w.askClients(ctx, stormCalls{
			What: throughTheStorm, Rate: w.Rate, Times: w.Times, Calm: w.Calm, Storm: w.Storm, After: w.After,
		})
		done <- err
	}()
	seen, err := w.watch(ctx, begun, done)
	if err != nil {
		return err
	}
	var received stormReceived
	if err := w.receiver.question(stormReceiving{}, &received); err != nil {
		return err
	}
	w.t.say("%d requests were answered; repeated were %v", called.Changed, called.Repeated)
	sent := capacity.Changed + called.Changed + 2*w.Ranges*w.Lanes // each sale is two events
	switch {
	case received.Wrong != "":
		return errors.New(received.Wrong)
	case received.Events < sent:
		return fmt.Errorf("%d events have arrived of %d", received.Events, sent)
	}
	w.t.note(w.rows(capacity, called, quiet, seen)...)
	return nil
}

// redialling is what it takes to have all links again.
type redialling struct {
	seconds float64
	dials   float64 // attempts for each link
}

func (w *stormFixture) cut() error {
	var cut int
	return w.controllers.question(stormDialling{Cut: true}, &cut)
}

// redialQuietly cuts all links while nothing else happens.
func (w *stormFixture) redialQuietly(ctx context.Context) (quiet redialling, err error) {
	before, err := w.sample()
	if err == nil {
		err = w.cut()
	}
	if err != nil {
		return quiet, err
	}
	took, err := w.until(ctx, "every link is up again", patience*4, func(s stormSample) bool {
		return s.LinksLost >= before.LinksLost+float64(w.Ranges*w.Lanes) && w.linked(s)
	})
	if err != nil {
		return quiet, err
	}
	after, err := w.sample()
	return redialling{took.Seconds(), (after.Dials - before.Dials) / float64(w.Ranges*w.Lanes)}, err
}

// stormSeen is what was seen of the gateway from outside.
type stormSeen struct {
	samples []stormSample
	redial  redialling    // after the cut in the middle of the storm
	level   time.Duration // from the end of the storm until no event waits for its delivery, or for its retry
}

// watch has the links and the webhook fail and come back, and samples the metrics until everything is over.
//
//	the storm begins     every link is cut, the webhook hangs
//	its middle           every link is cut, the webhook answers again
//	done                 the clients have what they asked for; what is left is the webhook's backlog
func (w *stormFixture) watch(ctx context.Context, begun time.Time, done <-chan error) (seen stormSeen, err error) {
	stormBegins, middle := w.Calm, w.Calm+w.Storm/2
	stormEnds := w.Calm + w.Storm
	cuts, cutAt, dialsBefore, lost := 0, time.Duration(0), 0., 0.
	turn := func(hang bool, now time.Duration, s stormSample) error {
		cuts, cutAt, dialsBefore, lost = cuts+1, now, s.Dials, s.LinksLost+s.LinksUp
		var received stormReceived
		return errors.Join(w.cut(), w.receiver.question(stormReceiving{Turn: true, Hang: hang}, &received))
	}
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	clientsDone := false
	for {
		select {
		case err := <-done:
			if err != nil {
				return seen, err
			}
			clientsDone = true
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-ticker.C:
		}
		s, err := w.sample()
		if err != nil {
			return seen, err
		}
		now := time.Since(begun)
		s.At = now
		seen.samples = append(seen.samples, s)
		switch {
		case cuts == 0 && now >= stormBegins:
			err = turn(true, now, s)
		case cuts == 1 && now >= middle:
			err = turn(false, now, s)
		case cuts == 2 && seen.redial.seconds == 0 && s.LinksLost >= lost && w.linked(s):
			seen.redial = redialling{(now - cutAt).Seconds(), (s.Dials - dialsBefore) / float64(w.Ranges*w.Lanes)}
		}
		if err != nil {
			return seen, err
		}
		if !clientsDone || now < stormEnds {
			continue
		}
		switch {
		case s.Waiting+s.Retrying == 0 && seen.redial.seconds > 0:
			levelAt := slices.IndexFunc(seen.samples, func(s stormSample) bool {
				return s.At >= stormEnds && s.Waiting+s.Retrying == 0
			})
			seen.level = seen.samples[max(0, levelAt)].At - stormEnds
			return seen, nil
		case now > stormEnds+w.After+levelWithin:
			return seen, fmt.Errorf("not everything is over: %+v", s)
		}
	}
}

// rows are the figures of a storm.
func (w *stormFixture) rows(capacity, called stormCalled, quiet redialling, seen stormSeen) []figures.Figure {
	calm, storm := int(w.Calm.Seconds()), int(w.Storm.Seconds())
	ends := calm + storm
	settled := min(ends+backWithin, len(called.Good)-1)
	before := mean(called.Good[:calm])
	after := mean(called.Good[settled:])
	completed := mean(called.Completed[calm:ends])
	perRequest := func(from, to int) float64 {
		return sum(called.Attempts[from:to]) / max(1, sum(called.Begun[from:to]))
	}
	back := float64(len(called.Good) - ends)
	for s := ends; s < len(called.Good); s++ {
		if mean(called.Good[s:min(s+3, len(called.Good))]) >= goodEnough*before {
			back = float64(s - ends)
			break
		}
	}
	deepest := func(of func(stormSample) float64) (inCalm, inAll float64) {
		for _, s := range seen.samples {
			if s.At < w.Calm {
				inCalm = max(inCalm, of(s))
			}
			inAll = max(inAll, of(s))
		}
		return inCalm, inAll
	}
	mailboxesCalm, mailboxes := deepest(func(s stormSample) float64 { return s.Mailboxes })
	unsavedCalm, unsaved := deepest(func(s stormSample) float64 { return s.Unsaved })
	waitingCalm, waiting := deepest(func(s stormSample) float64 { return s.Waiting })
	memoryCalm, memory := deepest(func(s stormSample) float64 { return s.Memory / 1e6 })
	one := func(name, unit string, ours float64, floor ...float64) figures.Figure {
		f := stormRows[name]
		f.Name, f.Unit, f.Ours, f.Floor = name, unit, []float64{ours}, floor
		return f
	}
	return []figures.Figure{
		one("goodput", "1/s", after, before),
		one("back", "s", back),
		one("during", "1/s", completed, capacity.PerSecond),
		one("attempts", "", perRequest(calm, ends), perRequest(0, calm)),
		one("attempts after", "", perRequest(settled, len(called.Begun)), perRequest(0, calm)),
		one("links", "s", seen.redial.seconds, quiet.seconds),
		one("dials", "", seen.redial.dials, quiet.dials),
		one("mailboxes", "", mailboxes, mailboxesCalm),
		one("unsaved", "", unsaved, unsavedCalm),
		one("queues", "s", w.emptyAgain(seen, mailboxesCalm, unsavedCalm)),
		one("backlog", "events", waiting, waitingCalm),
		one("level", "s", seen.level.Seconds()),
		one("memory", "MB", memory, memoryCalm),
	}
}

// stormRows says what the rows are.
var stormRows = map[string]figures.Figure{
	"goodput": {
		Goal:  figures.AtLeast(goodEnough),
		What:  "requests answered 2xx in time, at their first attempt, from 10 s after the storm on",
		Limit: "the same before it",
	},
	"back": {Goal: figures.Below(backWithin), What: "from the end of the storm until 95 % are answered so again"},
	"during": {
		What:  "requests completed in the storm, each once",
		Limit: "what 256 clients complete before it that ask one after the other",
	},
	"attempts": {What: "attempts for each request that began in the storm", Limit: "before it"},
	"attempts after": {
		Goal: figures.AtMost(1.05), What: "attempts for each request, from 10 s after the storm on", Limit: "before it",
	},
	"links": {
		What:  "from the cut of all links in the middle of the storm until all are up",
		Limit: "the same while nothing else happens",
	},
	"dials": {
		What:  "attempts of a controller for each link that was cut",
		Limit: "the same while nothing else happens",
	},
	"mailboxes": {What: "most messages that waited for their actors", Limit: "before the storm"},
	"unsaved":   {What: "most changes that waited for the store", Limit: "before the storm"},
	"queues":    {Goal: figures.Below(backWithin), What: "from the end of the storm until both are as low as before"},
	"backlog":   {What: "most events that waited for the webhook", Limit: "before the storm"},
	"level":     {What: "from the end of the storm until no event waits for its delivery or its retry"},
	"memory":    {What: "most resident memory of the gateway", Limit: "before the storm"},
}

// emptyAgain returns how many seconds after the storm the queues are as low as they were before, or lower than 100.
func (w *stormFixture) emptyAgain(seen stormSeen, mailboxes, unsaved float64) float64 {
	const few, inARow = 100, 4
	ends, low := w.Calm+w.Storm, 0
	for _, s := range seen.samples {
		if s.At < ends {
			continue
		}
		if low++; s.Mailboxes > max(mailboxes, few) || s.Unsaved > max(unsaved, few) {
			low = 0
		}
		if low == inARow {
			return (s.At - ends).Seconds()
		}
	}
	return (seen.samples[len(seen.samples)-1].At - ends).Seconds()
}

func sum(of []float64) (all float64) {
	for _, v := range of {
		all += v
	}
	return all
}

func mean(of []float64) float64 { return sum(of) / float64(max(1, len(of))) }

// The ids of a storm.
func stormRange(n int) uuid.UUID      { return stormID("range", n, 0) }
func stormToken(n int) string         { return stormID("token", n, 0).String() }
func stormGroup(n int) uuid.UUID      { return stormID("group", n, 0) }
func stormLane(n, lane int) uuid.UUID { return stormID("lane", n, lane) }

func stormID(kind string, n, of int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, "storm ", kind, " ", n, " ", of))
}
