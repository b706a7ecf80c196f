package store_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes/store"
)

// comesBack checks that a value is the same after it was saved.
func comesBack[T any](t *rapid.T, drawn *rapid.Generator[T]) {
	value := drawn.Draw(t, "value")
	record, err := store.Encode(value)
	require.NoError(t, err)
	got, err := store.Decode[T](record)
	require.NoError(t, err, string(record))
	require.Equal(t, value, got, string(record))
}

func TestRecordsComeBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		comesBack(t, snapshots())
		comesBack(t, checkpoints())
		comesBack(t, events())
		comesBack(t, over())
		comesBack(t, acts())
		comesBack(t, answers())
		comesBack(t, holds())
	})
}

// What is saved and never drawn would not be tested above.
func TestEveryFieldIsDrawn(t *testing.T) {
	met := map[string]bool{} // the fields, by type and name, and whether one that is not zero was drawn
	draw := func(example func(seed int) any) {
		for seed := range 200 {
			meet(met, reflect.ValueOf(example(seed)))
		}
	}
	draw(func(seed int) any { return snapshots().Example(seed) })
	draw(func(seed int) any { return checkpoints().Example(seed) })
	draw(func(seed int) any { return events().Example(seed) })
	draw(func(seed int) any { return over().Example(seed) })
	draw(func(seed int) any { return acts().Example(seed) })
	draw(func(seed int) any { return answers().Example(seed) })
	draw(func(seed int) any { return holds().Example(seed) })
	for field, drawn := range met {
		assert.True(t, drawn, field)
	}
	assert.Contains(t, met, "lanes.HelpCall.Coming")
}

// meet notes which fields of the value, and of what it has in it, are zero.
func meet(met map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			meet(met, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			meet(met, v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Tag.Get("json") == "-" {
				continue
			}
			name := v.Type().String() + "." + field.Name
			met[name] = met[name] || !v.Field(i).IsZero()
			meet(met, v.Field(i))
		}
	}
}
