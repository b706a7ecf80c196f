// Package figures is what a run of rangebench comes to: figures beside their limits, as a table, as JSON, and as plots.
package figures

import (
	"fmt"
	"slices"
	"strconv"
)

// Figure is one thing that was measured, once a round, beside what nothing on this machine can be better at: its limit,
// measured in turns with it.
type Figure struct {
	Name  string
	What  string // for people: what was measured
	Limit string // for people: beside what
	Unit  string
	Goal  Goal

	Ours  []float64 // one a round
	Floor []float64 // likewise, of the limit; none where there is only a bound
}

// Goal is what a figure should come to. The zero Goal demands nothing.
type Goal struct {
	Bound float64
	kind  kind
}

type kind int

const (
	none    kind = iota
	atMost       // of the ratio of ours to the limit
	atLeast      // likewise
	below        // of ours, whatever the limit
)

// AtMost bounds how many times the limit ours may be.
func AtMost(ratio float64) Goal { return Goal{ratio, atMost} }

// AtLeast says how much of the limit ours has to reach.
func AtLeast(ratio float64) Goal { return Goal{ratio, atLeast} }

// Below bounds ours itself, in the unit of the figure.
func Below(bound float64) Goal { return Goal{bound, below} }

func (g Goal) in(unit string) string {
	number := strconv.FormatFloat(g.Bound, 'f', -1, 64)
	switch g.kind {
	case atMost:
		return "≤ " + number + "×"
	case atLeast:
		return "≥ " + number + "×"
	case below:
		return "≤ " + number + " " + unit
	}
	return ""
}

// Verdict is ok or missed, and empty for a figure without a goal.
func (f Figure) Verdict() string {
	met := true
	switch ratio, defined := f.Ratio(); {
	case f.Goal.kind == none:
		return ""
	case f.Goal.kind == below:
		met = Median(f.Ours) <= f.Goal.Bound
	case !defined:
		return ""
	case f.Goal.kind == atMost:
		met = ratio <= f.Goal.Bound
	case f.Goal.kind == atLeast:
		met = ratio >= f.Goal.Bound
	}
	if met {
		return "ok"
	}
	return "missed"
}

// Missed tells whether the figure has a goal and did not reach it.
func (f Figure) Missed() bool { return f.Verdict() == "missed" }

// Ratio is the median, over the rounds, of ours divided by the limit that was measured next to it: other work
// of the machine changes both. It is defined for a figure with a limit.
func (f Figure) Ratio() (ratio float64, defined bool) {
	ratios := f.ratios()
	if len(ratios) == 0 {
		return 0, false
	}
	return Median(ratios), true
}

func (f Figure) ratios() []float64 {
	var ratios []float64
	for i := range min(len(f.Ours), len(f.Floor)) {
		if f.Floor[i] > 0 {
			ratios = append(ratios, f.Ours[i]/f.Floor[i])
		}
	}
	return ratios
}

// Spread is the least and the most of the rounds: of the ratio, or of ours where there is no limit.
func (f Figure) Spread() (least, most float64) {
	of := f.ratios()
	if len(of) == 0 {
		of = f.Ours
	}
	if len(of) == 0 {
		return 0, 0
	}
	return slices.Min(of), slices.Max(of)
}

// Median is the middle one, or the mean of the middle two. Of none it is 0.
func Median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Percentile is the one that so many percent of them do not exceed. Of none it is 0.
func Percentile(of []float64, percent float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*percent/100))]
}

// number writes as many digits as a reader can use.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
