package deploy

import (
	"regexp"
	"slices"
	"strings"
)

// family is one metric as a scrape shows it.
type family struct {
	help, kind string
	labels     map[string][]string // with the values seen
}

var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)

// scraped reads the text format.
func scraped(text string) map[string]*family {
	families := map[string]*family{}
	known := func(name string) *family {
		if families[name] == nil {
			families[name] = &family{labels: map[string][]string{}}
		}
		return families[name]
	}
	for _, line := range strings.Split(text, "\n") {
		if about, is := strings.CutPrefix(line, "# HELP "); is {
			name, help, _ := strings.Cut(about, " ")
			known(name).help = help
			continue
		}
		if about, is := strings.CutPrefix(line, "# TYPE "); is {
			name, kind, _ := strings.Cut(about, " ")
			known(name).kind = kind
			continue
		}
		found := sample.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		of := known(base(families, found[1]))
		for _, m := range matchers.FindAllStringSubmatch(found[2], -1) {
			if !slices.Contains(of.labels[m[1]], m[3]) {
				of.labels[m[1]] = append(of.labels[m[1]], m[3])
			}
		}
	}
	return families
}

// base is the name under which a series is described: a histogram's has none of the ends that its series have.
func base(families map[string]*family, name string) string {
	for _, end := range []string{"_bucket", "_sum", "_count"} {
		if whole, is := strings.CutSuffix(name, end); is && families[whole] != nil && families[whole].kind != "counter" && families[whole].kind != "gauge" {
			return whole
		}
	}
	return name
}
