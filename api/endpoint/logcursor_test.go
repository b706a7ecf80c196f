package endpoint

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// What a cursor says comes back from its text, which has digits only.
func TestACursorIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := LogCursor{
			Log:    rapid.Uint64Range(1, lanes.MaxLogID).Draw(t, "log"),
			Number: rapid.Uint64Range(0, 1<<59).Draw(t, "number"),
		}
		require.Regexp(t, "^[0-9]{11,28}$", c.String())
		read, ok := parseLogCursor(c.String())
		require.True(t, ok)
		require.Equal(t, c, read)
	})
}

// A cursor that a client has computed with, or rounded as a float64, is not taken for one of a log.
func TestACursorThatWasComputedWith(t *testing.T) {
	c := LogCursor{Log: 1234567, Number: 900_719_925}
	for _, changed := range []string{
		"9007199251234567001", "9007199251234568000", "99999999999", "00000000000",
		"9999999999999999999",
	} {
		require.NotEqual(t, changed, c.String())
		read, ok := parseLogCursor(changed)
		require.True(t, !ok || read.Log == 0, "%s: %+v", changed, read)
	}
}

// The numbers that clients have from before are those of cursors that do not name their log.
func TestAPlainNumberIsACursor(t *testing.T) {
	for text, number := range map[string]uint64{
		"0": 0, "7": 7, "1042": 1042, "0001042": 1042,
		"9999999999": 9_999_999_999, "9223372036854775807": 1<<63 - 1,
	} {
		c, ok := parseLogCursor(text)
		require.True(t, ok, text)
		require.Equal(t, LogCursor{Number: number}, c)
	}
	for _, text := range []string{"", "-1", "+1", " 1", "1.0", "1e3", "x", "9223372036854775808"} {
		_, ok := parseLogCursor(text)
		require.False(t, ok, text)
	}
}
