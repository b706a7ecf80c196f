package archive_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/archive"
)

func openErr(text string) error {
	_, err := archive.Open(strings.NewReader(text))
	return err
}

// Open notices every difference from what was written.
func TestADamagedFileIsNoticed(t *testing.T) {
	t.Parallel()
	source := file(t)
	s := source.serve(t, keepAll)
	epoch, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	for n := uint64(1); n <= 4; n++ {
		require.NoError(t, s.Flush(t.Context(), batchOf(ids[0], epoch, n)))
	}
	require.NoError(t, s.Close())
	exported := source.export(t)
	require.NoError(t, openErr(exported))

	for size := range len(exported) {
		if size%7 == 0 || size > len(exported)-200 {
			require.Error(t, openErr(exported[:size]), "cut to %d of %d", size, len(exported))
		}
	}
	for offset := 0; offset < len(exported); offset += 5 {
		flipped := []byte(exported)
		flipped[offset] ^= 1 << (offset % 8)
		require.Error(t, openErr(string(flipped)), "bit %d of byte %d", offset%8, offset)
	}
	lines := slices.Collect(strings.Lines(exported))
	for offset := len(exported) - len(lines[len(lines)-1]); offset < len(exported); offset++ { // which no sum covers
		for bit := range 8 {
			flipped := []byte(exported)
			flipped[offset] ^= 1 << bit
			require.Error(t, openErr(string(flipped)), "bit %d of byte %d: %s", bit, offset, flipped[offset:])
		}
	}
	for i := range lines {
		require.Error(t, openErr(strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")), "without line %d", i+1)
		require.Error(t, openErr(strings.Join(slices.Insert(slices.Clone(lines), i, lines[i]), "")),
			"line %d twice", i+1)
	}
	require.ErrorContains(t, openErr(exported+"x"), "follows the last line")
	require.ErrorContains(t, openErr(exported+exported), "follows the last line")
	require.ErrorContains(t, openErr(exported[:len(exported)-1]), "cut short")
	for _, text := range []string{"x\n", "{}\n", "[1]\n", `{"kind":"lane"}` + "\n"} {
		require.ErrorContains(t, openErr(text), "no file that was exported")
	}
}

// signed returns a file with those lines and the right last line.
func signed(ranges, records int, lines ...string) string {
	text := `{"kind":"archive","record":{"v":2,"at":"2026-11-21T09:00:00Z"}}` + "\n" + strings.Join(lines, "\n")
	if len(lines) > 0 {
		text += "\n"
	}
	return text + fmt.Sprintf(`{"kind":"end","record":{"v":2,"ranges":%d,"records":%d,"sha256":"%x"}}`+"\n",
		ranges, records, sha256.Sum256([]byte(text)))
}

// The records of a file are checked, although its sum is right.
func TestRecordsThatContradictEachOther(t *testing.T) {
	t.Parallel()
	line := func(id, kind, record string) string {
		return fmt.Sprintf(`{"kind":"%s","range":"%s-0000-4000-8000-000000000000","record":%s}`, kind, id, record)
	}
	const first, second = "11111111", "22222222"
	meta := func(id string) string {
		return line(id, "range", `{"v":2,"epoch":5,"n":1,"last_event":3,"last_ended":3,"last_act":3}`)
	}
	event := func(cursor int) string {
		return line(first, "event", fmt.Sprintf(`{"v":2,"cursor":%d,"event":{"id":"%s-0000-4000-8000-000000000000"}}`,
			cursor, first))
	}
	ended := func(cursor int) string { return line(first, "ended", fmt.Sprintf(`{"v":2,"cursor":%d}`, cursor)) }
	act := func(cursor int) string {
		return line(first, "act", fmt.Sprintf(`{"v":2,"cursor":%d,"who":"sam"}`, cursor))
	}
	lane := func(number int, session string) string {
		return line(first, "lane", fmt.Sprintf(`{"v":2,"lane_id":"%s-0000-4000-8000-00000000000%d","session":%s}`,
			first, number, session))
	}
	busy := fmt.Sprintf(`{"session_id":"%s-0000-4000-8000-000000000000"}`, first)
	key, holds := line(first, "key", `{"v":2,"name":"k"}`), line(first, "holds", `{"v":2}`)
	checkpoint := line(first, "checkpoint", `{"v":2}`)

	require.NoError(t, openErr(signed(0, 0)), "an empty store")
	require.NoError(t, openErr(signed(2, 10, meta(first), checkpoint, lane(1, busy), lane(2, "null"), key, event(2),
		event(3), ended(1), act(3), meta(second))))
	for name, c := range map[string]struct {
		reason string
		file   string
	}{
		"fewer records":          {"1 ranges and 3 records were written", signed(1, 3, meta(first), event(1))},
		"fewer ranges":           {"2 ranges and 1 records were written", signed(2, 1, meta(first))},
		"no range":               {"is not among its records", signed(0, 1, event(1))},
		"of another range":       {"is not among its records", signed(2, 3, meta(first), meta(second), event(1))},
		"a range twice":          {"occurs twice", signed(1, 2, meta(first), meta(first))},
		"a lane twice":           {"occurs twice", signed(1, 3, meta(first), lane(1, "null"), lane(1, "null"))},
		"a session on two lanes": {"occurs twice", signed(1, 3, meta(first), lane(1, busy), lane(2, busy))},
		"a key twice":            {"occurs twice", signed(1, 3, meta(first), key, key)},
		"two records of holds":   {"occurs twice", signed(1, 3, meta(first), holds, holds)},
		"two checkpoints":        {"occurs twice", signed(1, 3, meta(first), checkpoint, checkpoint)},
		"events out of order":    {"its cursor 1 follows 2", signed(1, 3, meta(first), event(2), event(1))},
		"sessions out of order":  {"its cursor 1 follows 1", signed(1, 3, meta(first), ended(1), ended(1))},
		"an event beyond the last": {
			"the last event is 4, and the range's record says 3",
			signed(1, 2, meta(first), event(4)),
		},
		"a session beyond": {
			"the last ended session is 4, and the range's record says 3",
			signed(1, 2, meta(first), ended(4)),
		},
		"acts out of order": {"its cursor 1 follows 2", signed(1, 3, meta(first), act(2), act(1))},
		"an act beyond":     {"the last act is 4, and the range's record says 3", signed(1, 2, meta(first), act(4))},
		"an unknown kind": {
			`kind "wallet" is not known`,
			signed(1, 2, meta(first), line(first, "wallet", `{"v":1}`)),
		},
		"an unknown field": {
			"unknown field",
			signed(1, 2, meta(first), line(first, "key", `{"v":2,"colour":"red"}`)),
		},
		"a newer record": {
			"newer version",
			signed(1, 2, meta(first), line(first, "key", fmt.Sprintf(`{"v":%d,"name":"k"}`, store.Version+1))),
		},
		"a record of no range": {"names no range", signed(1, 2, meta(first), `{"kind":"key","record":{"v":2}}`)},
		"a newer file": {
			"newer version",
			fmt.Sprintf(`{"kind":"archive","record":{"v":%d,"at":"2026-11-21T09:00:00Z"}}`, store.Version+1) + "\n",
		},
		"another sum": {"their sum differs", strings.Replace(signed(1, 2, meta(first), key), `"k"`, `"l"`, 1)},
	} {
		assert.ErrorContains(t, openErr(c.file), c.reason, name)
	}
}
