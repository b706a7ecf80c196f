package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Bays and groups have hours of their own, by the clocks of the range, and every day where they name none.
func TestHoursOfBaysAndGroups(t *testing.T) {
	cfg, err := Parse([]byte(edited(t,
		"name: Demo range", "name: Demo range\n    hours: {timezone: Europe/Berlin, week: {monday: ['09:00-22:00']}}",
		"name: Bay A}", "name: Bay A, hours: {exceptions: {2026-12-03: ['12:00-24:00']}}}, {id: "+
			"55555555-5555-4555-8555-000000000002, name: Bay B}",
		"name: Public}", "name: Public, hours: {week: {monday: ['09:00-18:00'], tuesday: []}}}",
	)), nil)
	require.NoError(t, err)
	r := cfg.Ranges[0]
	whole := []string{"00:00-24:00"}
	require.Equal(t, &Hours{
		"Europe/Berlin",
		Week{whole, whole, whole, whole, whole, whole, whole},
		map[Date][]string{"2026-12-03": {"12:00-24:00"}},
	}, r.Bays[0].Hours)
	require.Nil(t, r.Bays[1].Hours)
	require.Equal(t, &Hours{
		Timezone: "Europe/Berlin",
		Week:     Week{Monday: []string{"09:00-18:00"}, Tuesday: []string{}},
	}, r.Groups[0].Hours)
	require.True(t, r.HasHours())
}

// A range without hours may have bays and groups with hours, and one that is nothing of it has none.
func TestWhichRangesHaveHours(t *testing.T) {
	for text, has := range map[string]bool{
		"name: Bay A}": false, "name: Bay A, hours: {timezone: UTC, exceptions: {2026-12-03: []}}}": true,
	} {
		cfg, err := Parse([]byte(edited(t, "name: Bay A}", text)), nil)
		require.NoError(t, err)
		require.Equal(t, has, cfg.Ranges[0].HasHours())
	}
	cfg, err := Parse([]byte(edited(t, "name: Public}", "name: Public, hours: {timezone: UTC}}")), nil)
	require.NoError(t, err)
	require.True(t, cfg.Ranges[0].HasHours())
}
