package support

import (
	"fmt"
	"strings"
	"time"
)

// ClosingIn returns the setting of a range that closes in so many minutes, a few hours at most, and when that is. By
// its clocks it is about noon, and it opens each day at six.
func ClosingIn(minutes int) (setting string, closes time.Time) {
	now := time.Now().UTC()
	closes = now.Truncate(time.Minute).Add(time.Duration(minutes) * time.Minute)
	ahead := 12 - now.Hour() // of UTC
	zone := "UTC"
	if ahead != 0 {
		zone = fmt.Sprintf("Etc/GMT%+d", -ahead) // which are named the other way round
	}
	opening := "06:00-" + closes.Add(time.Duration(ahead)*time.Hour).Format("15:04")
	var week []string
	for day := range 7 {
		week = append(week, fmt.Sprintf("%s: [%q]", strings.ToLower(time.Weekday(day).String()), opening))
	}
	return fmt.Sprintf("hours: {timezone: %s, week: {%s}}", zone, strings.Join(week, ", ")), closes
}
