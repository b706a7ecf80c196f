package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

// leasesKey is a hash of the nodes that are alive, serverKey one that says which server has it since when (lease.lua).
const leasesKey, serverKey = "rangegate:{nodes}", "rangegate:{nodes}:server"

const (
	nodesConnections = 4
	nodesTimeout     = 2 * time.Second // for a renewal, or a part of the directory
	directoryPart    = 500             // ranges that are read in one pipeline
	ownersBuffer     = 1024            // changes of owners that wait to be read
)

// Nodes is what several gateways that share a server tell each other through it: who is alive, and who owns
// which range. Its methods are safe for concurrent use, and of use until the store is closed.
//
// Its connections are its own: a renewal waits behind no flush and behind no load.
type Nodes struct {
	store   *Store
	client  goredis.UniversalClient
	channel string
}

// Nodes connects to the server for the nodes. Close must be called, before that of the store.
func (s *Store) Nodes() *Nodes {
	client := s.server.client(nodesConnections, nodesTimeout, nil)
	// A server has one set of channels for all its databases.
	return &Nodes{s, client, "rangegate:owners:" + strconv.Itoa(s.server.options.DB)}
}

// Close releases the connections.
func (n *Nodes) Close() error { return n.client.Close() }

// Renew renews the node's lease, or begins one, and returns all that are alive. The lease ends ttl later by
// the server's clock. lease.DigestSince is as it was in an earlier answer, or zero.
func (n *Nodes) Renew(ctx context.Context, lease store.Lease, ttl time.Duration) (store.Leases, error) {
	since := int64(0)
	if !lease.DigestSince.IsZero() {
		since = lease.DigestSince.UnixMilli()
	}
	r, err := n.lease(ctx, lease, ttl, since)
	if err != nil {
		return store.Leases{}, err
	}
	leases := store.Leases{Continued: r.text(1) == "continued", Server: r.text(3), ServerIsNew: r.text(4) == "new"}
	leases.Live, err = n.parseLeases(r.list(2))
	return leases, err
}

// Live returns the leases of all nodes that are alive.
func (n *Nodes) Live(ctx context.Context) ([]store.Lease, error) {
	r, err := n.lease(ctx, store.Lease{}, 0, 0) // ends that of no node
	if err != nil {
		return nil, err
	}
	return n.parseLeases(r.list(2))
}

func (n *Nodes) parseLeases(texts []string) ([]store.Lease, error) {
	live := make([]store.Lease, len(texts))
	for i, text := range texts {
		var err error
		if live[i], err = parseLease(text); err != nil {
			return nil, n.store.corrupt(leasesKey, err)
		}
	}
	return live, nil
}

// End ends the lease of a node: the others may take its ranges at once.
func (n *Nodes) End(ctx context.Context, run uuid.UUID) error {
	_, err := n.lease(ctx, store.Lease{Node: store.Node{Run: run}}, 0, 0)
	return err
}

// leaseRecord is the part of a lease that only nodes read.
type leaseRecord struct {
	Run      uuid.UUID `json:"run"`
	Name     string    `json:"name"`
	Address  string    `json:"address"`
	Version  string    `json:"version"`
	Draining bool      `json:"draining"`
	Refusing string    `json:"refusing"`

	Drained []store.Drained `json:"drained,omitempty"`
}

func (n *Nodes) lease(ctx context.Context, l store.Lease, ttl time.Duration, since int64) (reply, error) {
	record, err := store.Encode(leaseRecord{l.Run, l.Name, l.Address, l.Version, l.Draining, l.Refusing, l.Drained})
	if err != nil {
		return nil, err
	}
	r, err := call(ctx, n.store, func(ctx context.Context) (reply, error) {
		if ttl > 0 {
			n.store.server.sentinels.renewing(ctx, ttl)
		}
		return leaseScript.Run(ctx, n.client, []string{leasesKey, serverKey}, l.Run.String(), ttl.Milliseconds(),
			l.Digest, since, record).Slice()
	})
	n.reload(ctx, err)
	if err != nil {
		return nil, n.store.serverError(fmt.Errorf("lease: %w", err))
	}
	return r, n.store.replyError(r)
}

