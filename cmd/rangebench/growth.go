package main

import (
	"context"
	"fmt"

	"rangegate/cmd/rangebench/figures"
)

var (
	growth     = experiment{"growth", "what a lane takes at 1,000, 10,000 and 100,000 lanes", measureGrowth}
	manyRanges = experiment{"ranges", "1,000 ranges of 100 lanes instead of one of 100,000", measureRanges}
)

// measureGrowth compares the largest size with the smallest.
func measureGrowth(ctx context.Context, t *trial) error {
	sizes := []int{t.lanes(1000), t.lanes(10_000), t.lanes(100_000)}
	at := make([][][]float64, len(sizes)) // size, burden, round
	for i := range at {
		at[i] = make([][]float64, len(burdens))
	}
	for round := range t.rounds(1) {
		for i, size := range sizes {
			t.say("round %d of %d, %d lanes", round+1, t.rounds(1), size)
			one := isolated{What: "load", Lanes: size, Store: t.store()}
			if t.Profile != "" {
				one.Profile = t.profile(fmt.Sprint(size))
			}
			had, err := one.inProcess(ctx)
			if err != nil {
				return err
			}
			for b := range burdens {
				at[i][b] = append(at[i][b], had[b])
			}
		}
	}
	for b, of := range burdens {
		first, last := at[0][b], at[len(sizes)-1][b]
		t.note(figures.Figure{
			Name: of.name, Unit: of.unit, Goal: figures.AtMost(1.2), What: of.what + ", with the most lanes",
			Limit: "the same with the fewest", Ours: last, Floor: first,
		})
		curve := figures.Curve{Name: "growth-" + of.name, Title: of.what, X: "lanes", Y: of.unit, Limit: "flat"}
		for i, size := range sizes {
			curve.Points = append(curve.Points, figures.Point{
				X: float64(size), Ours: figures.Median(at[i][b]), Limit: figures.Median(first),
			})
		}
		t.report.Curves = append(t.report.Curves, curve)
	}
	return nil
}

func measureRanges(ctx context.Context, t *trial) error {
	n := t.lanes(100_000)
	var into []figures.Figure
	for _, of := range burdens {
		into = append(into, figures.Figure{
			Name: of.name, Unit: of.unit, Goal: figures.AtMost(1.1), What: of.what + ", in ranges of 100",
			Limit: "the same lanes in one range",
		})
	}
	return t.compareApart(ctx, 1, isolated{What: "load", Lanes: n, Ranges: max(1, n/100)},
		isolated{What: "load", Lanes: n}, into...)
}
