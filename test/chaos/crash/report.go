package crash

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var anID = regexp.MustCompile(`[0-9a-f-]{36}`)

// explain is the last that the gateway logged, in all its lives, of the first sessions, lanes and events among the
// faults.
func (x *trial) explain(faults []string) string {
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
		var said []string
		for n, life := range x.lives {
			for line := range strings.Lines(life.Log()) {
				if strings.Contains(line, id) {
					said = append(said, fmt.Sprintf("\tlife %d: %s\n", n+1, strings.TrimSpace(line)))
				}
			}
		}
		text.WriteString(strings.Join(said[max(0, len(said)-last):], ""))
	}
	return text.String()
}

// figures is what the trial went through, and how exactly the clients knew deadlines before they were compared.
func (x *trial) figures() string {
	slices.Sort(x.widths)
	return fmt.Sprintf("SEED=%d\n%s\nof the deadlines compared, half were known to %s, all to %s",
		x.seed, &x.tally, x.widths[len(x.widths)/2], x.widths[len(x.widths)-1])
}
