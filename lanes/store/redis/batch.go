package redis

import (
	"fmt"
	"strconv"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// trimLimit is how many records of each log a flush trims at most, besides as many as it adds.
const trimLimit = 128

// maxArguments is a little less than the server's limit for one command.
const maxArguments = 1_000_000

// arguments collects the ARGV of flush.lua.
type arguments struct {
	list  []any
	bytes int
	err   error // of the first record that could not be encoded
}

func (a *arguments) add(value string) {
	a.list = append(a.list, value)
	a.bytes += len(value)
}

func (a *arguments) addNumber(value int) { a.add(strconv.Itoa(value)) }

func (a *arguments) addRecord(value any) {
	record := a.encode(value)
	a.list = append(a.list, record)
	a.bytes += len(record)
}

func (a *arguments) encode(value any) []byte {
	record, err := store.Encode(value)
	if err != nil && a.err == nil {
		a.err = err
	}
	return record
}

// addOptional adds a record, or an empty one, which leaves the stored record as it is.
func addOptional[T any](a *arguments, value *T) {
	if value == nil {
		a.add("")
		return
	}
	a.addRecord(*value)
}

// newFlush makes the run of flush.lua that writes the batch. With replicas, a repeat waits for them again.
func newFlush(b store.Batch, r store.Retention, replicas int) (*write, error) {
	var a arguments
	a.add(decimal(b.Epoch))
	a.add(decimal(b.N))
	a.add(decimal(b.N - 1))
	a.add(flag(b.Refill, "refill"))
	a.add(flag(replicas > 0, "replicas"))

	a.add(milliseconds(b.Now.Add(-r.Events)))
	a.add(milliseconds(b.Now.Add(-r.History)))
	a.add(milliseconds(b.Now.Add(-r.Names)))
	a.addNumber(r.Cap)
	a.addNumber(trimLimit + len(b.Events) + len(b.Ended) + len(b.Acts))
	a.addLastCursors(b)
	addOptional(&a, b.Checkpoint)
	addOptional(&a, b.Holds)

	a.addNumber(len(b.Lanes))
	a.addNumber(len(b.Keys))
	a.addNumber(len(b.Forget))
	a.addNumber(len(b.Events))
	a.addNumber(count(b.Events, isPending))
	a.addNumber(len(b.Ended))
	a.addNumber(count(b.Ended, hasName))
	a.addNumber(len(b.Acts))
	for _, lane := range b.Lanes {
		a.add(lane.ID.String())
		a.addRecord(lane)
	}
	for _, key := range b.Keys {
		a.add(key.Name)
		a.addRecord(key)
	}
	for _, name := range b.Forget {
		a.add(name)
	}
	a.addEvents(b.Events)
	a.addEnded(b.Ended)
	for _, act := range b.Acts {
		a.add(orderEntry(act.Cursor, act.At, string(a.encode(act))))
	}

	if a.err != nil {
		return nil, a.err
	}
	if len(a.list) > maxArguments {
		return nil, fmt.Errorf("the batch is too large: %d values", len(a.list))
	}
	return newWrite(flushScript, b.Range, a.list, a.bytes), nil
}

// addLastCursors adds the last cursor of each log, this batch included.
func (a *arguments) addLastCursors(b store.Batch) {
	lastEvent, lastEnded, lastAct := b.LastEvent, b.LastEnded, b.LastAct
	for _, event := range b.Events {
		lastEvent = max(lastEvent, event.Cursor)
	}
	for _, ended := range b.Ended {
		lastEnded = max(lastEnded, ended.Cursor)
	}
	for _, act := range b.Acts {
		lastAct = max(lastAct, act.Cursor)
	}
	a.add(decimal(lastEvent))
	a.add(decimal(lastEnded))
	a.add(decimal(lastAct))
}

// addEvents adds cursor and record of each event, then the order entries, then the scores and padded cursors of the
// pending events, then the padded cursors of the others. An event may come twice in a batch, pending and attempted: the
// script removes the attempted ones from the pending set last.
func (a *arguments) addEvents(events []lanes.Logged) {
	entries := make([]string, len(events))
	for i, event := range events {
		a.add(decimal(event.Cursor))
		a.addRecord(event)
		entries[i] = orderEntry(event.Cursor, event.Event.At, "")
	}
	for _, entry := range entries {
		a.add(entry)
	}
	for i, event := range events {
		if isPending(event) {
			a.add("0") // the score
			a.add(entries[i][:cursorDigits])
		}
	}
	for i, event := range events {
		if !isPending(event) {
			a.add(entries[i][:cursorDigits])
		}
	}
}

func isPending(event lanes.Logged) bool { return event.Attempt == nil }

// addEnded adds cursor and record of each session, without the customer's name, then the order entries, then session ids
// with cursors, then cursors with names.
func (a *arguments) addEnded(sessions []lanes.Ended) {
	for _, ended := range sessions {
		ended.Session.Customer = ""
		a.add(decimal(ended.Cursor))
		a.addRecord(ended)
	}
	for _, ended := range sessions {
		a.add(orderEntry(ended.Cursor, ended.At, ended.Session.ID.String()))
	}
	for _, ended := range sessions {
		a.add(ended.Session.ID.String())
		a.add(decimal(ended.Cursor))
	}
	for _, ended := range sessions {
		if hasName(ended) {
			a.add(decimal(ended.Cursor))
			a.add(ended.Session.Customer)
		}
	}
}

func hasName(ended lanes.Ended) bool { return ended.Session.Customer != "" }

// count returns how many values match.
func count[T any](values []T, match func(T) bool) (n int) {
	for _, value := range values {
		if match(value) {
			n++
		}
	}
	return n
}

func flag(set bool, name string) string {
	if set {
		return name
	}
	return ""
}

func decimal(number uint64) string { return strconv.FormatUint(number, 10) }

func milliseconds(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }

// paddedCursor writes the cursor with 20 digits: the order of the texts is that of the cursors.
func paddedCursor(cursor uint64) string {
	digits := decimal(cursor)
	return zeros[len(digits):] + digits
}

const (
	zeros        = "00000000000000000000"
	cursorDigits = len(zeros) // enough for every uint64
)

// orderEntry is a record's member of the sorted set that orders its log: the cursor, the time for trimming, and the
// session id of an ended session or the record of an act.
func orderEntry(cursor uint64, at time.Time, detail string) string {
	return paddedCursor(cursor) + ":" + milliseconds(at) + ":" + detail
}
