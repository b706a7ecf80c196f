package preflight

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"rangegate/config"
	"rangegate/lanes/link/websocket"
	"rangegate/webhook/egress"
)

// How the controllers are knocked at: so many at a time, each for so long, and all of them for so long. What the gateway
// dials with is as patient (LINK.md), and tries again for ever.
const (
	knocksAtOnce = 64
	knockWithin  = 3 * time.Second
	knocksWithin = 20 * time.Second
)

// controller is where a lane's is, and whom its range trusts.
type controller struct {
	lane, address string
	trust         websocket.TLS
}

// controllers are connected to, TLS included, and hung up on: not a word of the link is spoken, so that whoever is
// connected stays so. That the one who answers is the lane's controller, and takes its key, check-controller shows.
func (s Settings) controllers(ctx context.Context) (all []Finding) {
	var wired []controller
	simulated := 0
	for i, r := range s.Config.Ranges {
		trust, err := s.Trust(r.LinkTLS)
		if err != nil {
			all = append(all, Finding{
				Fail, "controllers", fmt.Sprintf("ranges[%d].link_tls.ca: %v", i, err), "put the path of the PEM file right: the gateway does not start without it",
			})
			continue
		}
		for _, lane := range r.Lanes {
			switch lane.Link.Driver {
			case config.DriverWebSocket:
				name := lane.Name
				if len(s.Config.Ranges) > 1 {
					name = r.Name + "/" + name
				}
				wired = append(wired, controller{name, lane.Link.Address, trust})
			default:
				simulated++
			}
		}
	}
	if simulated > 0 {
		all = append(all, ok("controllers", "%s simulated", count(simulated, "lane")))
	}
	return append(all, knockedAt(ctx, wired)...)
}

// knockedAt groups the lanes by what came of it.
func knockedAt(ctx context.Context, wired []controller) (all []Finding) {
	if len(wired) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, knocksWithin)
	defer cancel()
	outcome := make([]string, len(wired))
	var knocking errgroup.Group
	knocking.SetLimit(knocksAtOnce)
	for i, c := range wired {
		knocking.Go(func() error {
			outcome[i] = c.knock(ctx)
			return nil
		})
	}
	_ = knocking.Wait()

	answered := 0
	problems := grouped[string]{}
	for i, c := range wired {
		if outcome[i] == "" {
			answered++
			continue
		}
		problems.add(outcome[i], c.lane)
	}
	if answered > 0 {
		all = append(all, ok("controllers", "%d of %d are reached", answered, len(wired)))
	}
	for _, p := range problems {
		all = append(all, Finding{
			Fail, "controllers", fmt.Sprintf("%d of %d: %s: %s", len(p.of), len(wired), p.key, named(p.of)), remedy(p.key),
		})
	}
	return all
}

const (
	notTried    = "not tried: the others took too long"
	fingerprint = "another certificate than that of link_tls.fingerprint"
)

// knock is empty, or why the controller is not reached.
func (c controller) knock(ctx context.Context) string {
	if ctx.Err() != nil {
		return notTried
	}
	inTime, cancel := context.WithTimeout(ctx, knockWithin)
	defer cancel()
	err := websocket.Probe(inTime, c.address, c.trust)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, websocket.ErrFingerprint):
		return fingerprint
	}
	return egress.Reason(err, "no connection could be made")
}

func remedy(problem string) string {
	switch problem {
	case notTried:
		return "see to those that do not answer, and check again"
	case fingerprint:
		return "see whether the controller was replaced on purpose, and put the fingerprint right"
	}
	return "see that they have power and network, and that link.address is theirs; then rangegate check-controller"
}
