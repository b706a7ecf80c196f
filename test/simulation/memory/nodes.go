package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/nodes"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Nodes is what several gateways tell each other through the server.
type Nodes struct{ store *Store }

var _ nodes.Store = Nodes{}

// Nodes returns it.
func (s *Store) Nodes() Nodes { return Nodes{s} }

// Close is for whoever has opened it. It has nothing of its own.
func (Nodes) Close() error { return nil }

// lease is a lease with its end.
type lease struct {
	store.Lease
	ends time.Time
}

// Renew implements nodes.Store.
func (n Nodes) Renew(ctx context.Context, l store.Lease, ttl time.Duration) (leases store.Leases, err error) {
	end, err := n.store.begin(ctx)
	if err != nil {
		return leases, err
	}
	defer end()
	held := n.store.server.data.leases
	before, found := held[l.Run]
	now := time.Now()
	leases.Continued = found && before.ends.After(now)
	switch {
	case found && before.Digest == l.Digest:
		l.DigestSince = before.DigestSince
	case l.DigestSince.IsZero():
		l.DigestSince = now
	}
	l.DigestSince = time.UnixMilli(l.DigestSince.UnixMilli())
	held[l.Run] = lease{l, now.Add(ttl)}
	leases.Live, leases.Server = n.store.server.live(), n.store.server.name
	leases.ServerIsNew = n.store.server.servesSince.Add(ttl).After(now)
	return leases, nil
}

// live returns the leases that have not ended, and forgets the others.
func (s *Server) live() (live []store.Lease) {
	for run, l := range s.data.leases {
		if !l.ends.After(time.Now()) {
			delete(s.data.leases, run)
			continue
		}
		live = append(live, l.Lease)
	}
	return live
}

// Live implements nodes.Store.
func (n Nodes) Live(ctx context.Context) ([]store.Lease, error) {
	end, err := n.store.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return n.store.server.live(), nil
}

// End implements nodes.Store.
func (n Nodes) End(ctx context.Context, run uuid.UUID) error {
	end, err := n.store.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	delete(n.store.server.data.leases, run)
	return nil
}

// ownership returns who owns a range.
func (s *Server) ownership(id uuid.UUID) store.Ownership {
	o := store.Ownership{Range: id}
	if r := s.data.ranges[id]; r != nil {
		o.Epoch, o.Owner = r.Epoch, r.owner
	}
	return o
}

// Owners implements nodes.Store.
func (n Nodes) Owners(ctx context.Context, ranges []uuid.UUID) (owners []store.Ownership, err error) {
	end, err := n.store.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	for _, id := range ranges {
		owners = append(owners, n.store.server.ownership(id))
	}
	return owners, nil
}

// Claim implements nodes.Store.
func (n Nodes) Claim(ctx context.Context, by store.Claimant, expected []store.Ownership) []store.Claimed {
	outcomes := make([]store.Claimed, len(expected))
	for i, e := range expected {
		outcomes[i] = n.claim(ctx, by, e)
	}
	return outcomes
}

func (n Nodes) claim(ctx context.Context, by store.Claimant, expected store.Ownership) store.Claimed {
	end, err := n.store.begin(ctx)
	if err != nil {
		return store.Claimed{Ownership: expected, Err: err}
	}
	defer end()
	server := n.store.server
	if by.Server != "" && by.Server != server.name {
		return store.Claimed{Ownership: expected, Err: store.ErrAnotherServer}
	}
	current := server.ownership(expected.Range)
	if current.Epoch != expected.Epoch || current.Owner.Run != expected.Owner.Run {
		return store.Claimed{Ownership: current, Taken: true}
	}
	r := server.claim(expected.Range, by.Node, by.Now)
	claimed := store.Claimed{Ownership: server.ownership(expected.Range)}
	for _, lane := range r.lanes {
		if s, err := store.Decode[lanes.Snapshot](lane); err == nil && s.Session != nil &&
			s.Session.Phase == lanes.Running {
			claimed.Running++
		}
	}
	return claimed
}

// SetOwner implements nodes.Store.
func (n Nodes) SetOwner(
	ctx context.Context, from store.Ownership, to store.Node,
) (current store.Ownership, changed bool, err error) {
	end, err := n.store.begin(ctx)
	if err != nil {
		return from, false, err
	}
	defer end()
	server := n.store.server
	current = server.ownership(from.Range)
	if server.data.ranges[from.Range] == nil || current.Epoch != from.Epoch || current.Owner.Run != from.Owner.Run {
		return current, false, nil
	}
	server.data.ranges[from.Range].owner = to
	from.Owner = to
	return from, true, nil
}

// announcements is how many wait for a node that does not read them; the others are lost to it.
const announcements = 1024

// Announce implements nodes.Store.
func (n Nodes) Announce(ctx context.Context, changed []store.Ownership) error {
	end, err := n.store.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for watcher := range n.store.server.watchers {
		for _, o := range changed {
			select {
			case watcher <- o:
			default:
			}
		}
	}
	return nil
}

// Watch implements nodes.Store.
func (n Nodes) Watch(ctx context.Context) <-chan store.Ownership {
	server, heard := n.store.server, make(chan store.Ownership, announcements)
	server.mu.Lock()
	server.watchers[heard] = true
	server.mu.Unlock()
	context.AfterFunc(ctx, func() {
		server.mu.Lock()
		defer server.mu.Unlock()
		delete(server.watchers, heard)
		close(heard)
	})
	return heard
}
