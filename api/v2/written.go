package v2

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// What a POS asks for most, sessions and lists of them, is written here by hand: encoding/json took seven times as long for
// a list of 1,000, and 7,000 allocations. Tests hold it to what encoding/json makes of ViewOf.

// written is the session as version 2 shows it.
func written(s *lanes.SessionView) endpoint.Appender[SessionView] {
	return func(to []byte) []byte { return appendSession(to, s) }
}

// writtenAll is a list of sessions as version 2 shows it.
func writtenAll(all []*lanes.SessionView) endpoint.Appender[[]SessionView] {
	return func(to []byte) []byte { return AppendList(to, all, appendSession) }
}

// AppendList writes the sessions with commas between, each as a version shows it.
func AppendList(to []byte, all []*lanes.SessionView, each func([]byte, *lanes.SessionView) []byte) []byte {
	to = append(to, '[')
	for i, s := range all {
		if i > 0 {
			to = append(to, ',')
		}
		to = each(to, s)
	}
	return append(to, ']')
}

func appendSession(to []byte, s *lanes.SessionView) []byte { return AppendKeys(append(to, '{'), s) }

// AppendKeys writes all keys that version 2 shows of a session, and the bracket that closes them.
func AppendKeys(to []byte, s *lanes.SessionView) []byte {
	to = AppendID(append(to, `"session_id":`...), s.ID)
	to = AppendID(append(to, `,"lane_id":`...), s.Lane)
	to = AppendID(append(to, `,"group_id":`...), s.Group)
	to = strconv.AppendInt(append(to, `,"duration":`...), int64(s.Minutes), 10)
	to = append(to, `,"began_at":`...)
	if s.Began == nil {
		to = appendStamp(append(to, `null,"created_at":`...), s.Created)
		to = append(to, `,"minutes_remaining":null`...)
	} else {
		began := len(to)
		to = appendStamp(to, *s.Began)
		stamped := to[began:]
		to = append(to, `,"created_at":`...)
		if s.Created.Equal(*s.Began) { // it began at once, as most do: a quarter of the work
			to = append(to, stamped...)
		} else {
			to = appendStamp(to, s.Created)
		}
		to = appendMinutes(append(to, `,"minutes_remaining":`...), s.Remaining)
	}
	to = strconv.AppendBool(append(to, `,"enable_purchasing":`...), s.Purchasing)
	return append(to, '}')
}

// AppendID writes a UUID in quotes.
func AppendID(to []byte, id uuid.UUID) []byte {
	text := [...]byte{0: '"', 9: '-', 14: '-', 19: '-', 24: '-', 37: '"'}
	hex.Encode(text[1:9], id[:4])
	hex.Encode(text[10:14], id[4:6])
	hex.Encode(text[15:19], id[6:8])
	hex.Encode(text[20:24], id[8:10])
	hex.Encode(text[25:37], id[10:])
	return append(to, text[:]...)
}

// appendStamp writes a stamp in quotes. The package time is quick at RFC 3339 alone, which has the milliseconds to be
// put in before its Z.
func appendStamp(to []byte, t time.Time) []byte {
	to = t.UTC().AppendFormat(append(to, '"'), time.RFC3339)
	ms := int64(t.Nanosecond()) / int64(time.Millisecond)
	return append(to[:len(to)-1], '.', digit(ms/100), digit(ms/10), digit(ms), 'Z', '"')
}

// appendMinutes writes what encoding/json makes of minutes(d), which is not negative: no zeros at the end.
func appendMinutes(to []byte, d time.Duration) []byte {
	n := decimals(d)
	to = strconv.AppendInt(to, n/1e5, 10)
	if n%1e5 == 0 {
		return to
	}
	to = append(to, '.', digit(n/1e4), digit(n/1e3), digit(n/1e2), digit(n/10), digit(n))
	for to[len(to)-1] == '0' {
		to = to[:len(to)-1]
	}
	return to
}

// digit is the last one of n.
func digit(n int64) byte { return '0' + byte(n%10) }
