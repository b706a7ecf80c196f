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

// The limits of the connections to controllers. connectTimeout is the gateway's own (LINK.md).
const (
	parallelConnects  = 64
	connectTimeout    = 3 * time.Second
	connectAllTimeout = 20 * time.Second
)

// controller is the controller of a lane.
type controller struct {
	lane, address string
	trust         websocket.TLS
}

// controllers connects to every controller, with TLS, and disconnects without a message, so that a controller stays with
// the gateway that it has. Whether the right controller answers and accepts the key is left to check-controller.
func (s Settings) controllers(ctx context.Context) (all []Finding) {
	var wired []controller
	simulated := 0
	for i, r := range s.Config.Ranges {
		trust, err := s.Trust(r.LinkTLS)
		if err != nil {
			all = append(all, Finding{
				Fail, "controllers", fmt.Sprintf("ranges[%d].link_tls.ca: %v", i, err), "correct the path of the PEM file: the gateway does not start without it",
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
	return append(all, connectAll(ctx, wired)...)
}

// connectAll connects to the controllers and groups the lanes by the outcome.
func connectAll(ctx context.Context, wired []controller) (all []Finding) {
	if len(wired) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectAllTimeout)
	defer cancel()
	outcome := make([]string, len(wired))
	var connects errgroup.Group
	connects.SetLimit(parallelConnects)
	for i, c := range wired {
		connects.Go(func() error {
			outcome[i] = c.connect(ctx)
			return nil
		})
	}
	_ = connects.Wait()

	answered := 0
	problems := groups[string]{}
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
			Fail, "controllers", fmt.Sprintf("%d of %d: %s: %s", len(p.names), len(wired), p.key, joinNames(p.names)), remedy(p.key),
		})
	}
	return all
}

const (
	notTried    = "not tried: the others took too long"
	fingerprint = "another certificate than that of link_tls.fingerprint"
)

// connect returns "" or why the controller cannot be reached.
func (c controller) connect(ctx context.Context) string {
	if ctx.Err() != nil {
		return notTried
	}
	limited, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	err := websocket.Probe(limited, c.address, c.trust)
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
		return "repair those that do not answer, and check again"
	case fingerprint:
		return "find out whether the controller was replaced on purpose, and correct the fingerprint"
	}
	return "check their power and network, and link.address; then run rangegate check-controller"
}
