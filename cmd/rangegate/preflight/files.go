package preflight

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"rangegate/actors"
	"rangegate/config"
)

// Files that are open beside those that depend on the configuration: the store, logs, listeners, the runtime's own.
const filesBeside = 100

// productRequests of one range, each on a connection, and for pictures of the products as many again.
const productRequests = 40

// openFiles compares the limit of this process with what the configuration may need. The service has its own limit.
func (s Settings) openFiles(context.Context) []Finding {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return []Finding{{Warn, "open files", "their limit is not known: " + err.Error(), "see that it is at least twice the number of lanes"}}
	}
	return []Finding{filesFor(s.Config, limit.Cur)}
}

// filesFor: clients' connections take at most half of it, so that links and
// neighbours have the other half for sure.
func filesFor(c config.Config, limit uint64) Finding {
	links, neighbours := 0, 0
	for _, r := range c.Ranges {
		for _, lane := range r.Lanes {
			if lane.Link.Driver == config.DriverWebSocket {
				links++
			}
		}
		if r.Webhook != nil {
			neighbours += r.Webhook.Concurrency + actors.PurchaseSlots + actors.SimulationSlots
		}
		if r.Products != nil {
			neighbours += productRequests
		}
	}
	always, wanted := uint64(links+filesBeside), uint64(2*(links+neighbours+filesBeside))
	found := fmt.Sprintf("a process may have %d: %s and what belongs to them need %d, and %d leave room for every client and event",
		limit, count(links, "link"), always, wanted)
	do := fmt.Sprintf("raise the limit: LimitNOFILE=%d in the unit, or ulimit -n for this shell", wanted)
	switch {
	case limit < always:
		return Finding{Fail, "open files", found, do}
	case limit < wanted:
		return Finding{Warn, "open files", found, do}
	}
	return ok("open files", "%s", found)
}
