package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"rangegate/cmd/rangegate/preflight"
)

// topPicture is what the gateway answered at one moment: the sums of all its actors, and the first ones of the table.
type topPicture struct {
	overview   topOverview
	table      topTable
	advisories []topAdvisory // the open ones, the newest change last
	of         topQuery
}

// topAdvisory is what is read of GET /advisories.
type topAdvisory struct {
	Code     string
	Severity string
	Range    string `json:"range_name"`
	Lane     string `json:"lane_name"`
	Webhook  string
	Since    time.Time
	Sentence string
}

// topOverview is what is read of GET /actors.
type topOverview struct {
	All struct {
		Ranges, Running, Elsewhere, Lanes int
		Links                             map[string]int
		NotSaved                          int `json:"lanes_unsaved"`
		Unsaved                           int `json:"changes_unsaved"`
		StoreDown                         int `json:"stores_away"`
		Events                            int `json:"events_waiting"`
	}
	Ranges []struct {
		State   string
		LateP99 float64 `json:"timers_late_p99_ms"`
	}
}

// topTable is what is read of GET /observer/actors.
type topTable struct {
	At       time.Time
	Total    int
	Troubled int
	Actors   []topActor
}

type topActor struct {
	Range    string
	Lane     string
	Webhook  string
	Kind     string
	State    string
	Since    *time.Time
	Messages int `json:"messages_waiting"`
	Requests int `json:"requests_waiting"`
	Oldest   *struct{ Since time.Time }
	Restarts int
	Late     *float64 `json:"late_ms"`
	Why      *struct{ Sentence string }
}

// The orders of the table by the keys that choose them, in the order of the line at the bottom.
var topOrders = []struct {
	key   byte
	order string
}{{'t', "trouble"}, {'b', "backlog"}, {'a', "age"}, {'r', "restarts"}, {'l', "lateness"}}

// topView is what the terminal shows.
type topView struct {
	picture *topPicture // nil: the gateway has not answered yet
	// lostAt is when the gateway answered last, or when the command began; zero: it answers.
	lostAt  time.Time
	reason  string // why it does not answer
	refused bool   // it answers, and refuses

	order  string // that the next table is asked for
	paused bool
}

// uncut is the width of lines that are not cut.
const uncut = 0

// widestName is the most characters of a name that are shown.
const widestName = 24

// head returns the lines above the table: three, and a fourth while there are advisories.
func (v topView) head(width int) []string {
	first := []string{"rangegate top"}
	switch {
	case !v.lostAt.IsZero() && v.refused:
		first = []string{"REFUSED since " + v.lostAt.Format(time.TimeOnly) + ": " + v.reason}
	case !v.lostAt.IsZero():
		first = []string{"NO CONTACT since " + v.lostAt.Format(time.TimeOnly) + ": " + v.reason}
	case v.picture != nil:
		first = append(first, v.picture.table.At.Format(time.TimeOnly))
	default:
		first = append(first, "waiting for the gateway of this machine")
	}
	if v.picture == nil {
		return []string{topLine(width, first...), "", ""}
	}
	all, table := v.picture.overview.All, v.picture.table
	ranges := fmt.Sprintf("%d of %s running", all.Running, preflight.Number(all.Ranges, "range"))
	if all.Elsewhere > 0 {
		ranges += fmt.Sprintf(", %d elsewhere", all.Elsewhere)
	}
	first = append(first, ranges, preflight.Number(all.Lanes, "lane"),
		fmt.Sprintf("%d of %s in trouble", table.Troubled, preflight.Number(table.Total, "actor")))

	second := []string{fmt.Sprintf("links %d up, %d down, %d faulty", all.Links["up"], all.Links["down"],
		all.Links["faulty"])}
	late := -1.0
	for _, r := range v.picture.overview.Ranges {
		if r.State == "running" {
			late = max(late, r.LateP99)
		}
	}
	if late >= 0 {
		second = append(second, "timers late p99 "+milliseconds(late))
	}

	unsaved := fmt.Sprintf("changes unsaved %d", all.Unsaved)
	if all.NotSaved > 0 {
		unsaved += ", of " + preflight.Number(all.NotSaved, "lane")
	}
	store := "store takes writes"
	switch {
	case all.StoreDown > 0 && all.StoreDown == all.Running:
		store = "STORE DOWN"
	case all.StoreDown > 0:
		store = "STORE DOWN for " + preflight.Number(all.StoreDown, "range")
	case all.Running == 0:
		store = "store not in use"
	}
	lines := []string{
		topLine(width, first...),
		topLine(width, second...),
		topLine(width, unsaved, store, fmt.Sprintf("events waiting %d", all.Events)),
	}
	if len(v.picture.advisories) > 0 {
		lines = append(lines, topLine(width, v.picture.advisoriesLine()...))
	}
	return lines
}

