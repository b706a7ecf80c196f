package crash

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

var anID = regexp.MustCompile(`[0-9a-f-]{36}`)

// explain is what the gateway logged, in all its lives, of the first sessions among the faults.
func (x *trial) explain(faults []string) string {
	const most = 3
	var ids []string
	for _, fault := range faults {
		if id := anID.FindString(fault); id != "" && !slices.Contains(ids, id) && len(ids) < most {
			ids = append(ids, id)
		}
	}
	var text strings.Builder
	for _, id := range ids {
		text.WriteString("the gateway's log of " + id + ":\n")
		for n, life := range x.lives {
			for line := range strings.Lines(life.Log()) {
				if strings.Contains(line, id) {
					fmt.Fprintf(&text, "\tlife %d: %s\n", n+1, strings.TrimSpace(line))
				}
			}
		}
	}
	return text.String()
}

// figures is what the trial went through, how far time has strayed, and how exactly the clients knew it before.
func (x *trial) figures() string {
	var worst time.Duration
	for _, c := range x.clients {
		for _, s := range c.sessions {
			worst = max(worst, s.stray)
		}
	}
	slices.Sort(x.widths)
	return fmt.Sprintf("SEED=%d\n%sworst error of time %s; of the deadlines compared, half were known to %s, all to %s",
		x.seed, &x.tally, worst, x.widths[len(x.widths)/2], x.widths[len(x.widths)-1])
}
