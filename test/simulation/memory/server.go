package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Server has what is stored. Its methods are safe for concurrent use.
type Server struct {
	mu     sync.Mutex
	name   string // of this server and of its clock
	served int    // how many servers there were, by fail-overs
	// servesSince is when this one took the place of another one; zero for one that begins empty.
	servesSince time.Time
	data        data
	watchers    map[chan store.Ownership]bool
}

// data is everything that a fail-over replaces.
type data struct {
	ranges    map[uuid.UUID]*rangeData
	leases    map[uuid.UUID]lease
	secret    *[32]byte
	signedOut map[[32]byte]time.Time
}

// NewServer returns an empty one.
func NewServer() *Server {
	s := &Server{watchers: map[chan store.Ownership]bool{}}
	s.serve(data{
		ranges: map[uuid.UUID]*rangeData{}, leases: map[uuid.UUID]lease{},
		signedOut: map[[32]byte]time.Time{},
	}, time.Time{})
	return s
}

// serve begins another server with that data, in the place of one since that time.
func (s *Server) serve(d data, since time.Time) {
	s.served++
	s.name, s.data, s.servesSince = fmt.Sprint("server ", s.served), d, since
}

// Copy returns what is stored now.
func (s *Server) Copy() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.data.clone()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.serve(kept.clone(), time.Now())
	}
}

// Former returns another server with everything that is stored now, and the same name: after a fail-over the master of
// before, which goes on for whoever is still connected to it.
func (s *Server) Former() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Server{
		name: s.name, served: s.served, servesSince: s.servesSince, data: s.data.clone(),
		watchers: map[chan store.Ownership]bool{},
	}
}

// Wipe removes everything.
func (s *Server) Wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serve(data{
		ranges: map[uuid.UUID]*rangeData{}, leases: map[uuid.UUID]lease{},
		signedOut: map[[32]byte]time.Time{},
	}, time.Time{})
}

func (d data) clone() data {
	d.leases, d.signedOut = maps.Clone(d.leases), maps.Clone(d.signedOut)
	ranges := make(map[uuid.UUID]*rangeData, len(d.ranges))
	for id, r := range d.ranges {
		ranges[id] = r.clone()
	}
	d.ranges = ranges
	if d.secret != nil {
		d.secret = new(*d.secret)
	}
	return d
}

// rangeData is one range. Records are kept encoded, so that nothing that a caller changes later reaches them.
type rangeData struct {
	store.RangeMeta
	owner      store.Node
	checkpoint record
	holds      record
	lanes      map[uuid.UUID]record
	keys       map[string]record
	events     log
	ended      log
	acts       log
	nameless   uint64 // the history has no names up to this cursor
}

type record []byte

// log is a log of records, by cursor.
type log []entry

// entry is a record with what is known of it without reading it.
type entry struct {
	cursor   uint64
	at       time.Time
	pending  bool      // of an event
	session  uuid.UUID // of an ended session
	external string    // likewise
	record   record
}

func newRange() *rangeData {
	return &rangeData{lanes: map[uuid.UUID]record{}, keys: map[string]record{}}
}

func (r *rangeData) clone() *rangeData {
	c := *r
	c.lanes, c.keys = maps.Clone(r.lanes), maps.Clone(r.keys)
	c.events, c.ended, c.acts = slices.Clone(r.events), slices.Clone(r.ended), slices.Clone(r.acts)
	return &c
}

// put appends an entry, or replaces the one with its cursor.
func (l *log) put(e entry) {
	at, found := slices.BinarySearchFunc(*l, e.cursor, func(e entry, cursor uint64) int {
		switch {
		case e.cursor < cursor:
			return -1
		case e.cursor > cursor:
			return 1
		}
		return 0
	})
	if found {
		(*l)[at] = e
		return
	}
	*l = slices.Insert(*l, at, e)
}

// behind returns the entries behind the cursor, at most so many.
func (l log) behind(after uint64, limit int) log {
	from := slices.IndexFunc(l, func(e entry) bool { return e.cursor > after })
	if from < 0 || limit <= 0 {
		return nil
	}
	return l[from:min(len(l), from+min(limit, len(l)))]
}

// encodedBatch are the records of a batch.
type encodedBatch struct {
	checkpoint, holds   record
	lanes               map[uuid.UUID]record
	keys                map[string]record
	events, ended, acts []entry
}

