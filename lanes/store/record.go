package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
)

// Version is the format of the records that this gateway writes, and the highest that it reads. Whoever adds a field
// to what is saved, or gives one another meaning, raises it. Records of the versions before are read: what they lack is
// zero.
//
//	2   what staff did, what they decided about a lane, calls for help, stray hits, time that ran while the gateway was down
//	3   the trace ids of the requests that events and purchases follow from
//	4   nothing in the records themselves: it kept older releases from files whose layout they did not know
const Version = 4

// ErrNewer: a newer version has written it.
var ErrNewer = errors.New("written by a newer version")

// Newer is ErrNewer with both versions of the format.
func Newer(version uint64) error {
	return fmt.Errorf("%w: its format is %d, this gateway reads up to %d", ErrNewer, version, Version)
}

// A record is one line of readable JSON: an object whose first key is the version of its format. Text that is not
// UTF-8 is saved with U+FFFD in place of its broken bytes; everything else comes back exactly as it was.
const versionKey = `{"v":`

// Encode makes a record of a value that JSON writes as an object.
func Encode(value any) ([]byte, error) { return Append(nil, value) }

// Append is Encode behind what is there.
func Append(to []byte, value any) ([]byte, error) {
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
	to = slices.Grow(to, len(versionKey)+len("1,")+len(fields))
	to = append(to, versionKey...)
	to = strconv.AppendInt(to, Version, 10)
	if len(fields) > len("}") {
		to = append(to, ',')
	}
	return append(to, fields...), nil
}

// writer writes JSON to a buffer that is used again.
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

// Decode reads a record. One of a newer version is refused (ErrNewer), and so is one with anything in it that is not
// known: to go on without it would be to lose it at the next write.
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
		return none, errors.New("there is something behind the record")
	}
	return value, nil
}

// unversioned is the object without its version, which has to be one that this gateway knows.
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
	fields, more := bytes.CutPrefix(rest[end:], []byte(","))
	if more && !bytes.HasPrefix(fields, []byte(`"`)) {
		return nil, errors.New("the version of its format is followed by no field")
	}
	return append([]byte("{"), fields...), nil
}
