package observer

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// overview counts all actors, and lists problems: the worst first, at most lanes.MaxUnwell of each kind.
type overview struct {
	At        string         `json:"at"`
	All       totals         `json:"all"`
	Ranges    []rangeView    `json:"ranges"`
	Restarted []restartsView `json:"restarted"`
	Slowest   []slowView     `json:"slowest"`
	Links     []linkView     `json:"links"`
	Unsaved   []unsavedView  `json:"unsaved"`
}

// totals is the sum of all ranges.
type totals struct {
	Ranges    int                     `json:"ranges"`
	Running   int                     `json:"running"`
	Elsewhere int                     `json:"elsewhere"` // ranges that other nodes own
	Lanes     int                     `json:"lanes"`
	Actors    map[string]kindView     `json:"actors"`
	Links     map[lanes.LinkState]int `json:"links"`
	Restarted int                     `json:"lanes_restarted"`
	NotSaved  int                     `json:"lanes_unsaved"`
	Unsaved   int                     `json:"changes_unsaved"`
	StoreDown int                     `json:"stores_away"` // ranges whose store is down
	Events    int                     `json:"events_waiting"`
}

// kindView counts the actors of a kind. Waiting messages are counted over all ranges only.
type kindView struct {
	Live     int `json:"live"`
	Restarts int `json:"restarts"`
	Waiting  int `json:"messages_waiting"`
}

type rangeView struct {
	ID   uuid.UUID `json:"range_id"`
	Name string    `json:"name"`
	// running, elsewhere, or the error code of why it does not run
	State    string                  `json:"state"`
	Reason   string                  `json:"reason,omitempty"` // what there is to say about the state
	Node     string                  `json:"node"`             // that owns a range elsewhere
	Lanes    int                     `json:"lanes"`
	Live     map[string]int          `json:"live"`
	Restarts map[string]int          `json:"restarts"`
	Links    map[lanes.LinkState]int `json:"links"`
	Writable bool                    `json:"store_writable"`
	Unsaved  int                     `json:"changes_unsaved"`
	NotSaved int                     `json:"lanes_unsaved"`
	Events   int                     `json:"events_waiting"`
	LateP99  float64                 `json:"timers_late_p99_ms"`
	Turns    turnsView               `json:"turns"`
}

// turnsView is what lanes wait between sessions.
type turnsView struct {
	Waiting int     `json:"lanes_waiting"`
	Longest float64 `json:"longest_s"` // of those
	Turns   int     `json:"turns"`     // newest turns of lanes in the last 12 hours
	Median  float64 `json:"median_s"`  // of those
}

// laneName identifies the lane of an entry.
type laneName struct {
	Range uuid.UUID `json:"range_id"`
	Lane  uuid.UUID `json:"lane_id"`
	Name  string    `json:"name"`
}

type restartsView struct {
	laneName
	Restarts int    `json:"restarts"`
	Last     string `json:"last_at"`
	Kind     string `json:"last_kind"`
	Message  string `json:"last_on"` // that it panicked on
}

type slowView struct {
	laneName
	commandView
}

type linkView struct {
	laneName
	Link      lanes.LinkState `json:"link"`
	Since     string          `json:"since"`
	Restarts  int             `json:"restarts"`
	LastError string          `json:"last_error"`
}

type unsavedView struct {
	laneName
	unsavedChanges
}

func newOverview(now time.Time, waiting map[string]int) *overview {
	o := &overview{At: endpoint.Stamp(now), All: totals{
		Actors: map[string]kindView{},
		Links:  map[lanes.LinkState]int{lanes.LinkUp: 0, lanes.LinkDown: 0, lanes.LinkFaulty: 0},
	}}
	for kind, n := range waiting {
		o.All.Actors[kind] = kindView{Waiting: n}
	}
	return o
}

// stateOf is the state of a range that does not run here, and what there is to say about it.
func stateOf(reason error) (state, detail string) {
	state, detail = "internal", reason.Error()
	var coded interface {
		error
		Code() string
	}
	if errors.As(reason, &coded) {
		state = coded.Code()
		if detail == coded.Error() {
			detail = ""
		}
	}
	return state, detail
}

// addNotRunning adds a range that does not run here.
func (o *overview) addNotRunning(id uuid.UUID, reason error) {
	state, detail := stateOf(reason)
	o.All.Ranges++
	o.Ranges = append(o.Ranges, rangeView{
		ID: id, State: state, Reason: detail, Live: map[string]int{}, Restarts: map[string]int{},
		Links: map[lanes.LinkState]int{},
	})
}

// elsewhere is the state of a range that another node owns.
const elsewhere = "elsewhere"

