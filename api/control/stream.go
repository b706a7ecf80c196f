package control

import (
	"net/http"
	"slices"

	"github.com/google/uuid"

	"rangegate/api/screens"
	"rangegate/lanes"
)

// stream is the live picture of the range: `picture` first, then `change` whenever something has, `beat` in between, and
// `bye` when the session is over. It ends when the range is no longer run here.
func (c *screen) stream(w http.ResponseWriter, r *http.Request) {
	of := sessionOf(r.Context())
	leave, in := c.streams[of.rangeID].Enter()
	if !in {
		c.fail(w, r, screens.Full{What: "screens of this range are open"})
		return
	}
	defer leave()
	c.Streams.Inc()
	defer c.Streams.Dec()
	running, err := c.Range(of.rangeID)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	watched := &watch{of: running, who: of.name, frames: c.frames[of.rangeID], waiting: map[uuid.UUID]int{}}
	screens.Feed{
		Next: watched.next,
		Beat: func() (any, bool) {
			of.over()
			now, err := c.Range(of.rangeID)
			return beat{screens.Stamp(running.Now().Wall)}, err == nil && now == running
		},
		Over: of.ended, Closing: c.Closing,
	}.Follow(w, r)
}

type beat struct {
	Now string `json:"now"`
}

// watch is how far one screen has been told.
type watch struct {
	of         Range
	who        string
	frames     *frames
	begun      bool
	version    uint64
	holds      []lanes.HoldRecord
	waiting    map[uuid.UUID]int // purchases that wait for staff, by lane
	unresolved int               // all of them
}

func (w *watch) next() (event string, data any, wake <-chan struct{}) {
	after := w.version
	changed, version, wake := w.of.Changes(after)
	w.version = version
	for _, each := range changed {
		waiting := unresolvedOn(each.Lane)
		w.unresolved += waiting - w.waiting[each.ID]
		w.waiting[each.ID] = waiting
	}
	holds := w.of.Holds()
	if w.begun && len(changed) == 0 && slices.Equal(holds.InForce, w.holds) {
		return "", nil, wake
	}
	w.holds = holds.InForce
	now, encoded := w.frames.of(w.of, after, version, changed)
	if w.begun {
		return "change", with(encoded, change{now, holdsOf(holds), w.unresolved}), wake
	}
	w.begun = true
	layout := w.of.Layout()
	all := picture{
		Now:   now,
		Range: theRange{layout.Range, layout.Name, layout.Purchasing},
		Who:   w.who, Bays: []named{}, Groups: []named{}, Holds: holdsOf(holds), Unresolved: w.unresolved,
	}
	for _, bay := range layout.Bays {
		all.Bays = append(all.Bays, named(bay))
	}
	for _, group := range layout.Groups {
		all.Groups = append(all.Groups, named(group))
	}
	return "picture", with(encoded, all), wake
}
