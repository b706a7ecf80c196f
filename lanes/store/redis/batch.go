package redis

import (
	"fmt"
	"strconv"
	"time"

	"rangegate/lanes/store"
)

// trimmed is how many records of each log a flush drops at most, besides as many as it adds.
const trimmed = 128

// maxArguments is a little less than what a server takes in one command.
const maxArguments = 1_000_000

// arguments collects what flush.lua takes.
type arguments struct {
	list  []any
	bytes int
	err   error // the first record that could not be encoded
}

func (a *arguments) add(value string) {
	a.list = append(a.list, value)
	a.bytes += len(value)
}

func (a *arguments) number(value int) { a.add(strconv.Itoa(value)) }

func (a *arguments) record(value any) {
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

// optional adds a record, or nothing for one that stays as it is stored.
func optional[T any](a *arguments, value *T) {
	if value == nil {
		a.add("")
		return
	}
	a.record(*value)
}

// newWrite is the batch as flush.lua takes it, in its order. One that replicas are to have asks them again when it is a
// repeat.
func newWrite(b store.Batch, r store.Retention, replicas int) (*write, error) {
	var a arguments
	a.add(decimal(b.Epoch))
	a.add(decimal(b.N))
	a.add(decimal(b.N - 1))
	a.add(word(b.Refill, "refill"))
	a.add(word(replicas > 0, "replicas"))

	a.add(milliseconds(b.Now.Add(-r.Events)))
	a.add(milliseconds(b.Now.Add(-r.History)))
	a.add(milliseconds(b.Now.Add(-r.Names)))
	a.number(r.Cap)
	a.number(trimmed + len(b.Events) + len(b.Ended) + len(b.Acts))
	a.logs(b)
	optional(&a, b.Checkpoint)
	optional(&a, b.Holds)

	a.number(len(b.Lanes))
	a.number(len(b.Keys))
	a.number(len(b.Forget))
	a.number(len(b.Events))
	a.number(count(b.Events, pending))
	a.number(len(b.Ended))
	a.number(count(b.Ended, named))
	a.number(len(b.Acts))
	for _, lane := range b.Lanes {
		a.add(lane.ID.String())
		a.record(lane)
	}
	for _, key := range b.Keys {
		a.add(key.Name)
		a.record(key)
	}
	for _, name := range b.Forget {
		a.add(name)
	}
	a.events(b.Events)
	a.ended(b.Ended)
	for _, act := range b.Acts {
		a.add(place(act.Cursor, act.At, string(a.encode(act))))
	}

	if a.err != nil {
		return nil, a.err
	}
	if len(a.list) > maxArguments {
		return nil, fmt.Errorf("the batch is too large: %d values", len(a.list))
	}
	return newRun(flushScript, b.Range, a.list, a.bytes), nil
}

// logs adds how far the logs go with this batch.
func (a *arguments) logs(b store.Batch) {
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

func word(is bool, word string) string {
	if is {
		return word
	}
	return ""
}

func decimal(number uint64) string { return strconv.FormatUint(number, 10) }

func milliseconds(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }

// rank is the cursor with so many digits that the order as text is that of the cursors.
func rank(cursor uint64) string {
	digits := decimal(cursor)
	return zeros[len(digits):] + digits
}

const zeros = "00000000000000000000"

// rankSize is how many digits every cursor fits in.
const rankSize = len(zeros)

// place is a record's member of a log's order: the cursor, what a flush has to know of it to trim it, and more as
// prelude.lua says.
func place(cursor uint64, at time.Time, more string) string {
	return rank(cursor) + ":" + milliseconds(at) + ":" + more
}
