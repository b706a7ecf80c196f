package figures

import (
	"encoding/json"
	"io"
	"runtime"
	"time"
)

// Report is a whole run.
type Report struct {
	Begun   time.Time
	Took    time.Duration
	Figures []Figure
	Curves  []Curve
	Left    []Left
}

// Left is what was not measured, and why.
type Left struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

type spread struct {
	Median float64   `json:"median"`
	Rounds []float64 `json:"rounds"`
}

type entry struct {
	Name    string   `json:"name"`
	What    string   `json:"what"`
	Beside  string   `json:"beside"`
	Unit    string   `json:"unit"`
	Ours    spread   `json:"ours"`
	Limit   *spread  `json:"limit"` // null: there is only a bound
	Ratio   *float64 `json:"ratio"`
	Goal    string   `json:"goal"`
	Verdict string   `json:"verdict"` // ok, missed, or empty
}

// JSON writes the run for programs: every round of every figure.
func (r Report) JSON(to io.Writer) error {
	entries := []entry{}
	for _, f := range r.Figures {
		e := entry{
			Name: f.Name, What: f.What, Beside: f.Limit, Unit: f.Unit, Goal: f.Goal.in(f.Unit), Verdict: f.Verdict(),
			Ours: spread{Median(f.Ours), f.Ours},
		}
		if ratio, defined := f.Ratio(); defined {
			e.Ratio, e.Limit = &ratio, &spread{Median(f.Floor), f.Floor}
		}
		entries = append(entries, e)
	}
	out := json.NewEncoder(to)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{
		"begun": r.Begun.UTC(), "seconds": r.Took.Seconds(),
		"machine": map[string]any{
			"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
			"cores": runtime.NumCPU(),
		},
		"figures": entries, "curves": r.Curves, "not_measured": r.Left,
	})
}
