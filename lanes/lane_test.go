package lanes_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// Every field of a lane counts when two values of it are compared: one that is forgotten would never be shown.
func TestLanesAreEqualInEveryField(t *testing.T) {
	whole := reflect.ValueOf(lanes.Lane{
		ID: uuid.New(), Session: &lanes.Session{}, Held: true, Log: lanes.Log{ID: "log", Seq: 1}, Fault: "jammed",
		Released: &lanes.Instant{},
		Sale:     lanes.OffSale, Help: &lanes.HelpCall{}, Stray: &firstAttemptAt, Uncleared: &lanes.Uncleared{},
		Reservation: &lanes.Reservation{},
		Turn:        &lanes.Turn{}, LastTurn: &lanes.TurnTime{},
		Open:       []*lanes.Purchase{{}},
		Accessible: true, Usable: true, Purchasing: true, AwaitsMove: true, Unproven: &lanes.Instant{},
		Heard: []lanes.Heard{{}}, Terms: wholeTerms,
	})
	require.True(t, whole.Interface().(lanes.Lane).Equal(whole.Interface().(lanes.Lane)))
	for i := range whole.NumField() {
		other := reflect.New(whole.Type()).Elem()
		other.Set(whole)
		other.Field(i).SetZero()
		require.False(t, whole.Field(i).IsZero(), "the test misses %s", whole.Type().Field(i).Name)
		require.False(t, whole.Interface().(lanes.Lane).Equal(other.Interface().(lanes.Lane)),
			whole.Type().Field(i).Name)
	}
}

var wholeTerms = lanes.Terms{
	ClearAfter: 1, ClearFirst: true, Warnings: []time.Duration{1}, TellsExpired: true,
	Hours: &lanes.Hours{Zone: time.UTC}, GroupHours: map[uuid.UUID]*lanes.Hours{{1}: {Zone: time.UTC}}, Grace: 1,
	GraceForAll: true,
}

// A lane follows each change of the rules that it sells by.
func TestTermsAreEqualInEveryField(t *testing.T) {
	whole := reflect.ValueOf(wholeTerms)
	require.True(t, wholeTerms.SameTerms(wholeTerms))
	for i := range whole.NumField() {
		other := reflect.New(whole.Type()).Elem()
		other.Set(whole)
		other.Field(i).SetZero()
		require.False(t, whole.Field(i).IsZero(), "the test misses %s", whole.Type().Field(i).Name)
		require.False(t, wholeTerms.SameTerms(other.Interface().(lanes.Terms)), whole.Type().Field(i).Name)
	}
}

// What is saved of a lane, and what is not, are all of its fields.
func TestWhatIsNotSavedOfALane(t *testing.T) {
	current := lanes.Lane{
		Accessible: true, Usable: true, Purchasing: true, AwaitsMove: true,
		Unproven: &lanes.Instant{}, Heard: []lanes.Heard{{}}, Terms: wholeTerms, Fault: "jammed", Held: true,
	}
	mixed := reflect.ValueOf(lanes.Lane{}.WithUnsaved(current))
	for i := range mixed.NumField() {
		field := mixed.Type().Field(i)
		require.Equal(t, field.Tag.Get("json") == "-", !mixed.Field(i).IsZero(), field.Name)
	}
}