// encode encodes a batch: store.ErrRefused.
func encode(b store.Batch) (encodedBatch, error) {
	var errs []error
	one := func(value any) record {
		encoded, err := store.Encode(value)
		errs = append(errs, err)
		return encoded
	}
	e := encodedBatch{lanes: map[uuid.UUID]record{}, keys: map[string]record{}}
	if b.Checkpoint != nil {
		e.checkpoint = one(*b.Checkpoint)
	}
	if b.Holds != nil {
		e.holds = one(*b.Holds)
	}
	for _, lane := range b.Lanes {
		e.lanes[lane.ID] = one(lane)
	}
	for _, key := range b.Keys {
		e.keys[key.Name] = one(key)
	}
	for _, event := range b.Events {
		e.events = append(e.events, entry{
			cursor: event.Cursor, at: event.Event.At, pending: event.Pending(),
			record: one(event),
		})
	}
	for _, ended := range b.Ended {
		e.ended = append(e.ended, entry{
			cursor: ended.Cursor, at: ended.At, session: ended.Session.ID,
			external: ended.Session.Correlation.IDOrNone(), record: one(ended),
		})
	}
	for _, act := range b.Acts {
		e.acts = append(e.acts, entry{cursor: act.Cursor, at: act.At, record: one(act)})
	}
	if err := errors.Join(errs...); err != nil {
		return e, fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	return e, nil
}

// flush applies a batch, as package store describes it.
func (s *Server) flush(b store.Batch, e encodedBatch, retention store.Retention) error {
	r := s.data.ranges[b.Range]
	if r == nil {
		r = newRange()
	}
	switch {
	case r.Epoch > b.Epoch:
		return fmt.Errorf("%w: its epoch is %d, this one is %d", store.ErrFenced, r.Epoch, b.Epoch)
	case r.Epoch == b.Epoch && r.N >= b.N:
		return nil
	case !b.Refill && (r.Epoch != b.Epoch || r.N+1 != b.N):
		return fmt.Errorf("%w: it has (%d, %d) and is given (%d, %d)", store.ErrRolledBack, r.Epoch, r.N, b.Epoch, b.N)
	}
	s.data.ranges[b.Range] = r
	r.write(b, e)
	r.trim(b, retention)
	return nil
}

func (r *rangeData) write(b store.Batch, e encodedBatch) {
	r.Epoch, r.N = b.Epoch, b.N
	if b.Release {
		r.owner = store.Node{}
	}
	if b.Refill { // it has every lane
		clear(r.lanes)
	}
	if e.checkpoint != nil {
		r.checkpoint = e.checkpoint
	}
	if e.holds != nil {
		r.holds = e.holds
	}
	maps.Copy(r.lanes, e.lanes)
	for _, key := range b.Keys {
		if _, found := r.keys[key.Name]; !found || !key.InStore {
			r.keys[key.Name] = e.keys[key.Name]
		}
	}
	for _, name := range b.Forget {
		delete(r.keys, name)
	}
	for _, event := range e.events {
		r.events.put(event)
		r.LastEvent = max(r.LastEvent, event.cursor)
	}
	for _, ended := range e.ended {
		r.ended.put(ended)
		r.LastEnded = max(r.LastEnded, ended.cursor)
		r.nameless = min(r.nameless, ended.cursor-1) // a refill writes the name again
	}
	for _, act := range e.acts {
		r.acts.put(act)
		r.LastAct = max(r.LastAct, act.cursor)
	}
	r.LastEvent, r.LastEnded, r.LastAct = max(r.LastEvent, b.LastEvent), max(r.LastEnded, b.LastEnded),
		max(r.LastAct, b.LastAct)
}

// trimStep is how many records of a log a flush trims at most, besides twice as many as it added.
const trimStep = 64

func (r *rangeData) trim(b store.Batch, retention store.Retention) {
	r.events.trim(retention.Cap, b.Now.Add(-retention.Events), trimStep+2*len(b.Events))
	r.ended.trim(retention.Cap, b.Now.Add(-retention.History), trimStep+2*len(b.Ended))
	r.acts.trim(retention.Cap, b.Now.Add(-retention.History), trimStep+2*len(b.Acts))
	before := b.Now.Add(-retention.Names)
	for i := range r.ended {
		e := &r.ended[i]
		if e.cursor <= r.nameless {
			continue
		}
		if !e.at.Before(before) {
			return
		}
		r.nameless = e.cursor
		if ended, err := store.Decode[lanes.Ended](e.record); err == nil {
			ended.Session.Customer = ""
			e.record, _ = store.Encode(ended) // it was encoded before
		}
	}
}

// trim removes the oldest records that are over the cap or were made before that time, at most so many.
func (l *log) trim(limit int, before time.Time, most int) {
	trimmed := 0
	for _, e := range *l {
		if trimmed == most || e.pending || len(*l)-trimmed <= limit && !e.at.Before(before) {
			break
		}
		trimmed++
	}
	*l = slices.Clone((*l)[trimmed:])
}
