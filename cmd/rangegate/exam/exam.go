// Package exam plays a script of the lane link (docs/hardware.md) with a controller, as the gateway would, and says which
// of its rules hold. It is for makers of controllers, who have no gateway at hand.
package exam

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// prompt is how long a controller may take for what it should do at once.
const prompt = 2 * time.Second

// Exam is one controller being tried.
type Exam struct {
	Driver link.Driver
	Lane   link.Lane
	Now    func() lanes.Instant
	Out    io.Writer
	// Reports is how long somebody is given to do something at the lane, 0: nobody is there.
	Reports time.Duration

	heard  *ear
	conn   link.Connection
	broken int
}

// rule is one promise of the protocol, and how it is tried. An empty answer: it holds.
type rule struct {
	name string
	try  func(*Exam, context.Context) string
}

// Run tries one rule after the other, and answers how many are broken.
func (e *Exam) Run(ctx context.Context) (broken int) {
	defer e.hangUp()
	all := rules
	if e.Reports > 0 {
		all = append(all[:len(all):len(all)], reporting...)
	}
	for i, rule := range all {
		if ctx.Err() != nil {
			return e.broken + 1
		}
		if why := rule.try(e, ctx); why != "" {
			e.broken++
			fmt.Fprintf(e.Out, "BROKEN  %s: %s\n", rule.name, why)
			if i == 0 {
				return e.broken // nobody is there to try the others with
			}
			continue
		}
		fmt.Fprintf(e.Out, "holds   %s\n", rule.name)
	}
	return e.broken
}

// dial connects anew; what was connected before is left to the controller.
func (e *Exam) dial(ctx context.Context) (link.Hello, error) {
	heard := newEar()
	conn, hello, err := e.Driver.Dial(ctx, e.Lane, heard)
	if err == nil {
		e.hangUp()
		e.conn, e.heard = conn, heard
	}
	return hello, err
}

func (e *Exam) hangUp() {
	if e.conn != nil {
		e.conn.Close()
		e.conn = nil
	}
}

// wants sends the state and waits until it is in force.
func (e *Exam) wants(ctx context.Context, s link.State) string {
	if e.conn == nil {
		return "there is no connection to try it on"
	}
	e.conn.Send(s)
	if !e.heard.wait(ctx, prompt, func() bool { return e.heard.applied >= s.Revision }) {
		return fmt.Sprintf("no \"applied\" of revision %d within %s", s.Revision, prompt)
	}
	return ""
}

// inForce is what the controller says of itself in a new connection.
func (e *Exam) inForce(ctx context.Context, is func(link.Hello) string) string {
	hello, err := e.dial(ctx)
	if err != nil {
		return err.Error()
	}
	return is(hello)
}

// session is one with so much time left now.
func (e *Exam) session(phase lanes.Phase, left time.Duration) *lanes.Session {
	now := e.Now()
	return &lanes.Session{
		ID: theSession, Group: theSession, Customer: "Jo Smith", Sold: left, Phase: phase, Left: left, Since: now, Created: now,
		Purchasing: true,
	}
}

var theSession = uuid.MustParse("5e55104e-0000-4000-8000-000000000001")
