package archive

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Contents is what there is of a range, counted.
type Contents struct {
	Range    uuid.UUID
	Meta     store.RangeMeta
	LastSeen time.Time // by its checkpoint; zero: it has none

	Lanes     int
	Sessions  int // lanes with one
	Purchases int // that wait for staff or for their answer
	Keys      int
	Holds     int // in force
	Events    int
	Pending   int // events that nobody has begun to deliver
	Ended     int
	Acts      int // of staff
	Records   int

	event, ended, act uint64 // the last cursors
	seen              map[string]bool
}

// add counts a record. What does not go together with the others is an error.
func (c *Contents) add(value any) error {
	c.Records++
	switch v := value.(type) {
	case store.RangeMeta:
		c.Meta = v
		return c.once("how it stands")
	case lanes.Checkpoint:
		c.LastSeen = v.At.Wall
		return c.once("checkpoint")
	case lanes.Snapshot:
		c.Lanes++
		c.Purchases += len(v.Purchases())
		if v.Session != nil {
			c.Sessions++
			if err := c.once("session " + v.Session.ID.String()); err != nil {
				return err
			}
		}
		return c.once("lane " + v.ID.String())
	case lanes.KeptAnswer:
		c.Keys++
		return c.once("key " + v.Name)
	case lanes.Holds:
		c.Holds = len(v.InForce)
		return c.once("holds")
	case lanes.Logged:
		c.Events++
		if v.Attempt == nil {
			c.Pending++
		}
		return ascends(&c.event, v.Cursor)
	case lanes.Ended:
		c.Ended++
		return ascends(&c.ended, v.Cursor)
	case lanes.Act:
		c.Acts++
		return ascends(&c.act, v.Cursor)
	}
	return nil
}

// once is an error for what is there again.
func (c *Contents) once(record string) error {
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	if c.seen[record] {
		return fmt.Errorf("%s is there twice", record)
	}
	c.seen[record] = true
	return nil
}

func ascends(last *uint64, cursor uint64) error {
	if cursor <= *last {
		return fmt.Errorf("its cursor %d comes behind %d", cursor, *last)
	}
	*last = cursor
	return nil
}

// together is an error when something is missing. A cursor beyond the last one that the range says it gave would be
// given again.
func (c *Contents) together() error {
	switch s := c.Meta; {
	case !c.seen["how it stands"]:
		return errors.New("how it stands is missing")
	case c.event > s.LastEvent:
		return fmt.Errorf("the last event is %d, and it says %d", c.event, s.LastEvent)
	case c.ended > s.LastEnded:
		return fmt.Errorf("the last ended session is %d, and it says %d", c.ended, s.LastEnded)
	case c.act > s.LastAct:
		return fmt.Errorf("the last act is %d, and it says %d", c.act, s.LastAct)
	}
	return nil
}
