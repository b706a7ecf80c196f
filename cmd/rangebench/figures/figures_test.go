package figures_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangebench/figures"
)

func TestTheRatioIsTheMedianOfTheRounds(t *testing.T) {
	f := figures.Figure{Ours: []float64{10, 90, 30}, Floor: []float64{10, 10, 10}, Goal: figures.AtMost(3)}
	ratio, defined := f.Ratio()
	require.True(t, defined)
	require.InDelta(t, 3, ratio, 0)
	least, most := f.Spread()
	require.Equal(t, []float64{1, 9}, []float64{least, most})
	require.Equal(t, "ok", f.Verdict())
}

func TestRoundsAreComparedWithTheirOwnLimit(t *testing.T) {
	f := figures.Figure{Ours: []float64{1, 2, 100}, Floor: []float64{1, 2, 100}}
	least, most := f.Spread()
	require.Equal(t, []float64{1, 1}, []float64{least, most}, "a slow machine slows both")
}

func TestGoals(t *testing.T) {
	for _, c := range []struct {
		goal    figures.Goal
		verdict string
	}{
		{figures.AtMost(2), "ok"},
		{figures.AtMost(1.99), "missed"},
		{figures.AtLeast(2), "ok"},
		{figures.AtLeast(2.01), "missed"},
		{figures.Below(8), "ok"},
		{figures.Below(7.9), "missed"},
		{figures.Goal{}, ""},
	} {
		f := figures.Figure{Ours: []float64{8}, Floor: []float64{4}, Goal: c.goal}
		require.Equal(t, c.verdict, f.Verdict(), "%+v", c.goal)
		require.Equal(t, c.verdict == "missed", f.Missed())
	}
	require.Empty(t, figures.Figure{Ours: []float64{8}, Goal: figures.AtMost(1)}.Verdict(),
		"there is no limit to hold it against")
}

func TestMedianAndPercentile(t *testing.T) {
	require.Zero(t, figures.Median(nil))
	require.Zero(t, figures.Percentile(nil, 99))
	require.InDelta(t, 2.5, figures.Median([]float64{4, 1, 3, 2}), 0)
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(100-i))
	}
	require.InDelta(t, 100, figures.Percentile(hundred, 99), 0)
	require.InDelta(t, 51, figures.Percentile(hundred, 50), 0)
	require.InDelta(t, 100, figures.Percentile(hundred, 100), 0)
}

func TestTheTableIsAligned(t *testing.T) {
	var out strings.Builder
	require.NoError(t, figures.Table(&out, []figures.Figure{
		{
			Name: "expiry p99", Unit: "ms", Ours: []float64{1.5, 3, 2}, Floor: []float64{1, 1, 1},
			Goal: figures.AtMost(1.5),
		},
		{Name: "memory", Unit: "KB", Ours: []float64{2.75}, Goal: figures.Below(3)},
	}))
	require.Equal(t, strings.Join([]string{
		"name        ours  limit  unit  ratio  spread      goal",
		"expiry p99  2.00   1.00  ms     2.00  1.50..3.00  ≤ 1.5×  missed",
		"memory      2.75         KB                       ≤ 3 KB  ok",
		"",
	}, "\n"), out.String())
}

func TestTheJSONHasEveryRound(t *testing.T) {
	var out strings.Builder
	report := figures.Report{
		Figures: []figures.Figure{{Name: "x", Ours: []float64{1, 3}, Floor: []float64{1, 1}, Goal: figures.AtMost(2)}},
		Left:    []figures.Left{{Name: "y", Why: "no server"}},
	}
	require.NoError(t, report.JSON(&out))
	var read struct {
		Figures []struct {
			Ours    struct{ Rounds []float64 }
			Ratio   float64
			Verdict string
		}
		NotMeasured []figures.Left `json:"not_measured"`
	}
	require.NoError(t, json.Unmarshal([]byte(out.String()), &read))
	require.Equal(t, []float64{1, 3}, read.Figures[0].Ours.Rounds)
	require.InDelta(t, 2, read.Figures[0].Ratio, 0)
	require.Equal(t, "ok", read.Figures[0].Verdict)
	require.Equal(t, report.Left, read.NotMeasured)
}

// drawn counts the elements of a picture, which has to be well-formed XML, and every coordinate in it a number.
func drawn(t *testing.T, c figures.Curve) map[string]int {
	t.Helper()
	var out strings.Builder
	require.NoError(t, c.SVG(&out))
	require.NotContains(t, out.String(), "NaN")
	require.NotContains(t, out.String(), "Inf")
	elements := map[string]int{}
	decoder := xml.NewDecoder(strings.NewReader(out.String()))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return elements
		}
		require.NoError(t, err)
		if begun, isStart := token.(xml.StartElement); isStart {
			elements[begun.Name.Local]++
		}
	}
}

func TestAPlotIsWellFormed(t *testing.T) {
	c := figures.Curve{
		Title: `memory <a lane> & "more"`, X: "lanes", Y: "KB", Limit: "a bare actor",
		Points: []figures.Point{{1000, 3, 1}, {10_000, 3.1, 1}, {100_000, 3.2, 1}},
	}
	elements := drawn(t, c)
	require.Equal(t, 2, elements["polyline"])
	require.Equal(t, 4, elements["circle"], "a dot each, and that of the key")
	c.Limit = ""
	require.Equal(t, 1, drawn(t, c)["polyline"])
	drawn(t, figures.Curve{Title: "nothing measured"})
	drawn(t, figures.Curve{Points: []figures.Point{{X: 1000}}})
}