func (o *overview) addElsewhere(id uuid.UUID, node string) {
	o.All.Ranges, o.All.Elsewhere = o.All.Ranges+1, o.All.Elsewhere+1
	o.Ranges = append(o.Ranges, rangeView{
		ID: id, State: elsewhere, Node: node, Live: map[string]int{}, Restarts: map[string]int{},
		Links: map[lanes.LinkState]int{},
	})
}

func (o *overview) add(id uuid.UUID, layout lanes.Layout, health lanes.ActorHealth) {
	r := rangeView{
		ID: id, Name: layout.Name, State: "running", Lanes: len(layout.Lanes), Live: health.Live,
		Restarts: map[string]int{},
		Links:    health.Links, Writable: health.Writable, Unsaved: health.Unsaved, NotSaved: health.NotSavedLanes,
		Events:  health.Waiting,
		LateP99: milliseconds(health.LateP99),
		Turns: turnsView{
			health.Turns.Waiting, seconds(health.Turns.Longest), health.Turns.Turns,
			seconds(health.Turns.Median),
		},
	}
	maps.Copy(r.Restarts, health.Restarts) // {} instead of null if nothing was restarted
	o.Ranges = append(o.Ranges, r)
	o.All.sum(r, health.RestartedLanes)

	for _, restarted := range health.Restarted {
		o.Restarted = append(o.Restarted, restartsView{
			laneName{id, restarted.Lane, restarted.Name},
			restarted.Restarts, endpoint.Stamp(restarted.Last),
			restarted.Kind, restarted.Message,
		})
	}
	for _, slow := range health.Slowest {
		o.Slowest = append(o.Slowest, slowView{laneName{id, slow.Lane, slow.Name}, viewOfCommand(slow.Commanded)})
	}
	for _, l := range health.Lanes {
		o.Links = append(o.Links, linkView{
			laneName{id, l.Lane, l.Name},
			l.Link, endpoint.Stamp(l.Since),
			l.Restarts, l.LastError,
		})
	}
	for _, u := range health.NotSaved {
		o.Unsaved = append(o.Unsaved, unsavedView{
			laneName{id, u.Lane, u.Name},
			unsavedChanges{endpoint.Stamp(u.Since), u.Changes},
		})
	}
}

func (t *totals) sum(r rangeView, restarted int) {
	t.Ranges, t.Running, t.Lanes = t.Ranges+1, t.Running+1, t.Lanes+r.Lanes
	for kind, n := range r.Live {
		actors := t.Actors[kind]
		actors.Live += n
		t.Actors[kind] = actors
	}
	for kind, n := range r.Restarts {
		actors := t.Actors[kind]
		actors.Restarts += n
		t.Actors[kind] = actors
	}
	for state, n := range r.Links {
		t.Links[state] += n
	}
	t.Restarted += restarted
	t.NotSaved += r.NotSaved
	t.Unsaved += r.Unsaved
	t.Events += r.Events
	if !r.Writable {
		t.StoreDown++
	}
}

// bounded sorts every list, the worst first, and cuts it to lanes.MaxUnwell entries.
func (o *overview) bounded() overview {
	latest := func(a, b string) int { return cmp.Compare(b, a) } // stamps sort like their times
	o.Ranges = worst(o.Ranges, func(a, b rangeView) int { return cmp.Compare(b.severity(), a.severity()) })
	o.Restarted = worst(o.Restarted, func(a, b restartsView) int { return latest(a.Last, b.Last) })
	o.Slowest = worst(o.Slowest, func(a, b slowView) int { return cmp.Compare(b.Took, a.Took) })
	o.Links = worst(o.Links, func(a, b linkView) int {
		grade := map[lanes.LinkState]int{lanes.LinkFaulty: 0, lanes.LinkDown: 1, lanes.LinkUp: 2}
		return cmp.Or(cmp.Compare(grade[a.Link], grade[b.Link]), cmp.Compare(a.Since, b.Since))
	})
	o.Unsaved = worst(o.Unsaved, func(a, b unsavedView) int { return cmp.Compare(a.Since, b.Since) })
	return *o
}

func worst[T any](all []T, worse func(a, b T) int) []T {
	slices.SortStableFunc(all, worse)
	return append([]T{}, all[:min(len(all), lanes.MaxUnwell)]...) // [] instead of null
}

