package preflight

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
)

// grouped is things and whose they are, in the order in which they came: an integrator of a hundred ranges is asked once.
type grouped[K comparable] []*group[K]

type group[K comparable] struct {
	key K
	of  []string
}

func (g *grouped[K]) add(key K, of string) {
	for _, known := range *g {
		if known.key == key {
			known.of = append(known.of, of)
			return
		}
	}
	*g = append(*g, &group[K]{key, []string{of}})
}

// asked asks all of them, so many at a time.
func asked[K comparable](ctx context.Context, all grouped[K], ask func(ctx context.Context, key K, of string) Finding) []Finding {
	found := make([]Finding, len(all))
	var asking errgroup.Group
	asking.SetLimit(neighboursAtOnce)
	for i, g := range all {
		asking.Go(func() error {
			inTime, cancel := context.WithTimeout(ctx, neighbourWithin)
			defer cancel()
			found[i] = ask(inTime, g.key, named(g.of))
			return nil
		})
	}
	_ = asking.Wait()
	return found
}

// namedAtMost of many are named.
const namedAtMost = 10

func named(all []string) string {
	if len(all) <= namedAtMost {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:namedAtMost], ", "), len(all)-namedAtMost)
}
