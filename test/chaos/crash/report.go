package crash

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var anID = regexp.MustCompile(`[0-9a-f-]{36}`)

// explain returns the last lines of the gateway's logs about the first sessions, lanes and events among the faults.
func (x *fixture) explain(faults []string) string {
	const most, last = 3, 40
	var ids []string
	for _, fault := range faults {
		if id := anID.FindString(fault); id != "" && !slices.Contains(ids, id) && len(ids) < most {
			ids = append(ids, id)
		}
	}
	var text strings.Builder
	for _, id := range ids {
		text.WriteString("the gateway's log of " + id + ":\n")
		var lines []string
		for n, process := range x.gateways {
			for line := range strings.Lines(process.Log()) {
				if strings.Contains(line, id) {
					lines = append(lines, fmt.Sprintf("\tprocess %d: %s\n", n+1, strings.TrimSpace(line)))
				}
			}
		}
		text.WriteString(strings.Join(lines[max(0, len(lines)-last):], ""))
	}
	return text.String()
}

// figures returns the counters, and how exactly the clients knew deadlines before they were compared.
func (x *fixture) figures() string {
	slices.Sort(x.widths)
	return fmt.Sprintf("SEED=%d\n%s\nof the deadlines compared, half were known to %s, all to %s",
		x.seed, &x.counters, x.widths[len(x.widths)/2], x.widths[len(x.widths)-1])
}
