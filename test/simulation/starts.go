package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/test/linear"
)

// given is a start that sessions were given to begin together.
type given struct {
	at       time.Time   // by the clock that it was scheduled by
	sessions []uuid.UUID // by the first save that has it
	deleted  bool        // that is acknowledged
}

// beginsLateAfter is how late a session may begin by its start, and count as in time.
const beginsLateAfter = time.Second

// judgeStarts checks what is saved at once of sessions that wait, begin and have begun:
//
//   - a start is given to all of its sessions in one write, with one instant, and not taken by others later;
//   - a session begins by a start that it was given and that was not deleted, not before its instant, and exactly at
//     that, or at the time of then if that is more than a second later; or because it was asked to;
//   - its time counts from its begin, which never changes.
//
// mu is held.
func (j *judge) judgeStarts(from *machine, saved []lanes.Snapshot) {
	together := map[uuid.UUID][]uuid.UUID{}
	for _, lane := range saved {
		if s := lane.Session; s != nil && s.Start != nil && !slices.Contains(together[s.Start.ID], s.ID) {
			together[s.Start.ID] = append(together[s.Start.ID], s.ID)
		}
	}
	for _, lane := range saved {
		s := lane.Session
		if s == nil {
			continue
		}
		if start := s.Start; start != nil {
			if j.starts[start.ID] == nil {
				j.starts[start.ID] = &given{at: start.At.Wall, sessions: together[start.ID]}
			}
			if all := j.starts[start.ID]; !all.at.Equal(start.At.Wall) || !slices.Contains(all.sessions, s.ID) {
				j.world.fail("%s was given start %.8s at %v, after %v", brief(s), start.ID, start.At, all)
			}
		}
		before, known := j.sessions[s.ID]
		j.sessions[s.ID] = lane
		switch {
		case known && before.Session.Phase == lanes.Waiting && s.Began != nil:
			j.judgeBegin(from, before, lane)
		case known && s.Began != nil && !s.Began.Wall.Equal(before.Session.Began.Wall):
			j.world.fail("%s began at %v, and then at %v", brief(s), before.Session.Began, s.Began)
		}
	}
}

// judgeBegin checks the save in which a session begins. mu is held.
func (j *judge) judgeBegin(from *machine, before, now lanes.Snapshot) {
	s := now.Session
	if s.Phase == lanes.Running && (s.Since != *s.Began || s.Left != s.Sold) {
		j.world.fail("%s began at %v", brief(s), s.Began)
	}
	earliest, scheduled := j.notBefore[s.ID]
	switch start := s.Start; {
	case !scheduled:
	case start == nil && !j.entered[s.ID]:
		j.world.fail("%s began, and nobody has asked for it", brief(s))
	case start == nil:
		j.figures["begun by themselves"]++
	case before.Session.Start == nil || before.Session.Start.ID != start.ID || j.starts[start.ID].deleted:
		j.world.fail("%s began by start %.8s, which it does not have: %+v", brief(s), start.ID, before.Session.Start)
	default:
		late := s.Began.Since(start.At)
		if late != 0 && late <= beginsLateAfter {
			j.world.fail("%s began %v behind its start", brief(s), late)
		}
		if clk := from.clk; clk.Boot() == now.Boot && clk.Now().Mono < s.Began.Mono || time.Now().
			Before(earliest.Add(-clocksDiffer)) {
			j.world.fail("%s began by its start at %v, and that is to come", brief(s), s.Began)
		}
		if late == 0 {
			j.figures["begun by their start"]++
		} else {
			j.figures["begun late"]++
		}
	}
}

// scheduling notes that the sessions are about to be given a start not before that.
func (j *judge) scheduling(sessions []string, earliest time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range sessions {
		j.notBefore[uuid.MustParse(id)] = earliest
	}
}

// scheduled checks a start that was acknowledged for these sessions, which waited.
func (j *judge) scheduled(id uuid.UUID, sessions []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if start := j.starts[id]; start == nil || len(start.sessions) != len(sessions) {
		j.world.fail("start %.8s for %v is acknowledged, and saved is %+v", id, sessions, start)
	}
}

// unscheduled notes that the end of a start is acknowledged.
func (j *judge) unscheduled(id uuid.UUID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.starts[id].deleted = true
}

// entering notes that the session is about to be asked to begin.
func (j *judge) entering(session string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entered[uuid.MustParse(session)] = true
}

// startSeen is a start as the POS sees it.
type startSeen struct {
	ID       uuid.UUID `json:"start_id"`
	At       time.Time `json:"at"`
	Sessions []struct {
		ID    string     `json:"session_id"`
		State string     `json:"state"`
		Began *time.Time `json:"began_at"`
	} `json:"sessions"`
}

// beginTogether has sessions that wait begin together, and looks at how that goes. Sometimes it takes the start back:
// then each one is asked to begin.
func (c *client) beginTogether(ctx context.Context, r *rangeOf, sessions []string) {
	in := time.Duration(1+c.draw(15)) * time.Second
	sent := time.Now()
	c.judge.scheduling(sessions, sent.Add(in))
	got, reply := c.insist(ctx, r, http.MethodPost, "/starts",
		fmt.Sprintf(`{"session_ids":["%s"],"in_seconds":%d}`, strings.Join(sessions, `","`), in/time.Second))
	if reply.Outcome != linear.Done {
		if reply.Outcome == linear.Refused && ctx.Err() == nil {
			c.fail("range %d: a start of %v was refused: %s", r.number, sessions, reply.Code)
		}
		return
	}
	var start startSeen
	if err := json.Unmarshal([]byte(got.Body), &start); err != nil || len(start.Sessions) != len(sessions) ||
		start.At.Before(sent.Add(in-clocksDiffer)) || start.At.After(time.Now().Add(in+clocksDiffer)) {
		c.fail("range %d: a start of %v in %v is %s: %v", r.number, sessions, in, got.Body, err)
		return
	}
	c.judge.scheduled(start.ID, sessions)
	if c.draw(3) > 0 {
		if sleep(ctx, in+c.upTo(4*time.Second)) == nil {
			c.lookAt(r, start)
		}
		return
	}
	if sleep(ctx, c.upTo(in+in/4)) != nil {
		return
	}
	_, reply = c.insist(ctx, r, http.MethodDelete, "/starts/"+start.ID.String(), "")
	if reply.Outcome == linear.Done {
		c.judge.unscheduled(start.ID)
	}
	for _, session := range sessions {
		c.judge.entering(session)
		c.command(ctx, r, alone, linear.Call{Kind: "start", Session: session})
	}
}

// lookAt reads a start, and checks that it is the same one, and that what has begun by it has not begun before it.
func (c *client) lookAt(r *rangeOf, start startSeen) {
	var now startSeen
	if c.tryGet(r, "/starts/"+start.ID.String(), &now) != nil {
		return
	}
	for _, s := range now.Sessions {
		begun := s.State == "begun"
		if begun != (s.Began != nil) || begun && s.Began.Before(start.At.Add(-clocksDiffer)) ||
			!now.At.Equal(start.At) {
			c.fail("range %d: of start %+v session %s is %s, and began at %v", r.number, start, s.ID, s.State, s.Began)
		}
	}
}