// parseLease reads 'end, digest since, digest, record'. A newer version may have written the record: its
// fields are read as far as they are known here.
func parseLease(text string) (l store.Lease, err error) {
	parts := strings.SplitN(text, " ", 4)
	if len(parts) != 4 {
		return l, errors.New("a lease has other parts than end, time, digest and record")
	}
	since, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return l, errors.New("the time of a lease's digest is no number")
	}
	var record leaseRecord
	if err := json.Unmarshal([]byte(parts[3]), &record); err != nil {
		return l, fmt.Errorf("a lease: %w", err)
	}
	l = store.Lease{
		Node: store.Node{Run: record.Run, Name: record.Name, Address: record.Address}, Version: record.Version,
		Digest: parts[2], DigestSince: time.UnixMilli(since), Draining: record.Draining, Refusing: record.Refusing,
		Drained: record.Drained,
	}
	return l, nil
}

// Owners reads who owns the ranges, in their order.
func (n *Nodes) Owners(ctx context.Context, ranges []uuid.UUID) ([]store.Ownership, error) {
	owners := make([]store.Ownership, 0, len(ranges))
	for from := 0; from < len(ranges); from += directoryPart {
		part, err := n.owners(ctx, ranges[from:min(from+directoryPart, len(ranges))])
		if err != nil {
			return nil, err
		}
		owners = append(owners, part...)
	}
	return owners, nil
}

func (n *Nodes) owners(ctx context.Context, ranges []uuid.UUID) ([]store.Ownership, error) {
	records, err := call(ctx, n.store, func(ctx context.Context) ([][]any, error) {
		read := make([]*goredis.SliceCmd, len(ranges))
		_, err := n.client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
			for i, id := range ranges {
				read[i] = pipe.HMGet(ctx, keysOf(id).meta, "epoch", "owner", "owner_name", "owner_address")
			}
			return nil
		})
		records := make([][]any, len(read))
		for i, command := range read {
			records[i] = command.Val()
		}
		return records, err
	})
	n.reload(ctx, err)
	if err != nil {
		return nil, n.store.serverError(fmt.Errorf("owners: %w", err))
	}
	owners := make([]store.Ownership, len(ranges))
	for i, fields := range records {
		if owners[i], err = n.store.ownership(ranges[i], fields); err != nil {
			return nil, err
		}
	}
	return owners, nil
}

// reload asks a cluster again which node has which slot.
func (n *Nodes) reload(ctx context.Context, err error) {
	if cluster, isCluster := n.client.(*goredis.ClusterClient); isCluster && err != nil {
		cluster.ReloadState(ctx)
	}
}

// ownership decodes epoch, owner, its name and its address.
func (s *Store) ownership(rangeID uuid.UUID, fields reply) (o store.Ownership, err error) {
	o.Range = rangeID
	if epoch := fields.text(0); epoch != "" {
		if o.Epoch, err = strconv.ParseUint(epoch, 10, 64); err != nil {
			return o, s.corrupt(keysOf(rangeID).meta+" epoch", err)
		}
	}
	if run := fields.text(1); run != "" {
		if o.Owner.Run, err = uuid.Parse(run); err != nil {
			return o, s.corrupt(keysOf(rangeID).meta+" owner", err)
		}
		o.Owner.Name, o.Owner.Address = fields.text(2), fields.text(3)
	}
	return o, nil
}

// Claim claims ranges for a node, each if its epoch and its owner are the expected ones. The claims share
// pipelines with flushes, and wait for as many replicas. One whose outcome is unknown has an error, and may
// have taken effect. In a cluster the leases and a range may be on different servers: by.Server counts for
// nothing there.
func (n *Nodes) Claim(ctx context.Context, by store.Claimant, expected []store.Ownership) []store.Claimed {
	if _, isCluster := n.client.(*goredis.ClusterClient); isCluster {
		by.Server = ""
	}
	outcomes := make([]store.Claimed, len(expected))
	var claiming sync.WaitGroup
	for i, e := range expected {
		claiming.Go(func() { outcomes[i] = n.claim(ctx, by, e) })
	}
	claiming.Wait()
	return outcomes
}

