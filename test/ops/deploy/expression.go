// Package deploy holds what is in deploy/ to the program: the dashboards and the alert rules name metrics that
// it has, and every alert says to its operator what to do.
//
//	expression.go      which metrics and labels a PromQL expression names
//	rules.go           the alert rules and their tests, read
//	dashboard.go       the dashboards, read
//	fixture.go         a gateway with a bit of everything going on
//	inventory.go       the metrics of a gateway, and whether it has what an expression names
package deploy

import (
	"regexp"
	"slices"
	"strings"
)

// expression is what PromQL names. Whether it is PromQL at all, promtool says.
type expression struct {
	selected    []selected
	grouped     []string // the labels of by (…) and without (…), on (…) and their like
	onlyGrouped bool     // only what it is grouped by is left of the labels
}

// selected is a metric with the labels that it is selected by.
type selected struct {
	metric   string
	matchers []matcher
}

type matcher struct{ label, operator, value string }

var (
	word      = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	matchers  = regexp.MustCompile(`([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	groupings = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	aside     = regexp.MustCompile(`\[[^\]]*\]|"[^"]*"|\b\d[\w.]*|#.*`) // spans of time, texts, numbers, comments
	keywords  = []string{"and", "or", "unless", "offset", "bool", "inf", "nan"}
)

// parse takes what is left for a metric once everything else is known, so that none stays unseen.
func parse(text string) (e expression) {
	for _, g := range groupings.FindAllStringSubmatch(text, -1) {
		e.grouped = append(e.grouped, word.FindAllString(g[2], -1)...)
		e.onlyGrouped = e.onlyGrouped || g[1] == "by"
	}
	text = groupings.ReplaceAllString(text, "")
	for text != "" {
		at := word.FindStringIndex(text)
		if skip := aside.FindStringIndex(text); skip != nil && (at == nil || skip[0] <= at[0]) {
			text = text[skip[1]:]
			continue
		}
		if at == nil {
			break
		}
		name, rest := text[at[0]:at[1]], strings.TrimLeft(text[at[1]:], " \n")
		text = text[at[1]:]
		if strings.HasPrefix(rest, "(") || slices.Contains(keywords, strings.ToLower(name)) {
			continue
		}
		one := selected{metric: name}
		if braced, found := strings.CutPrefix(rest, "{"); found {
			inside, behind, _ := strings.Cut(braced, "}")
			for _, m := range matchers.FindAllStringSubmatch(inside, -1) {
				one.matchers = append(one.matchers, matcher{m[1], m[2], m[3]})
			}
			text = behind
		}
		e.selected = append(e.selected, one)
	}
	return e
}

// values are those that the matcher names: one, or those between the bars of a regular expression that is nothing else.
func (m matcher) values() []string {
	if m.operator == "=" || m.operator == "!=" {
		return []string{m.value}
	}
	all := strings.Split(m.value, "|")
	if slices.ContainsFunc(all, func(value string) bool { return regexp.QuoteMeta(value) != value }) {
		return nil
	}
	return all
}
