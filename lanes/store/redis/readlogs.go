package redis

import (
	"errors"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// readTogether is how many records of a log are asked for at once.
const readTogether = 1000

func (r *reading) events() error {
	ranks, err := r.client.ZRange(r.ctx, r.keys.pending, 0, -1).Result()
	if err := r.unlessForeign(r.keys.pending, err); err != nil {
		return err
	}
	pending := make(map[string]bool, len(ranks))
	for _, rank := range ranks {
		pending[rank] = true
	}
	err = r.log(r.keys.eventsOrder, r.keys.events, "event ", func(at, cursor, text string) store.Record {
		record := recordOf[lanes.Logged]("event "+cursor, text)
		event, readable := record.Value.(lanes.Logged)
		stands := pending[at[:min(len(at), rankSize)]]
		delete(pending, at[:min(len(at), rankSize)])
		switch {
		case !readable:
		case place(event.Cursor, event.Event.At, "") != at:
			record.Err = errElsewhere
		case stands && event.Attempt != nil:
			record.Err = errors.New("it was attempted, and stands among the pending ones")
		case !stands && event.Attempt == nil:
			record.Err = errors.New("it is pending, and does not stand among the pending ones")
		}
		return record
	})
	for _, rank := range ranks {
		if err == nil && pending[rank] {
			err = r.bad("event "+strings.TrimLeft(rank, "0"), "it is pending, and there is no such event")
		}
	}
	return err
}

func (r *reading) history() error {
	names, err := r.hash(r.keys.names)
	if err != nil {
		return err
	}
	sessions, err := r.hash(r.keys.sessions)
	if err != nil {
		return err
	}
	return r.log(r.keys.historyOrder, r.keys.history, "ended session ", func(at, cursor, text string) store.Record {
		record := recordOf[lanes.Ended]("ended session "+cursor, text)
		ended, readable := record.Value.(lanes.Ended)
		if !readable {
			return record
		}
		ended.Session.Customer = names[cursor]
		record.Value = ended
		id := ended.Session.ID.String()
		switch {
		case place(ended.Cursor, ended.At, id) != at:
			record.Err = errElsewhere
		case sessions[id] == "":
			record.Err = fmt.Errorf("session %s would not be found by its id", id)
		}
		return record
	})
}

// acts tells of what staff did. Of a place that is damaged not even the cursor is known.
func (r *reading) acts() error {
	return r.order(r.keys.acts, func(places []string) error {
		for _, at := range places {
			parts := strings.SplitN(at, ":", 3)
			if len(parts) < 3 {
				if err := r.bad(r.keys.acts, fmt.Sprintf("not what was written: %.64q", at)); err != nil {
					return err
				}
				continue
			}
			record := recordOf[lanes.Act]("act "+strings.TrimLeft(parts[0], "0"), parts[2])
			if act, readable := record.Value.(lanes.Act); readable && place(act.Cursor, act.At, parts[2]) != at {
				record.Err = errElsewhere
			}
			if err := r.visit(record); err != nil {
				return err
			}
		}
		return nil
	})
}

// order gives the places of a log, some at a time.
func (r *reading) order(key string, give func(places []string) error) error {
	for from := "-"; ; {
		places, err := r.client.ZRangeByLex(r.ctx, key, &goredis.ZRangeBy{Min: from, Max: "+", Count: readTogether}).Result()
		if err := r.unlessForeign(key, err); err != nil || len(places) == 0 {
			return err
		}
		from = "(" + places[len(places)-1]
		if err := give(places); err != nil {
			return err
		}
	}
}

// log tells of a log's records in their order.
func (r *reading) log(order, records, kind string, read func(at, cursor, text string) store.Record) error {
	return r.order(order, func(places []string) error {
		cursors := make([]string, len(places))
		for i, place := range places {
			rank, _, _ := strings.Cut(place, ":")
			cursors[i] = strings.TrimLeft(rank, "0")
		}
		found, err := r.client.HMGet(r.ctx, records, cursors...).Result()
		if err := r.unlessForeign(records, err); err != nil {
			return err
		}
		for i, place := range places {
			text, there := answer(found).text(i), i < len(found) && found[i] != nil
			if there {
				err = r.visit(read(place, cursors[i], text))
			} else {
				err = r.bad(kind+cursors[i], "there is no such record")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