// severity orders ranges by urgency: not running, not saving, then the number of broken links and restarts,
// and last those elsewhere.
func (r rangeView) severity() int {
	n := r.Links[lanes.LinkDown] + r.Links[lanes.LinkFaulty]
	for _, restarts := range r.Restarts {
		n += restarts
	}
	switch {
	case r.State == elsewhere:
		return -1
	case r.State != "running":
		return 2_000_000_000
	case !r.Writable:
		return 1_000_000_000 + n
	}
	return n
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// laneView is the state of one lane and its latest commands.
type laneView struct {
	At        string `json:"at"`
	RangeName string `json:"range"`
	laneName
	Session  *sessionView `json:"session"` // null: the lane is free
	Held     bool         `json:"hold"`
	Locked   bool         `json:"locked"` // the hardware has confirmed the hold
	Unusable *string      `json:"not_usable_because"`
	Hardware hardwareView `json:"hardware"`
	Link     laneLink     `json:"link"`
	// null: the link was not up since this process has loaded the range, or that is too many changes ago
	Controller *controllerView `json:"controller"`
	Restarts   laneRestarts    `json:"restarts"` // of its actors, after panics
	Unsaved    *unsavedChanges `json:"unsaved"`  // null: everything is saved
	Turn       *turnView       `json:"turn"`     // null: it does not wait for a session
	LastTurn   *lastTurnView   `json:"last_turn"`
	Commands   []commandView   `json:"commands"` // newest first
	Actors     []actorView     `json:"actors"`   // its own and its connection's
}

// turnView is a lane that waits for its next session.
type turnView struct {
	Seconds float64 `json:"seconds"`
	Counts  bool    `json:"counts"` // it is not held, and for sale or sold
}

// lastTurnView is what a lane had waited for a session, and when that began.
type lastTurnView struct {
	At      string  `json:"at"`
	Seconds float64 `json:"seconds"`
}

// sessionView names no customer.
type sessionView struct {
	ID      uuid.UUID   `json:"session_id"`
	Phase   lanes.Phase `json:"phase"`
	Minutes float64     `json:"minutes_remaining"`
}

type laneLink struct {
	State     lanes.LinkState `json:"state"`
	Since     string          `json:"since"`
	Restarts  int             `json:"restarts"`
	LastError string          `json:"last_error"`
}

type laneRestarts struct {
	Count int     `json:"count"`
	Last  *string `json:"last_at"`
	Kind  string  `json:"last_kind"`
	On    string  `json:"last_on"` // the message
}

type unsavedChanges struct {
	Since   string `json:"since"`
	Changes int    `json:"changes"`
}

// commandView is a command and its result.
type commandView struct {
	At      string     `json:"at"`
	By      lanes.By   `json:"by"`
	Who     string     `json:"who"`
	Command string     `json:"command"`
	Result  string     `json:"result"`
	Took    float64    `json:"took_ms"`
	Waited  float64    `json:"waited_ms"`
	Session *uuid.UUID `json:"session_id"`
	Trace   string     `json:"trace_id"`
}

func viewOf(now time.Time, rangeID uuid.UUID, rangeName string, health lanes.LaneHealth) laneView {
	v := laneView{
		At: endpoint.Stamp(now), RangeName: rangeName, laneName: laneName{rangeID, health.Link.Lane, health.Link.Name},
		Held: health.Held, Locked: health.Locked, Unusable: endpoint.Optional(health.NotUsable),
		Hardware: viewOfHardware(health.Hardware),
		Link: laneLink{
			health.Link.Link, endpoint.Stamp(health.Link.Since), health.Link.Restarts,
			health.Link.LastError,
		},
		Restarts: laneRestarts{
			health.Restarts.Restarts, endpoint.OptionalStamp(&health.Restarts.Last), health.Restarts.Kind,
			health.Restarts.Message,
		},
		Commands: endpoint.Views(health.Commands, viewOfCommand),
	}
	if health.Session != uuid.Nil {
		v.Session = &sessionView{health.Session, health.Phase, health.Remaining.Round(time.Millisecond).Minutes()}
	}
	if health.Turn != nil {
		v.Turn = &turnView{seconds(*health.Turn), health.TurnCounts}
	}
	if last := health.LastTurn; last != nil {
		v.LastTurn = &lastTurnView{endpoint.Stamp(last.At), seconds(last.Took)}
	}
	if health.Unsaved.Changes > 0 {
		v.Unsaved = &unsavedChanges{endpoint.Stamp(health.Unsaved.Since), health.Unsaved.Changes}
	}
	return v
}

func viewOfCommand(c lanes.Commanded) commandView {
	return commandView{
		At: endpoint.Stamp(c.At), By: c.By, Who: c.Who, Command: c.Command, Result: c.Result,
		Took: milliseconds(c.Took), Waited: milliseconds(c.Waited), Session: endpoint.Optional(c.Session),
		Trace: c.Trace,
	}
}
