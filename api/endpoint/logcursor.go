package endpoint

import (
	"fmt"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// LogCursor is a position in a range's event log or history, as clients keep it: behind the record with that number.
//
// Its text has digits only, as cursors always had: the number, seven digits of the log and three that check
// both. A text that these do not fit is a plain number: from before cursors named their log, 0 for the
// beginning, or damaged by a client that computes with it.
type LogCursor struct {
	Log    uint64 // 0: it does not say
	Number uint64
	Latest bool // the end of the log, wherever that is; then the others are 0
}

// Latest is the word for the end of a log.
const Latest = "latest"

const (
	logDigits   = 7
	maxLogID    = 9_999_999 // as many digits
	checkDigits = 3
	checkPrime  = 997
)

// String returns the cursor as clients keep it.
func (c LogCursor) String() string {
	if c.Log == 0 {
		return strconv.FormatUint(c.Number, 10)
	}
	return fmt.Sprintf("%d%0*d%0*d", c.Number, logDigits, c.Log, checkDigits, c.check())
}

func (c LogCursor) check() uint64 {
	return (c.Number%checkPrime*389 + c.Log%checkPrime*601 + 1) % checkPrime
}

// maxCursor is the length of the longest cursor that is read.
const maxCursor = 18 + logDigits + checkDigits

// parseLogCursor parses the text of a cursor.
func parseLogCursor(s string) (c LogCursor, ok bool) {
	if s == "" || len(s) > maxCursor {
		return c, false
	}
	if split := len(s) - logDigits - checkDigits; split > 0 {
		number, err1 := strconv.ParseUint(s[:split], 10, 63)
		log, err2 := strconv.ParseUint(s[split:split+logDigits], 10, 63)
		check, err3 := strconv.ParseUint(s[split+logDigits:], 10, 63)
		c = LogCursor{Log: log, Number: number}
		if err1 == nil && err2 == nil && err3 == nil && 0 < log && log <= maxLogID && check == c.check() {
			return c, true
		}
	}
	number, err := strconv.ParseUint(s, 10, 63)
	return LogCursor{Number: number}, err == nil
}

// logCursor is a LogCursor that an earlier answer had, 0 for the beginning of the log or, if latest is set,
// the word for its end. An empty text is one for the beginning only if empty is set.
type logCursor struct{ latest, empty bool }

func (k logCursor) parse(s string, form valueForm) (LogCursor, bool) {
	if k.empty && s == "" {
		return LogCursor{}, true
	}
	if k.latest && s == Latest {
		return LogCursor{Latest: true}, form != literal
	}
	c, ok := parseLogCursor(s)
	return c, ok && form != literal
}

func (k logCursor) rule() string {
	if k.latest {
		return "a cursor from an earlier answer, 0 for the beginning or " + Latest
	}
	return "a cursor from an earlier answer"
}

func (k logCursor) schema() *openapi3.Schema {
	shortest := 1
	if k.empty {
		shortest = 0
	}
	pattern := fmt.Sprintf("^[0-9]{%d,%d}$", shortest, maxCursor)
	if k.latest {
		pattern = fmt.Sprintf("^([0-9]{%d,%d}|%s)$", shortest, maxCursor, Latest)
	}
	return openapi3.NewStringSchema().WithPattern(pattern).WithMinLength(int64(shortest)).WithMaxLength(maxCursor)
}
