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

func opened(text string) error {
	_, err := archive.Open(strings.NewReader(text))
	return err
}

// A file that is not as it was written is noticed before anything of it is used.
func TestADamagedFileIsNoticed(t *testing.T) {
	t.Parallel()
	from := file(t)
	s := from.serve(t, keepAll)
	epoch, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	for n := uint64(1); n <= 4; n++ {
		require.NoError(t, s.Flush(t.Context(), batchOf(ids[0], epoch, n)))
	}
	require.NoError(t, s.Close())
	exported := from.export(t)
	require.NoError(t, opened(exported))

	for size := range len(exported) {
		if size%7 == 0 || size > len(exported)-200 {
			require.Error(t, opened(exported[:size]), "cut to %d of %d", size, len(exported))
		}
	}
	for at := 0; at < len(exported); at += 5 {
		flipped := []byte(exported)
		flipped[at] ^= 1 << (at % 8)
		require.Error(t, opened(string(flipped)), "bit %d of byte %d", at%8, at)
	}
	lines := slices.Collect(strings.Lines(exported))
	for at := len(exported) - len(lines[len(lines)-1]); at < len(exported); at++ { // which no sum is of
		for bit := range 8 {
			flipped := []byte(exported)
			flipped[at] ^= 1 << bit
			require.Error(t, opened(string(flipped)), "bit %d of byte %d: %s", bit, at, flipped[at:])
		}
	}
	for i := range lines {
		require.Error(t, opened(strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")), "without line %d", i+1)
		require.Error(t, opened(strings.Join(slices.Insert(slices.Clone(lines), i, lines[i]), "")), "line %d twice", i+1)
	}
	require.ErrorContains(t, opened(exported+"x"), "behind the last line")
	require.ErrorContains(t, opened(exported+exported), "behind the last line")
	require.ErrorContains(t, opened(exported[:len(exported)-1]), "cut short")
	for _, other := range []string{"x\n", "{}\n", "[1]\n", `{"kind":"lane"}` + "\n"} {
		require.ErrorContains(t, opened(other), "no file that was exported")
	}
}

// signed is a file with those lines, its end as it has to be for them.
func signed(ranges, records int, lines ...string) string {
	text := `{"kind":"archive","record":{"v":2,"at":"2026-11-21T09:00:00Z"}}` + "\n" + strings.Join(lines, "\n")
	if len(lines) > 0 {
		text += "\n"
	}
	return text + fmt.Sprintf(`{"kind":"end","record":{"v":2,"ranges":%d,"records":%d,"sha256":"%x"}}`+"\n",
		ranges, records, sha256.Sum256([]byte(text)))
}

// A file that was put together by hand is checked as any other.
func TestRecordsThatDoNotGoTogether(t *testing.T) {
	t.Parallel()
	line := func(id, kind, record string) string {
		return fmt.Sprintf(`{"kind":"%s","range":"%s-0000-4000-8000-000000000000","record":%s}`, kind, id, record)
	}
	const one, other = "11111111", "22222222"
	standing := func(id string) string {
		return line(id, "range", `{"v":2,"epoch":5,"n":1,"last_event":3,"last_ended":3,"last_act":3}`)
	}
	event := func(cursor int) string {
		return line(one, "event", fmt.Sprintf(`{"v":2,"cursor":%d,"event":{"id":"%s-0000-4000-8000-000000000000"}}`, cursor, one))
	}
	ended := func(cursor int) string { return line(one, "ended", fmt.Sprintf(`{"v":2,"cursor":%d}`, cursor)) }
	act := func(cursor int) string {
		return line(one, "act", fmt.Sprintf(`{"v":2,"cursor":%d,"who":"sam"}`, cursor))
	}
	lane := func(number int, session string) string {
		return line(one, "lane", fmt.Sprintf(`{"v":2,"lane_id":"%s-0000-4000-8000-00000000000%d","session":%s}`, one, number, session))
	}
	busy := fmt.Sprintf(`{"session_id":"%s-0000-4000-8000-000000000000"}`, one)
	key, holds := line(one, "key", `{"v":2,"name":"k"}`), line(one, "holds", `{"v":2}`)
	checkpoint := line(one, "checkpoint", `{"v":2}`)

	require.NoError(t, opened(signed(0, 0)), "an empty store")
	require.NoError(t, opened(signed(2, 10, standing(one), checkpoint, lane(1, busy), lane(2, "null"), key, event(2), event(3), ended(1), act(3), standing(other))))
	for name, c := range map[string]struct {
		reason string
		file   string
	}{
		"fewer records":            {"1 ranges and 3 records were written", signed(1, 3, standing(one), event(1))},
		"fewer ranges":             {"2 ranges and 1 records were written", signed(2, 1, standing(one))},
		"no range":                 {"stands elsewhere", signed(0, 1, event(1))},
		"of another range":         {"stands elsewhere", signed(2, 3, standing(one), standing(other), event(1))},
		"a range twice":            {"is there twice", signed(1, 2, standing(one), standing(one))},
		"a lane twice":             {"is there twice", signed(1, 3, standing(one), lane(1, "null"), lane(1, "null"))},
		"a session on two lanes":   {"is there twice", signed(1, 3, standing(one), lane(1, busy), lane(2, busy))},
		"a key twice":              {"is there twice", signed(1, 3, standing(one), key, key)},
		"two records of holds":     {"is there twice", signed(1, 3, standing(one), holds, holds)},
		"two checkpoints":          {"is there twice", signed(1, 3, standing(one), checkpoint, checkpoint)},
		"events out of order":      {"its cursor 1 comes behind 2", signed(1, 3, standing(one), event(2), event(1))},
		"sessions out of order":    {"its cursor 1 comes behind 1", signed(1, 3, standing(one), ended(1), ended(1))},
		"an event beyond the last": {"the last event is 4, and it says 3", signed(1, 2, standing(one), event(4))},
		"a session beyond":         {"the last ended session is 4, and it says 3", signed(1, 2, standing(one), ended(4))},
		"acts out of order":        {"its cursor 1 comes behind 2", signed(1, 3, standing(one), act(2), act(1))},
		"an act beyond":            {"the last act is 4, and it says 3", signed(1, 2, standing(one), act(4))},
		"an unknown kind":          {`kind "wallet" is not known`, signed(1, 2, standing(one), line(one, "wallet", `{"v":1}`))},
		"an unknown field":         {"unknown field", signed(1, 2, standing(one), line(one, "key", `{"v":2,"colour":"red"}`))},
		"a newer record":           {"newer version", signed(1, 2, standing(one), line(one, "key", fmt.Sprintf(`{"v":%d,"name":"k"}`, store.Version+1)))},
		"a record of no range":     {"says not which range", signed(1, 2, standing(one), `{"kind":"key","record":{"v":2}}`)},
		"a newer file":             {"newer version", fmt.Sprintf(`{"kind":"archive","record":{"v":%d,"at":"2026-11-21T09:00:00Z"}}`, store.Version+1) + "\n"},
		"another sum":              {"its sum is another one", strings.Replace(signed(1, 2, standing(one), key), `"k"`, `"l"`, 1)},
	} {
		assert.ErrorContains(t, opened(c.file), c.reason, name)
	}
}
