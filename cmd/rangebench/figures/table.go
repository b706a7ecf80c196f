package figures

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table writes the figures, one a line: medians over the rounds, and between what the ratio moved.
func Table(to io.Writer, all []Figure) error {
	rows := [][]string{{"name", "ours", "limit", "unit", "ratio", "spread", "goal", ""}}
	for _, f := range all {
		row := []string{f.Name, number(Median(f.Ours)), "", f.Unit, "", "", f.Goal.in(f.Unit), f.Verdict()}
		if ratio, defined := f.Ratio(); defined {
			row[2], row[4] = number(Median(f.Floor)), number(ratio)
		}
		if least, most := f.Spread(); len(f.Ours) > 1 {
			row[5] = number(least) + ".." + number(most)
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if numeric := i == 1 || i == 2 || i == 4; numeric {
				cell, padding = padding+cell, ""
			}
			line.WriteString(cell + padding + "  ")
		}
		if _, err := fmt.Fprintln(to, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
