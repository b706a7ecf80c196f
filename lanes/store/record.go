package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Version is the format of the records that this gateway writes, and the highest that it reads. A change that
// adds a field or changes its meaning raises it. Older records are read; fields that they lack are zero.
//
//	2   acts of staff, decisions about a lane, calls for help, stray hits, time that ran while the gateway was down
//	3   the trace ids of the requests behind events and purchases
//	4   the same records: it kept older releases from a new file format
//	5   the offset of a checkpoint's wall clock, what the POS knows a session by, attempts beyond the first and what follows from them,
//	    lanes that are not clear, names and prices of what was bought, what each event follows from,
//	    what lanes wait between sessions, ranges that were forgotten
const Version = 5

// ErrNewer means that a newer version has written the record or the store.
var ErrNewer = errors.New("written by a newer version")

// Newer returns ErrNewer with both versions of the format.
func Newer(version uint64) error {
	return fmt.Errorf("%w: its format is %d, this gateway reads up to %d", ErrNewer, version, Version)
}

// A record is one line of readable JSON: an object whose first key is the version. Text that is not UTF-8 is saved with
// U+FFFD for its invalid bytes; every other value survives exactly.
const versionKey = `{"v":`

// Encode makes a record of a value that encodes as a JSON object.
func Encode(value any) ([]byte, error) {
	w := writers.Get().(*writer)
	defer writers.Put(w)
	w.body.Reset()
	if err := w.json.Encode(value); err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	fields, isObject := bytes.CutPrefix(bytes.TrimSpace(w.body.Bytes()), []byte("{"))
	if !isObject {
		return nil, fmt.Errorf("encode record: %T is not an object", value)
	}
	record := make([]byte, 0, len(versionKey)+len("1,")+len(fields))
	record = append(record, versionKey...)
	record = strconv.AppendInt(record, Version, 10)
	if len(fields) > len("}") {
		record = append(record, ',')
	}
	return append(record, fields...), nil
}

// writer encodes JSON to a buffer that is reused.
type writer struct {
	body bytes.Buffer
	json *json.Encoder
}

var writers = sync.Pool{New: func() any {
	w := new(writer)
	w.json = json.NewEncoder(&w.body)
	w.json.SetEscapeHTML(false)
	return w
}}

// Decode reads a record. It refuses a newer version (ErrNewer), and an unknown field, which the next write would lose.
func Decode[T any](record []byte) (T, error) {
	var value T
	body, err := unversioned(record)
	if err != nil {
		return value, err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		var none T
		return none, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		var none T
		return none, errors.New("data follows the record")
	}
	return value, nil
}

// unversioned returns the object without its version, after a check of the version.
func unversioned(record []byte) ([]byte, error) {
	rest, found := bytes.CutPrefix(record, []byte(versionKey))
	end := bytes.IndexAny(rest, ",}")
	if !found || end < 0 {
		return nil, errors.New("it does not begin with the version of its format")
	}
	version, err := strconv.ParseUint(string(rest[:end]), 10, 32)
	switch {
	case err != nil || version == 0:
		return nil, fmt.Errorf("the version of its format is not a number from 1 up: %.20q", rest[:end])
	case version > Version:
		return nil, Newer(version)
	}
	fields, hasFields := bytes.CutPrefix(rest[end:], []byte(","))
	if hasFields && !bytes.HasPrefix(fields, []byte(`"`)) {
		return nil, errors.New("the version of its format is followed by no field")
	}
	return append([]byte("{"), fields...), nil
}
