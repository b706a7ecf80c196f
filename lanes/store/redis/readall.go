package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// readTogether is how many records of a log are asked for at once.
const readTogether = 1000

const knownLayout = "1" // as in prelude.lua

// reading is one range being read with single commands, so that others are served meanwhile. That all of it was of one
// instant shows in the pair (epoch, n), which every write of the range changes.
type reading struct {
	*Reader
	ctx   context.Context
	keys  rangeKeys
	visit func(store.Record) error
}

func (r *reading) all() error {
	meta, err := r.hash(r.keys.meta)
	if err != nil {
		return err
	}
	if layout := meta["layout"]; layout != "" && layout != knownLayout { // nothing in it is where it would be looked for
		return r.bad(r.keys.meta, fmt.Sprintf("written in layout %s, this version knows %s", layout, knownLayout))
	}
	for _, read := range []func() error{
		func() error { return r.own(meta) }, r.lanes, r.answers, func() error { return r.holds(meta) }, r.events, r.history,
	} {
		if err := read(); err != nil {
			return err
		}
	}
	after, err := r.hash(r.keys.meta)
	if err == nil && (meta["epoch"] != after["epoch"] || meta["n"] != after["n"]) {
		err = r.failed(store.ErrChanging)
	}
	return err
}

// bad tells of what cannot be read.
func (r *reading) bad(record, why string) error {
	return r.visit(store.Record{Name: record, Err: errors.New(why)})
}

// hash reads a whole hash. One that holds something else, of whoever, is told of and reads as empty.
func (r *reading) hash(key string) (map[string]string, error) {
	fields, err := r.client.HGetAll(r.ctx, key).Result()
	return fields, r.unlessForeign(key, err)
}

// unlessForeign is the error, unless it is that the key is of another type.
func (r *reading) unlessForeign(key string, err error) error {
	switch {
	case err == nil:
		return nil
	case goredis.HasErrorPrefix(err, "WRONGTYPE"):
		return r.bad(key, "it holds something else")
	}
	return r.failed(err)
}

// own reads what the range says of itself.
func (r *reading) own(meta map[string]string) error {
	standing, err := standingOf(meta)
	if err != nil {
		return r.visit(store.Record{Name: r.keys.meta, Err: err})
	}
	if err := r.visit(store.Record{Name: r.keys.meta, Value: standing}); err != nil {
		return err
	}
	if record, there := meta["checkpoint"]; there {
		return r.visit(recordOf[lanes.Checkpoint]("checkpoint", record))
	}
	return nil
}

func standingOf(meta map[string]string) (s store.Standing, err error) {
	if len(meta) == 0 {
		return s, errors.New("it is gone")
	}
	for field, number := range map[string]*uint64{
		"epoch": &s.Epoch, "n": &s.N, "last_event": &s.LastEvent, "last_ended": &s.LastEnded,
	} {
		text, there := meta[field]
		if !there && strings.HasPrefix(field, "last_") { // none was ever given
			continue
		}
		if *number, err = strconv.ParseUint(text, 10, 64); err != nil {
			return s, fmt.Errorf("its %s is no number: %q", field, text)
		}
	}
	return s, nil
}

func (r *reading) holds(meta map[string]string) error {
	if record, there := meta["holds"]; there {
		return r.visit(recordOf[lanes.Holds]("holds", record))
	}
	return nil
}

func recordOf[T any](name, record string) store.Record {
	v, err := store.Decode[T]([]byte(record))
	if err != nil {
		return store.Record{Name: name, Err: err}
	}
	return store.Record{Name: name, Value: v}
}

var errElsewhere = errors.New("it stands under another record's name")

// each tells of the fields of a hash, by their names.
func (r *reading) each(key string, read func(field, record string) store.Record) error {
	fields, err := r.hash(key)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := r.visit(read(name, fields[name])); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) lanes() error {
	return r.each(r.keys.lanes, func(id, text string) store.Record {
		record := recordOf[lanes.Snapshot]("lane "+id, text)
		if lane, readable := record.Value.(lanes.Snapshot); readable && lane.ID.String() != id {
			record.Err = errElsewhere
		}
		return record
	})
}

func (r *reading) answers() error {
	return r.each(r.keys.answers, func(name, text string) store.Record {
		record := recordOf[lanes.KeptAnswer](fmt.Sprintf("idempotency key %q", name), text)
		if kept, readable := record.Value.(lanes.KeptAnswer); readable && kept.Name != name {
			record.Err = errElsewhere
		}
		return record
	})
}

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

// log tells of a log's records in their order.
func (r *reading) log(order, records, kind string, read func(at, cursor, text string) store.Record) error {
	for from := "-"; ; {
		places, err := r.client.ZRangeByLex(r.ctx, order, &goredis.ZRangeBy{Min: from, Max: "+", Count: readTogether}).Result()
		if err := r.unlessForeign(order, err); err != nil || len(places) == 0 {
			return err
		}
		from = "(" + places[len(places)-1]
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
	}
}
