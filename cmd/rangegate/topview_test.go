package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Two answers of a gateway. A controller's error and a lane's name try to control the terminal.
const (
	overviewAnswer = `{"all": {"ranges": 1, "running": 1, "elsewhere": 0, "lanes": 12, "links": {"up": 10, "down": 1, "faulty": 1},
		"lanes_unsaved": 1, "changes_unsaved": 2, "stores_away": 0, "events_waiting": 4},
		"ranges": [{"state": "running", "timers_late_p99_ms": 0.414}]}`
	tableAnswer = `{"at": "2026-11-29T10:00:30.000Z", "total": 27, "troubled": 2, "actors": [
		{"range": "North range", "lane": "Lane\u001b[2J 6", "kind": "connection", "state": "down", "since": "2026-11-29T09:57:10.000Z",
		 "messages_waiting": 0, "requests_waiting": 0, "oldest": null, "restarts": 1, "late_ms": null,
		 "why": {"sentence": "It dials again in 2 s: bell\u0007, \u202eback and\nforth."}},
		{"range": "North range", "lane": "Lane 7", "kind": "lane", "state": "saving", "since": "2026-11-29T10:00:16.000Z",
		 "messages_waiting": 1, "requests_waiting": 2, "oldest": {"what": "modify", "since": "2026-11-29T10:00:18.500Z"}, "restarts": 0, "late_ms": 0.3111,
		 "why": {"sentence": "It has been saving for 14 s: the store does not answer."}},
		{"range": "North range", "lane": "", "webhook": "pos", "kind": "events", "state": "ready", "since": null,
		 "messages_waiting": 0, "requests_waiting": 0, "oldest": null, "restarts": 0, "late_ms": null, "why": null},
		{"range": "North range", "lane": "", "webhook": "", "kind": "range", "state": "running", "since": "2026-11-27T10:00:30.000Z",
		 "messages_waiting": 0, "requests_waiting": 0, "oldest": null, "restarts": 0, "late_ms": null, "why": null}]}`
)

const advisoriesAnswer = `{"advisories": [
	{"code": "clock_offset", "severity": "warning", "range_name": "", "lane_name": "", "webhook": "", "since": "2026-11-29T09:00:30.000Z", "sentence": "Look at NTP."},
	{"code": "hold_unconfirmed", "severity": "critical", "range_name": "North range", "lane_name": "Lane 7", "webhook": "", "since": "2026-11-29T10:00:18.000Z",
	 "sentence": "Look at the lane."}]}`

// pictureOf is the picture of the answers, in UTC, after the changes.
func pictureOf(t *testing.T, changes ...func(*topPicture)) *topPicture {
	p := &topPicture{of: topQuery{order: "trouble"}}
	require.NoError(t, json.Unmarshal([]byte(overviewAnswer), &p.overview))
	require.NoError(t, json.Unmarshal([]byte(tableAnswer), &p.table))
	for _, change := range changes {
		change(p)
	}
	return p
}

func withAdvisories(t *testing.T) func(*topPicture) {
	return func(p *topPicture) {
		var answer struct{ Advisories []topAdvisory }
		require.NoError(t, json.Unmarshal([]byte(advisoriesAnswer), &answer))
		p.advisories = answer.Advisories
	}
}

