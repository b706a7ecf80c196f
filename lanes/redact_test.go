package lanes

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A snapshot without names has every text but those that name a person, and without secrets but those that open
// something. A text that is new in it has to be decided on.
func TestASnapshotWithoutNamesAndSecrets(t *testing.T) {
	var full Snapshot
	fill(reflect.ValueOf(&full).Elem())
	named, before := textsOf(t, full), full
	shown := textsOf(t, full.WithoutNames().WithoutSecrets())
	require.Equal(t, []string{
		"boot", "fault", "log.id", "open_purchases.goods.name", "open_purchases.goods.price",
		"open_purchases.items.id", "open_purchases.phase", "open_purchases.reason", "open_purchases.request_trace",
		"open_purchases.trace_id", "reservation.by", "sale", "session.phase",
		"session.purchase.goods.name",
		"session.purchase.goods.price", "session.purchase.items.id", "session.purchase.phase",
		"session.purchase.reason",
		"session.purchase.request_trace", "session.purchase.trace_id",
	}, shown)
	hidden := slices.DeleteFunc(slices.Clone(named), func(path string) bool { return slices.Contains(shown, path) })
	require.Equal(t, []string{
		"open_purchases.user_message", "reservation.holder", "reservation.token_sha256",
		"session.correlation.external_id", "session.correlation.metadata", "session.correlation.metadata.Jo Smith",
		"session.customer_name", "session.purchase.user_message",
	}, hidden)
	require.Equal(t, before, full, "it is a copy")
	require.Equal(t, named, textsOf(t, full))
	require.Equal(t, Redacted, full.WithoutNames().Session.Customer)

	var empty Snapshot
	require.Equal(t, empty, empty.WithoutNames().WithoutSecrets())
	empty.Session = &Session{Correlation: &Correlation{}}
	require.Equal(t, empty, empty.WithoutNames())
}

// fill gives every text the name of a customer, and what has no text some value.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)))
		return
	case map[string]string:
		v.Set(reflect.ValueOf(map[string]string{"Jo Smith": "Jo Smith"}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("Jo Smith")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Tag.Get("json") != "-" {
				fill(v.Field(i))
			}
		}
	case reflect.Bool:
		v.SetBool(true)
	}
}

// textsOf returns the paths in the snapshot's JSON at which the customer is named.
func textsOf(t *testing.T, s Snapshot) (paths []string) {
	t.Helper()
	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	var decoded any
	require.NoError(t, json.Unmarshal(encoded, &decoded))
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case string:
			if value == "Jo Smith" {
				paths = append(paths, path)
			}
		case []any:
			for _, each := range value {
				walk(path, each)
			}
		case map[string]any:
			for key, each := range value {
				if key == "Jo Smith" {
					paths = append(paths, path)
				}
				if path != "" {
					key = path + "." + key
				}
				walk(key, each)
			}
		}
	}
	walk("", decoded)
	slices.Sort(paths)
	return paths
}
