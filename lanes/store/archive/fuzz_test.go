package archive_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/archive"
)

// memoryTarget keeps the ranges that are imported.
type memoryTarget struct{ ranges []store.Batch }

func (*memoryTarget) Ranges(context.Context) ([]uuid.UUID, error) { return nil, nil }

func (m *memoryTarget) Restore(_ context.Context, whole store.Batch) error {
	m.ranges = append(m.ranges, whole)
	return nil
}

const fuzzedRange = "a5000000-0000-0000-0000-000000000000"

// fileWith returns a file of one range with a record more, whose sum is right.
func fileWith(kind, record string) string {
	quoted, _ := json.Marshal(kind)
	return signed(1, 2,
		`{"kind":"range","range":"`+fuzzedRange+
			`","record":{"v":2,"epoch":7,"n":1,"last_event":900,"last_ended":900,"last_act":900}}`,
		`{"kind":`+string(quoted)+`,"range":"`+fuzzedRange+`","record":`+record+`}`)
}

// Whatever is in a file whose sum is right: it is refused, or its range is imported completely, with a higher
// epoch, and with records that can be written.
func FuzzImport(f *testing.F) {
	for _, version := range []string{"1", "2", "3", "4", "5"} {
		file, err := os.ReadFile("testdata/version-" + version + ".jsonl")
		require.NoError(f, err)
		lines := strings.Split(strings.TrimSpace(string(file)), "\n")
		for _, text := range lines[2 : len(lines)-1] {
			var line struct {
				Kind   string
				Range  uuid.UUID
				Record json.RawMessage
			}
			require.NoError(f, json.Unmarshal([]byte(text), &line))
			require.NoError(f, openErr(fileWith(line.Kind, string(line.Record))), text)
			f.Add(line.Kind, string(line.Record))
		}
	}
	f.Add("range", `{"v":4,"epoch":18446744073709551615,"n":1}`)
	f.Add("event", "{\"v\":4}\n")
	f.Fuzz(func(t *testing.T, kind, record string) {
		file, err := archive.Open(strings.NewReader(fileWith(kind, record)))
		if err != nil {
			return
		}
		target, written := &memoryTarget{}, 0
		require.NoError(t, file.Import(t.Context(), target, opening, func(archive.Contents) { written++ }))
		require.Len(t, target.ranges, 1)
		require.Equal(t, 1, written)
		whole := target.ranges[0]
		require.Equal(t, fuzzedRange, whole.Range.String())
		require.EqualValues(t, opening.UnixMilli(), whole.Epoch, "a gateway that still serves it is fenced")
		require.Zero(t, whole.N)
		values := []any{}
		for _, lane := range whole.Lanes {
			values = append(values, lane)
		}
		for _, kept := range whole.Keys {
			values = append(values, kept)
		}
		for _, event := range whole.Events {
			require.LessOrEqual(t, event.Cursor, whole.LastEvent)
			values = append(values, event)
		}
		for _, ended := range whole.Ended {
			require.LessOrEqual(t, ended.Cursor, whole.LastEnded)
			values = append(values, ended)
		}
		for _, act := range whole.Acts {
			require.LessOrEqual(t, act.Cursor, whole.LastAct)
			values = append(values, act)
		}
		if whole.Checkpoint != nil {
			values = append(values, *whole.Checkpoint)
		}
		if whole.Holds != nil {
			values = append(values, *whole.Holds)
		}
		require.Len(t, values, 1)
		_, err = store.Encode(values[0])
		require.NoError(t, err)
	})
}
