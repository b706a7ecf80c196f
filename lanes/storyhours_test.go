package lanes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"rangegate/lanes"
)

// hours are those of an argument, the same on each day, with a stroke between them: hours=9:00-12:00/13:00-26:00. They
// are of UTC, which the clocks of a story show.
func (s *story) hours(t *testing.T, d *datadriven.TestData) *lanes.Hours {
	if !d.HasArg("hours") {
		return nil
	}
	hours := &lanes.Hours{Zone: time.UTC}
	for _, text := range strings.Split(word(t, d, "hours"), "/") {
		from, to, _ := strings.Cut(text, "-")
		for day := range hours.Week {
			hours.Week[day] = append(hours.Week[day], opening(from, to))
		}
	}
	return hours
}

// describeClosing describes what a refusal says of the range's closing.
func describeClosing(err error) string {
	var closing *lanes.AfterClosing
	switch {
	case !errors.As(err, &closing):
		return ""
	case closing.Closes.IsZero():
		return ", closed until " + closing.Opens.Format("15:04")
	}
	return fmt.Sprintf(", closes at %s, %d minutes fit", closing.Closes.Format("15:04"), closing.Most)
}