// advisoriesLine tells how many advisories are open, and which one is the newest.
func (p topPicture) advisoriesLine() []string {
	critical := 0
	for _, a := range p.advisories {
		if a.Severity == "critical" {
			critical++
		}
	}
	count := "1 advisory"
	if n := len(p.advisories); n > 1 {
		count = fmt.Sprintf("%d advisories", n)
	}
	if critical > 0 {
		count += fmt.Sprintf(", %d critical", critical)
	}
	newest := p.advisories[len(p.advisories)-1]
	about := []string{newest.Code}
	for _, name := range []string{newest.Lane, newest.Webhook, newest.Range} {
		if name != "" {
			about = append(about, cut(name, widestName))
		}
	}
	return []string{count, "newest " + strings.Join(append(about, topAge(&newest.Since, p.table.At)), ", ") + ": " +
		newest.Sentence}
}

// topLine joins the parts of a line and cuts it to the width.
func topLine(width int, parts ...string) string {
	return cut(printable(strings.Join(parts, "   ")), width)
}

// keys returns the line at the bottom.
func (v topView) keys(width int) string {
	var orders []string
	for _, o := range topOrders {
		name := string(o.key) + " " + o.order
		if o.order == v.order {
			name = "[" + name + "]"
		}
		orders = append(orders, name)
	}
	pause := "p pause"
	if v.paused {
		pause = "PAUSED, p goes on"
	}
	return topLine(width, "q quit", pause, "sort by "+strings.Join(orders, " "))
}

// topRows returns the head of the table and a line for each actor. Without an actor there is one line that says so.
func topRows(p topPicture, width int) (head string, rows []string) {
	columns := []string{"KIND", "NAME"}
	if p.overview.All.Ranges > 1 {
		columns = append(columns, "RANGE")
	}
	columns = append(columns, "STATE", "SINCE", "WAITING", "RESTARTS")
	if p.of.order == "lateness" {
		columns = append(columns, "LATE")
	}
	columns = append(columns, "WHY")
	cells := [][]string{columns}
	for _, actor := range p.table.Actors {
		row := make([]string, len(columns))
		for i, column := range columns {
			row[i] = printable(actor.cell(column, p.table.At))
			if column == "NAME" || column == "RANGE" {
				row[i] = cut(row[i], widestName)
			}
		}
		cells = append(cells, row)
	}
	lines := align(cells, width)
	if len(lines) == 1 {
		lines = append(lines, cut("There is no such actor.", width))
	}
	return lines[0], lines[1:]
}

// cell returns what is in the column of that name.
func (a topActor) cell(column string, at time.Time) string {
	switch column {
	case "KIND":
		return a.Kind
	case "NAME":
		switch a.Kind {
		case "events":
			return cmp.Or(a.Webhook, "-") // a range's only webhook may have no name
		case "range":
			return a.Range
		}
		return a.Lane
	case "RANGE":
		return a.Range
	case "STATE":
		return a.State
	case "SINCE":
		return topAge(a.Since, at)
	case "WAITING":
		waiting := strconv.Itoa(a.Messages + a.Requests)
		if a.Oldest != nil {
			waiting += ", " + topAge(&a.Oldest.Since, at)
		}
		return waiting
	case "RESTARTS":
		return strconv.Itoa(a.Restarts)
	case "LATE":
		if a.Late == nil {
			return "-"
		}
		return milliseconds(*a.Late)
	case "WHY":
		if a.Why != nil {
			return a.Why.Sentence
		}
	}
	return ""
}

// align returns the rows as lines in columns, cut to the width.
func align(rows [][]string, width int) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var line strings.Builder
		for j, text := range row {
			line.WriteString(text)
			if j < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(text)+2))
			}
		}
		lines[i] = cut(strings.TrimRight(line.String(), " "), width)
	}
	return lines
}

// topAge returns how long ago something was, in its largest unit.
func topAge(since *time.Time, at time.Time) string {
	if since == nil {
		return "-"
	}
	age := max(at.Sub(*since), 0)
	switch {
	case age < time.Minute:
		return fmt.Sprintf("%d s", int(age.Seconds()))
	case age < time.Hour:
		return fmt.Sprintf("%d min", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d h", int(age.Hours()))
	}
	return fmt.Sprintf("%d d", int(age.Hours()/24))
}

// milliseconds returns them with their unit, or seconds from 1 s on: a session that ended while no gateway ran is
// stopped at the start, minutes late.
func milliseconds(ms float64) string {
	if ms >= 1000 {
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	}
	return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
}

// printable replaces each character that could control the terminal or the direction of its text. White space becomes a
// space.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// cut returns the text in at most that many characters, the last of them … where something is missing.
func cut(text string, width int) string {
	if width == uncut || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// frame returns the lines of a terminal of that size: head, table and, at its bottom, the keys.
func (v topView) frame(width, height int) []string {
	lines := v.head(width)
	if v.picture != nil {
		head, rows := topRows(*v.picture, width)
		lines = append(lines, head)
		lines = append(lines, rows[:min(len(rows), max(height-len(lines)-1, 1))]...)
	}
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	return append(lines[:max(height-1, 0)], v.keys(width))
}

// The lines of a terminal that have no actor.
const (
	topHeadLines = 3
	topOverhead  = topHeadLines + 2 // with the head of the table and the keys
)

// topFits returns how many actors a terminal of that height has room for, at least one.
func topFits(height int) int { return max(height-topOverhead, 1) }
