package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// renewals is how many times a lease is renewed in its TTL.
const renewals = 5

// lease is what this node knows of its lease and of the others'. The keeper's lock guards it.
type lease struct {
	digest      string
	digestSince time.Time // of the digest, as the store has said; zero until then
	draining    bool
	drained     []store.Drained // never changed in place: a renewal may be reading it

	all         []store.Lease // at the newest renewal, this node's included
	askedAt     time.Time     // when that renewal was sent
	held        bool          // the newest renewal has succeeded
	since       time.Time     // renewed since then without a gap; zero while the newest renewal has failed
	lost        bool          // it had ended, or renewals had failed, since the start
	server      string        // that had it at the newest renewal
	nodes       string        // who may own ranges, to see that it changes
	nodesSameAt time.Time     // since when they are the same
}

// mayClaim is true once others that started at the same time are seen too.
func (l *lease) mayClaim(now time.Time, ttl time.Duration) bool {
	return l.heldFor(now, ttl) >= ttl/renewals && (!l.lost || l.mayTakeOver(now, ttl))
}

func (l *lease) mayTakeOver(now time.Time, ttl time.Duration) bool { return l.heldFor(now, ttl) >= ttl }

// heldFor is how long the lease has been renewed without a gap. A process that was stopped for a TTL does not
// hold it, whatever it remembers.
func (l *lease) heldFor(now time.Time, ttl time.Duration) time.Duration {
	if !l.held || now.Sub(l.askedAt) >= ttl {
		return -1
	}
	return now.Sub(l.since)
}

func (l *lease) isLive(run uuid.UUID) bool {
	return slices.ContainsFunc(l.all, func(other store.Lease) bool { return other.Run == run })
}

// renewed takes over what the store has answered to a renewal, which was sent and answered at these times. After a
// fail-over the new server may lack the last renewals of nodes that live: they get a TTL to renew, as after a gap, also
// by a node that has started since.
func (l *lease) renewed(sent, answered time.Time, asked store.Lease, answer store.Leases) {
	if l.since.IsZero() || !answer.Continued || answer.Server != l.server {
		l.lost = l.lost || !l.askedAt.IsZero() || answer.ServerIsNew
		l.since = answered
	}
	l.all, l.askedAt, l.held, l.server = answer.Live, sent, true, answer.Server
	var nodes []string
	for _, other := range answer.Live {
		if other.Run == asked.Run && asked.Digest == l.digest {
			l.digestSince = other.DigestSince
		}
		nodes = append(nodes, fmt.Sprintln(other.Run, other.Digest, other.Draining, other.Refusing, other.Drained))
	}
	slices.Sort(nodes)
	if now := strings.Join(nodes, ""); now != l.nodes {
		l.nodes, l.nodesSameAt = now, sent
	}
}

func (l *lease) failed() { l.held, l.since = false, time.Time{} }

// renewUntil renews the lease until ctx ends. Nothing else runs on its goroutine: what takes long costs no
// lease.
func (k *Keeper) renewUntil(ctx context.Context) {
	next := time.NewTicker(k.TTL / renewals)
	defer next.Stop()
	for {
		k.renew(ctx)
		select {
		case <-next.C:
		case <-k.renewNow:
		case <-ctx.Done():
			return
		}
	}
}

func (k *Keeper) renew(ctx context.Context) {
	asked := store.Lease{Node: k.Self, Version: k.Version}
	if k.Refusing != nil {
		asked.Refusing = k.Refusing()
	}
	k.mu.RLock()
	asked.Digest, asked.DigestSince, asked.Draining = k.lease.digest, k.lease.digestSince, k.lease.draining
	asked.Drained = k.lease.drained
	before := k.lease
	k.mu.RUnlock()
	limited, cancel := context.WithTimeout(ctx, 2*k.TTL/renewals)
	defer cancel()
	sent := time.Now()
	answer, err := k.Store.Renew(limited, asked, k.TTL)
	answered := time.Now()
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	if err != nil {
		k.lease.failed()
	} else {
		k.lease.renewed(sent, answered, asked, answer)
	}
	after := k.lease
	close(k.renewed)
	k.renewed = make(chan struct{})
	moved := err == nil && before.server != "" && before.server != answer.Server
	if moved {
		k.sweptAt = time.Time{}
	}
	k.mu.Unlock()
	if moved { // before an owner of before, which the new server may name, has waited for its TTL
		k.Log.Warn().
			Msg("another server has the leases: the ranges here are saved to it, and this node takes none " +
				"of others for a TTL")
		k.Ranges.CheckpointAll()
	}
	switch {
	case err != nil:
		k.Metrics.failed.Inc()
		k.Metrics.held.Set(0)
		if before.held || before.askedAt.IsZero() {
			k.Log.Error().Err(err).Msg("the lease of this node is not renewed: its ranges go on, and it takes no " +
				"others until it is renewed for a TTL")
		}
		return
	case !before.held:
		k.Metrics.held.Set(1)
		k.Log.Info().Bool("continued", answer.Continued).Int("nodes", len(answer.Live)).Msg("this node holds its lease")
	case !answer.Continued:
		k.Log.Warn().
			Msg("the lease of this node had ended before it was renewed: it takes no ranges of others for a TTL")
	}
	if before.nodes != after.nodes {
		names := make([]string, len(answer.Live))
		for i, other := range answer.Live {
			names[i] = other.Name
		}
		slices.Sort(names)
		k.Log.Info().Strs("nodes", names).Msg("the nodes are others, or others may own ranges")
	}
	k.wakeUp()
}