func TestTopShowsAnActorALine(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*topPicture)
		width  int
		want   string
	}{
		"whole": {width: uncut, want: `
KIND        NAME         STATE    SINCE  WAITING  RESTARTS  WHY
connection  Lane�[2J 6   down     3 min  0        1         It dials again in 2 s: bell�, �back and forth.
lane        Lane 7       saving   14 s   3, 11 s  0         It has been saving for 14 s: the store does not answer.
events      pos          ready    -      0        0
range       North range  running  2 d    0        0`},
		"cut to the width": {width: 80, want: `
KIND        NAME         STATE    SINCE  WAITING  RESTARTS  WHY
connection  Lane�[2J 6   down     3 min  0        1         It dials again in 2…
lane        Lane 7       saving   14 s   3, 11 s  0         It has been saving …
events      pos          ready    -      0        0
range       North range  running  2 d    0        0`},
		"several ranges, of which one has a long name": {
			change: func(p *topPicture) {
				p.overview.All.Ranges = 2
				p.table.Actors = p.table.Actors[1:3]
				p.table.Actors[1].Range = "The northernmost of all ranges"
			},
			want: `
KIND    NAME    RANGE                     STATE   SINCE  WAITING  RESTARTS  WHY
lane    Lane 7  North range               saving  14 s   3, 11 s  0         It has been saving for 14 s: the store does not answer.
events  pos     The northernmost of all…  ready   -      0        0`,
		},
		"sorted by lateness": {
			change: func(p *topPicture) { p.of.order, p.table.Actors = "lateness", p.table.Actors[1:3] },
			want: `
KIND    NAME    STATE   SINCE  WAITING  RESTARTS  LATE     WHY
lane    Lane 7  saving  14 s   3, 11 s  0         0.31 ms  It has been saving for 14 s: the store does not answer.
events  pos     ready   -      0        0         -`,
		},
		"no actor": {
			change: func(p *topPicture) { p.table.Actors = nil },
			want: `
KIND  NAME  STATE  SINCE  WAITING  RESTARTS  WHY
There is no such actor.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(*topPicture)
			if c.change != nil {
				changes = append(changes, c.change)
			}
			head, rows := topRows(*pictureOf(t, changes...), c.width)
			require.Equal(t, strings.TrimPrefix(c.want, "\n"), head+"\n"+strings.Join(rows, "\n"))
		})
	}
}

func TestTheHeadOfTop(t *testing.T) {
	since := time.Date(2026, 11, 29, 10, 0, 7, 0, time.UTC)
	for name, c := range map[string]struct {
		view  topView
		width int
		want  [3]string
	}{
		"nothing yet": {want: [3]string{"rangegate top   waiting for the gateway of this machine"}},
		"one range": {view: topView{picture: pictureOf(t)}, want: [3]string{
			"rangegate top   10:00:30   1 of 1 range running   12 lanes   2 of 27 actors in trouble",
			"links 10 up, 1 down, 1 faulty   timers late p99 0.41 ms",
			"changes unsaved 2, of 1 lane   store takes writes   events waiting 4",
		}},
		"the store is down": {
			view: topView{picture: pictureOf(t, func(p *topPicture) { p.overview.All.StoreDown = 1 })},
			want: [3]string{
				"rangegate top   10:00:30   1 of 1 range running   12 lanes   2 of 27 actors in trouble",
				"links 10 up, 1 down, 1 faulty   timers late p99 0.41 ms",
				"changes unsaved 2, of 1 lane   STORE DOWN   events waiting 4",
			},
		},
		"one of several nodes, with the store down for one of its ranges": {
			view: topView{picture: pictureOf(t, func(p *topPicture) {
				require.NoError(t, json.Unmarshal([]byte(`{"all": {"ranges": 5, "running": 2, "elsewhere": 3, "stores_away": 1, "changes_unsaved": 0, "lanes_unsaved": 0},
					"ranges": [{"state": "running", "timers_late_p99_ms": 0.2}, {"state": "running", "timers_late_p99_ms": 1.5}, {"state": "elsewhere", "timers_late_p99_ms": 9}]}`), &p.overview))
			})},
			want: [3]string{
				"rangegate top   10:00:30   2 of 5 ranges running, 3 elsewhere   12 lanes   2 of 27 actors in trouble",
				"links 10 up, 1 down, 1 faulty   timers late p99 1.50 ms",
				"changes unsaved 0   STORE DOWN for 1 range   events waiting 4",
			},
		},
		"no range runs": {
			view: topView{picture: pictureOf(t,
				func(p *topPicture) { p.overview.All.Running, p.overview.Ranges = 0, nil })},
			want: [3]string{
				"rangegate top   10:00:30   0 of 1 range running   12 lanes   2 of 27 actors in trouble",
				"links 10 up, 1 down, 1 faulty",
				"changes unsaved 2, of 1 lane   store not in use   events waiting 4",
			},
		},
		"no contact: what is known stays": {
			view: topView{
				picture: pictureOf(t), lostAt: since,
				reason: "dial tcp 127.0.0.1:9090: connect: connection\x1b refused",
			}, width: 90,
			want: [3]string{
				"NO CONTACT since 10:00:07: dial tcp 127.0.0.1:9090: connect: connection� refused   1 of 1…",
				"links 10 up, 1 down, 1 faulty   timers late p99 0.41 ms",
				"changes unsaved 2, of 1 lane   store takes writes   events waiting 4",
			},
		},
		"no contact from the beginning": {
			view: topView{lostAt: since, reason: "connection refused"},
			want: [3]string{"NO CONTACT since 10:00:07: connection refused"},
		},
		"refused": {
			view: topView{lostAt: since, reason: "the token is not known (unauthorized)", refused: true},
			want: [3]string{"REFUSED since 10:00:07: the token is not known (unauthorized)"},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want[:], c.view.head(c.width)) })
	}
}

// The keys are on the last line of a terminal, whatever its size, and no line is longer than it is wide.
func TestTopFillsATerminalOfAnySize(t *testing.T) {
	views := []topView{
		{order: "trouble"},
		{order: "age", picture: pictureOf(t)},
		{order: "age", picture: pictureOf(t, withAdvisories(t))},
	}
	for width := 1; width <= 120; width++ {
		for height := 1; height <= 12; height++ {
			for _, view := range views {
				lines := view.frame(width, height)
				require.Len(t, lines, height)
				require.Equal(t, view.keys(width), lines[height-1])
				for _, line := range lines {
					require.LessOrEqual(t, utf8.RuneCountInString(line), width)
				}
			}
		}
	}
	lines := views[2].frame(uncut, 8)
	require.Regexp(t, `^2 advisories`, lines[3])
	require.Regexp(t, `^lane `, lines[6], "two actors have room below the advisories")
	lines = views[1].frame(uncut, 8)
	require.Regexp(t, `^events `, lines[6], "three actors have room")
	require.Equal(t, "q quit   p pause   sort by t trouble b backlog [a age] r restarts l lateness", lines[7])
	require.Equal(t, "q quit   PAUSED, p goes on   sort by",
		topView{paused: true}.keys(uncut)[:len("q quit   PAUSED, p goes on   sort by")])
}

func TestTopTellsAgesInTheLargestUnit(t *testing.T) {
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]string{
		-time.Second: "0 s", 999 * time.Millisecond: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min",
		59 * time.Minute: "59 min",
		time.Hour:        "1 h", 47 * time.Hour: "47 h", 48 * time.Hour: "2 d",
	} {
		since := at.Add(-age)
		require.Equal(t, want, topAge(&since, at))
	}
	require.Equal(t, "-", topAge(nil, at))
	require.Equal(t, "999.50 ms", milliseconds(999.5))
	require.Equal(t, "3192.5 s", milliseconds(3192524.16))
}
