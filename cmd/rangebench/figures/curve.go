package figures

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Curve is how a figure grows with a size. Its sizes are drawn on a logarithmic axis.
type Curve struct {
	Name   string  `json:"name"` // also of its file
	Title  string  `json:"title"`
	X      string  `json:"x"` // what the axes show, with their units
	Y      string  `json:"y"`
	Limit  string  `json:"limit"` // what the other line is; empty: there is none
	Points []Point `json:"points"`
}

// Point is one size.
type Point struct {
	X     float64 `json:"x"`
	Ours  float64 `json:"ours"`
	Limit float64 `json:"limit"` // without meaning where the curve has none
}

// The picture, in its own units.
const (
	width, height            = 640.0, 400.0
	left, right, top, bottom = 70.0, 20.0, 50.0, 60.0
)

// SVG draws the curve. Ours is a full line with dots, the limit a dashed one with squares: no colour is needed to tell
// them apart.
func (c Curve) SVG(to io.Writer) error {
	var b strings.Builder
	x, y := c.axes()
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12">`+
			"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="white"/>`+"\n", width, height)
	text(&b, width/2, 20, "middle", c.Title)
	text(&b, width/2, height-12, "middle", c.X)
	fmt.Fprintf(&b, `<g transform="rotate(-90 16 %g)">`, height/2)
	text(&b, 16, height/2, "middle", c.Y)
	b.WriteString("</g>\n")
	for _, v := range y.ticks() {
		at := height - bottom - y.part(v)*(height-top-bottom)
		fmt.Fprintf(&b, `<line x1="%g" y1="%.1f" x2="%g" y2="%.1f" stroke="#ddd"/>`, left, at, width-right, at)
		text(&b, left-6, at+4, "end", number(v))
	}
	for _, v := range x.ticks() {
		at := left + x.part(v)*(width-left-right)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%g" x2="%.1f" y2="%g" stroke="#ddd"/>`, at, top, at, height-bottom)
		text(&b, at, height-bottom+18, "middle", number(v))
	}
	place := func(p Point, v float64) (float64, float64) {
		return left + x.part(p.X)*(width-left-right), height - bottom - y.part(v)*(height-top-bottom)
	}
	line := func(color, dashes string, of func(Point) float64, mark func(x, y float64) string) {
		var path, marks []string
		for _, p := range c.Points {
			px, py := place(p, of(p))
			path = append(path, fmt.Sprintf("%.1f,%.1f", px, py))
			marks = append(marks, mark(px, py))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s"/>`+
			"\n%s\n",
			strings.Join(path, " "), color, dashes, strings.Join(marks, ""))
	}
	dot := func(x, y float64) string { return fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="4" fill="#04c"/>`, x, y) }
	square := func(x, y float64) string {
		return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="7" height="7" fill="#c40"/>`, x-3.5, y-3.5)
	}
	line("#04c", "none", func(p Point) float64 { return p.Ours }, dot)
	b.WriteString(dot(left+10, 36))
	text(&b, left+20, 40, "start", "ours")
	if c.Limit != "" {
		line("#c40", "6 4", func(p Point) float64 { return p.Limit }, square)
		b.WriteString(square(left+80, 36))
		text(&b, left+90, 40, "start", "limit: "+c.Limit)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(to, b.String())
	return err
}

func text(b *strings.Builder, x, y float64, anchor, words string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">`, x, y, anchor)
	_ = xml.EscapeText(b, []byte(words)) // a strings.Builder takes everything
	b.WriteString("</text>\n")
}

// axis is what an edge of the picture covers.
type axis struct {
	least, most float64
	log         bool
}

func (c Curve) axes() (x, y axis) {
	var sizes, values []float64
	for _, p := range c.Points {
		sizes, values = append(sizes, p.X), append(values, p.Ours)
		if c.Limit != "" {
			values = append(values, p.Limit)
		}
	}
	x, y = axis{1, 10, true}, axis{0, 1, false}
	if len(sizes) > 0 {
		x.least, x.most = slices.Min(sizes), max(slices.Max(sizes), slices.Min(sizes)*10)
		y.most = max(slices.Max(values)*1.1, 1e-9)
	}
	return x, y
}

// part is where a value lies, from 0 to 1.
func (a axis) part(v float64) float64 {
	if a.log {
		return math.Log(v/a.least) / math.Log(a.most/a.least)
	}
	return (v - a.least) / (a.most - a.least)
}

// ticks are round values: each power of ten, or some four steps of 1, 2 or 5 times one.
func (a axis) ticks() (all []float64) {
	if a.log {
		for v := math.Pow(10, math.Ceil(math.Log10(a.least)-1e-9)); v <= a.most*1.0001; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	step := math.Pow(10, math.Floor(math.Log10((a.most-a.least)/4)))
	for _, times := range []float64{2, 5, 10} {
		if (a.most-a.least)/step <= 6 {
			break
		}
		step = math.Pow(10, math.Floor(math.Log10((a.most-a.least)/4))) * times
	}
	for v := a.least; v <= a.most; v += step {
		all = append(all, v)
	}
	return all
}
