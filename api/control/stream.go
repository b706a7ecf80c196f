package control

import (
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/api/staffops"
	"rangegate/lanes"
)

// stream sends the live state of the range: first `picture`, then `change` after every change, `beat` in
// between, and `bye` when the session ends. It ends when the range no longer runs here.
func (c *screen) stream(w http.ResponseWriter, r *http.Request) {
	s := sessionOf(r.Context())
	slots := c.streams.Of(s.rangeID)
	if !slots.TryAcquire() {
		c.fail(w, r, screens.Overloaded("screens of this range are open"))
		return
	}
	defer slots.Release()
	c.Streams.Inc()
	defer c.Streams.Dec()
	running, err := c.Range(s.rangeID)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	v := &viewer{
		r: running, staff: s.name, releases: c.releases(s.member), frames: c.frames[s.rangeID],
		unresolved: map[uuid.UUID]int{},
	}
	screens.Feed{
		Next: v.next,
		Beat: func() (time.Time, bool) {
			c.auth.hasEnded(s) // ends a session that has lasted too long
			current, err := c.Range(s.rangeID)
			return running.Now().Wall, err == nil && current == running
		},
		Hours:   func(now time.Time) *screens.HoursView { return screens.ViewHoursOf(running.Layout(), now) },
		Revoked: s.live.Done(), Ended: running.Ended(), Closing: c.Closing,
	}.Follow(w, r)
}

// viewer is the state of one stream: what its screen was sent.
type viewer struct {
	r          Range
	staff      string
	releases   bool // the user may end a ceasefire over the range
	frames     *screens.FrameCache[laneView]
	started    bool
	version    uint64
	holds      []lanes.HoldRecord
	unresolved map[uuid.UUID]int // purchases that wait for staff, by lane
	total      int               // of unresolved
}

func (v *viewer) next() (event string, data any, wake <-chan struct{}) {
	after := v.version
	changed, version, wake := v.r.Changes(after)
	v.version = version
	for _, lane := range changed {
		unresolved := countUnresolved(lane.Lane)
		v.total += unresolved - v.unresolved[lane.ID]
		v.unresolved[lane.ID] = unresolved
	}
	holds := v.r.Holds()
	if v.started && len(changed) == 0 && slices.Equal(holds.InForce, v.holds) {
		return "", nil, wake
	}
	v.holds = holds.InForce
	now, encoded := v.frames.Lanes(v.r, after, version, changed)
	holdViews := staffops.HoldViews(holds, endpoint.Stamp)
	if v.started {
		return "change", screens.AppendLanes(change{now, holdViews, v.total}, encoded), wake
	}
	v.started = true
	layout := v.r.Layout()
	return "picture", screens.AppendLanes(picture{
		Now: now, Range: viewOfRange(layout), Who: v.staff, Releases: v.releases,
		Bays:   endpoint.Views(layout.Bays, func(bay lanes.Bay) namedView { return namedView{bay.ID, bay.Name} }),
		Groups: endpoint.Views(layout.Groups, func(group lanes.Group) namedView { return namedView(group) }),
		Holds:  holdViews, Unresolved: v.total, Hours: screens.ViewHoursOf(layout, v.r.Now().Wall),
	}, encoded), wake
}