func (n *Nodes) claim(ctx context.Context, by store.Claimant, expected store.Ownership) store.Claimed {
	args := []any{
		strconv.FormatInt(max(0, by.Now.UnixMilli()), 10), decimal(expected.Epoch), runText(expected.Owner),
		runText(by.Node), by.Name, by.Address, by.Server,
	}
	r, err := n.write(ctx, newWrite(claimScript, expected.Range, args, 0), expected.Range)
	if err != nil {
		return store.Claimed{Ownership: expected, Err: fmt.Errorf("range %s: claim: %w", expected.Range, err)}
	}
	switch r.text(0) {
	case "taken":
		current, err := n.store.ownership(expected.Range, r[1:])
		return store.Claimed{Ownership: current, Taken: true, Err: err}
	case "another server":
		return store.Claimed{Ownership: expected, Err: fmt.Errorf("range %s: claim: %w", expected.Range,
			store.ErrAnotherServer)}
	}
	d := replyDecoder{store: n.store, reply: r}
	claimed := store.Claimed{Ownership: store.Ownership{Range: expected.Range, Owner: by.Node}}
	claimed.Epoch = d.number(1, keysOf(expected.Range).meta+" epoch")
	claimed.Running = int(d.number(2, keysOf(expected.Range).lanes))
	claimed.Err = d.err
	return claimed
}

// SetOwner names the owner of a range, or nobody, while the range has this epoch and this owner. changed is
// false where it has not, and current then says what it has.
func (n *Nodes) SetOwner(
	ctx context.Context, from store.Ownership, to store.Node,
) (current store.Ownership, changed bool, err error) {
	args := []any{decimal(from.Epoch), runText(from.Owner), runText(to), to.Name, to.Address}
	r, err := n.write(ctx, newWrite(ownerScript, from.Range, args, 0), from.Range)
	if err != nil {
		return from, false, fmt.Errorf("range %s: owner: %w", from.Range, err)
	}
	if r.text(0) == "taken" {
		current, err = n.store.ownership(from.Range, r[1:])
		return current, false, err
	}
	from.Owner = to
	return from, true, nil
}

func (n *Nodes) write(ctx context.Context, w *write, rangeID uuid.UUID) (reply, error) {
	if err := n.store.begin(); err != nil {
		return nil, err
	}
	defer n.store.calls.Done()
	r, err := n.store.write(ctx, w, rangeID)
	if err == nil {
		err = n.store.replyError(r)
	}
	return r, err
}

func runText(n store.Node) string {
	if n.Run == uuid.Nil {
		return ""
	}
	return n.Run.String()
}

// Announce tells the other nodes who owns these ranges now. Nothing rests on it: whoever does not hear it
// reads the owners later.
func (n *Nodes) Announce(ctx context.Context, changed []store.Ownership) error {
	_, err := call(ctx, n.store, func(ctx context.Context) (struct{}, error) {
		_, err := n.client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
			for _, o := range changed {
				record, err := store.Encode(announcement{o.Range, o.Epoch, o.Owner.Run, o.Owner.Name, o.Owner.Address})
				if err != nil {
					return err
				}
				pipe.Publish(ctx, n.channel, record)
			}
			return nil
		})
		return struct{}{}, err
	})
	if err != nil {
		return n.store.serverError(fmt.Errorf("announce owners: %w", err))
	}
	return nil
}

type announcement struct {
	Range   uuid.UUID `json:"range"`
	Epoch   uint64    `json:"epoch"`
	Run     uuid.UUID `json:"run"`
	Name    string    `json:"name"`
	Address string    `json:"address"`
}

// Watch returns what the nodes announce, until ctx ends: then the channel is closed. The connection is made
// anew when it breaks, and what is announced meanwhile is lost.
func (n *Nodes) Watch(ctx context.Context) <-chan store.Ownership {
	subscription := n.client.Subscribe(ctx, n.channel)
	changes := make(chan store.Ownership)
	go func() {
		defer close(changes)
		defer func() { _ = subscription.Close() }()
		messages := subscription.Channel(goredis.WithChannelSize(ownersBuffer))
		for {
			select {
			case <-ctx.Done():
				return
			case m, open := <-messages:
				if !open {
					return
				}
				var a announcement
				if json.Unmarshal([]byte(m.Payload), &a) != nil {
					continue // the owners are read at the next sweep
				}
				select {
				case changes <- store.Ownership{
					Range: a.Range, Epoch: a.Epoch,
					Owner: store.Node{Run: a.Run, Name: a.Name, Address: a.Address},
				}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return changes
}
