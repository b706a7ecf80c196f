package exam

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// brief is the time of the session that runs out.
const brief = 3 * time.Second

// rules are tried one after the other, each on what the one before left.
var rules = []rule{
	{"answers the gateway's hello within 5 s, for its lane", func(e *Exam, ctx context.Context) string {
		hello, err := e.dial(ctx)
		switch {
		case err != nil:
			return err.Error()
		case hello.LogID == "":
			return "the hello names no report log"
		}
		return ""
	}},
	{"confirms a state", func(e *Exam, ctx context.Context) string {
		return e.wants(ctx, link.State{Revision: 1})
	}},
	{"takes a session that waits for its customer", func(e *Exam, ctx context.Context) string {
		return e.wants(ctx, link.State{Revision: 2, Session: e.session(lanes.Waiting, time.Minute)})
	}},
	{"knows what is in force in its next hello", func(e *Exam, ctx context.Context) string {
		return e.inForce(ctx, func(h link.Hello) string {
			switch {
			case h.Session != theSession:
				return fmt.Sprintf("session_id is %s, not %s", h.Session, theSession)
			case h.Left != time.Minute:
				return fmt.Sprintf("remaining_ms is %d of a session that waits with 60000", h.Left.Milliseconds())
			}
			return ""
		})
	}},
	{"takes the first state of a new connection, though its revision is lower", func(e *Exam, ctx context.Context) string {
		return e.wants(ctx, link.State{Revision: 1, Hold: true, Session: e.session(lanes.Running, time.Minute)})
	}},
	{"stands still under a hold, and says so", func(e *Exam, ctx context.Context) string {
		pause(ctx, time.Second)
		return e.inForce(ctx, func(h link.Hello) string {
			switch {
			case !h.Hold:
				return "hold is false"
			case h.Left < 59*time.Second+500*time.Millisecond:
				return fmt.Sprintf("the countdown went on to %s", h.Left)
			}
			return ""
		})
	}},
	{"a state that is older than the one in force changes nothing", func(e *Exam, ctx context.Context) string {
		if why := e.wants(ctx, link.State{Revision: 5, Hold: true}); why != "" {
			return why
		}
		e.conn.Send(link.State{Revision: 3})
		pause(ctx, time.Second/2)
		return e.inForce(ctx, func(h link.Hello) string {
			if !h.Hold {
				return "an older state released the hold"
			}
			return ""
		})
	}},
	{"counts down by itself, without a connection", func(e *Exam, ctx context.Context) string {
		if why := e.wants(ctx, link.State{Revision: 1, Session: e.session(lanes.Running, brief)}); why != "" {
			return why
		}
		e.hangUp()
		pause(ctx, brief/3)
		return e.inForce(ctx, func(h link.Hello) string {
			if left := brief - brief/3; h.Left > left || h.Left < left-time.Second {
				return fmt.Sprintf("%s left where about %s are", h.Left, left)
			}
			return ""
		})
	}},
	{"has nothing left when the time is used up", func(e *Exam, ctx context.Context) string {
		e.hangUp()
		pause(ctx, brief)
		return e.inForce(ctx, func(h link.Hello) string {
			if h.Left != 0 {
				return fmt.Sprintf("%s left", h.Left)
			}
			return ""
		})
	}},
	{"a new connection replaces the one before", func(e *Exam, ctx context.Context) string {
		before, conn := e.heard, e.conn
		e.conn = nil
		if _, err := e.dial(ctx); err != nil {
			return err.Error()
		}
		defer conn.Close()
		if !before.wait(ctx, prompt, func() bool { return before.down != nil }) {
			return fmt.Sprintf("the one before is still open after %s", prompt)
		}
		return ""
	}},
	{"refuses a gateway with an older epoch", func(e *Exam, ctx context.Context) string {
		older := e.Lane
		older.Epoch--
		conn, _, err := e.Driver.Dial(ctx, older, newEar())
		switch {
		case err == nil:
			conn.Close()
			return "it was let in"
		case !errors.Is(err, link.ErrFaulty):
			return "it went away, and did not refuse: " + err.Error()
		}
		return ""
	}},
	{"is free when there is no session", func(e *Exam, ctx context.Context) string {
		if _, err := e.dial(ctx); err != nil {
			return err.Error()
		}
		if why := e.wants(ctx, link.State{Revision: 1}); why != "" {
			return why
		}
		return e.inForce(ctx, func(h link.Hello) string {
			if h.Session != uuid.Nil {
				return "the session is still there"
			}
			return ""
		})
	}},
}

// reporting are the rules that need somebody at the lane.
var reporting = []rule{
	{"reports what happens at the lane, and again until it is acknowledged", func(e *Exam, ctx context.Context) string {
		if why := e.wants(ctx, link.State{Revision: 1, Session: e.session(lanes.Waiting, time.Hour), Purchasing: true}); why != "" {
			return why
		}
		fmt.Fprintf(e.Out, "        do something at the lane now: enter, call for help, or buy (%s)\n", e.Reports)
		if !e.heard.wait(ctx, e.Reports, func() bool { return len(e.heard.reports) > 0 }) {
			return "nothing was reported"
		}
		first := e.heard.reported()[0]
		if _, err := e.dial(ctx); err != nil {
			return err.Error()
		}
		if !e.heard.wait(ctx, prompt, func() bool { return len(e.heard.reports) > 0 && e.heard.reports[0].Log == first.Log }) {
			return "it was not reported again in a new connection, although nobody had acknowledged it"
		}
		return ""
	}},
	{"forgets what is acknowledged", func(e *Exam, ctx context.Context) string {
		reports := e.heard.reported()
		if e.conn == nil || len(reports) == 0 {
			return "nothing was reported"
		}
		e.conn.Ack(reports[len(reports)-1].Log)
		pause(ctx, time.Second)
		if _, err := e.dial(ctx); err != nil {
			return err.Error()
		}
		if e.heard.wait(ctx, time.Second, func() bool { return len(e.heard.reports) > 0 }) {
			return "it was reported again"
		}
		return ""
	}},
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
