package redis

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// requireWritable requires that a value that was read can be written, and is then the same.
func requireWritable[T any](t *testing.T, values ...T) {
	t.Helper()
	for _, value := range values {
		written, err := store.Encode(value)
		require.NoError(t, err)
		read, err := store.Decode[T](written)
		require.NoError(t, err)
		again, err := store.Encode(read)
		require.NoError(t, err)
		require.Equal(t, string(written), string(again))
	}
}

// Whatever somebody has written into the records on the server: a load returns what can be written again, or
// names the record that is damaged.
func FuzzRedisRecords(f *testing.F) {
	file, err := os.ReadFile("testdata/version-5.json")
	require.NoError(f, err)
	var keys map[string]any
	require.NoError(f, json.Unmarshal(file, &keys))
	for key, held := range keys {
		switch held := held.(type) {
		case map[string]any:
			for field, record := range held {
				f.Add("7", field, record.(string))
			}
		case []any:
			for _, entry := range held {
				if text, ok := entry.(string); ok {
					f.Add("18446744073709551615", key, text[strings.Index(text, "{")+1:])
				}
			}
		}
	}
	f.Add("-1", "", `{"v":5}`)
	f.Add("0", "k", `{"v":1,"holds":null}`)
	s, rangeID := &Store{address: "127.0.0.1:6379"}, uuid.New()
	f.Fuzz(func(t *testing.T, number, name, record string) {
		list := []any{name, record, name} // and a field without its record
		for _, damaged := range []func(r reply){
			func(r reply) { r[1] = record }, func(r reply) { r[2] = number }, func(r reply) { r[7] = record },
			func(r reply) { r[4] = list }, func(r reply) { r[5] = list }, func(r reply) { r[6] = list },
		} {
			r := reply{"loaded", nil, "1", "2", []any{}, []any{}, []any{}, nil, "3"}
			damaged(r)
			recovered, err := s.decodeRecovered(rangeID, r)
			if err != nil {
				var corrupt *store.CorruptError
				require.ErrorAs(t, err, &corrupt)
				require.Contains(t, corrupt.Record, rangeID.String())
				require.Zero(t, recovered)
				continue
			}
			requireWritable(t, recovered.Checkpoint)
			requireWritable(t, recovered.Holds)
			requireWritable(t, recovered.Lanes...)
			requireWritable(t, recovered.Keys...)
			requireWritable(t, recovered.Pending...)
		}
		ended, err := s.decodeEnded(rangeID, []string{name, record})
		if err == nil {
			requireWritable[lanes.Ended](t, ended...)
		}
		_ = s.replyError(reply{"corrupt", name, record})
		_ = s.replyError(reply{"layout", name, number})
	})
}
