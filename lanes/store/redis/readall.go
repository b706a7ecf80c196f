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
	if text, there := meta["layout"]; there { // of a newer one nothing may be where it would be looked for
		if err := foreign(text); err != nil {
			return r.bad(r.keys.meta, err.Error())
		}
	}
	for _, read := range []func() error{
		func() error { return r.own(meta) }, r.lanes, r.answers, func() error { return r.holds(meta) }, r.events, r.history, r.acts,
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
		"last_act": &s.LastAct,
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
