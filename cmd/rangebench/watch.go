package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangebench/localcluster"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
)

// watch runs nodes and a Redis on this machine, to look at: a load balancer, and a page that shows who owns
// what. `make cluster` starts it.
type watch struct {
	Nodes   int           `default:"3" help:"How many nodes."`
	Ranges  int           `default:"300" help:"How many ranges."`
	Lanes   int           `default:"4" help:"How many simulated lanes each has."`
	TTL     time.Duration `default:"5s" help:"How long a node that is not heard of keeps its ranges."`
	Address string        `default:"127.0.0.1:8080" help:"Where the load balancer listens."`
	Page    string        `default:"127.0.0.1:8081" help:"Where the page is."`
}

//go:embed watch.html
var watchPage []byte

// Run serves until an interrupt, and then ends everything that it has started.
func (w watch) Run() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	d, err := newDisk(redisStore)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.remove()) }()
	fmt.Fprintln(os.Stderr, "building the gateway")
	c, err := localcluster.New(ctx, localcluster.Settings{
		Dir: d.dir, Redis: d.address(), Nodes: w.Nodes, Ranges: w.Ranges, Lanes: w.Lanes, TTL: w.TTL,
	})
	if err != nil {
		return err
	}
	defer c.StopAll()
	kept, err := redis.Open(ctx, "redis://"+d.address()+"/0", store.Retention{Events: time.Hour, History: time.Hour, Names: time.Hour, Cap: 1000})
	if err != nil {
		return err
	}
	directory := kept.Nodes()
	defer func() { err = errors.Join(err, directory.Close(), kept.Close()) }()

	o := &observer{cluster: c, directory: directory}
	failed := make(chan error, 2)
	for address, handler := range map[string]http.Handler{w.Address: localcluster.NewBalancer(ctx, c.Nodes), w.Page: o.handler()} {
		server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
		go func() { failed <- server.ListenAndServe() }()
		defer func() { _ = server.Close() }()
	}
	go o.follow(ctx)
	if err := c.StartAll(ctx, c.Nodes...); err != nil {
		return err
	}
	w.print(c)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "ending the nodes and Redis")
		return nil
	}
}

func (w watch) print(c *localcluster.Cluster) {
	fmt.Printf("\nthe page      http://%s\nload balancer http://%s\n", w.Page, w.Address)
	for _, n := range c.Nodes {
		_, pid := n.State()
		fmt.Printf("%s        http://%s, operations http://%s (token %s), kill -9 %d\n", n.Name, n.Address, n.Operations, localcluster.Operator, pid)
	}
	fmt.Printf(`
sell a session, whichever node owns the range:
  curl -s http://%s/api/v2/pos/sessions -H 'range-id: %s' -H 'token: %s' -H 'Content-Type: application/json' \
    -d '{"customer_name":"Jo Smith","duration":30,"lane_id":"%s","group_id":"%s"}'
Ctrl-C ends everything. The files are in %s until then.
`, w.Address, localcluster.RangeID(0), localcluster.Token(0), localcluster.LaneID(0, 0), localcluster.GroupID(0), c.Dir)
}

// observer reads who owns what from Redis, as the nodes do.
type observer struct {
	cluster   *localcluster.Cluster
	directory interface {
		Owners(ctx context.Context, ranges []uuid.UUID) ([]store.Ownership, error)
	}

	mu      sync.Mutex
	owners  []store.Ownership // by number
	asOf    time.Time
	problem string
	log     []change // the newest first
}

// change is that ranges have another owner.
type change struct {
	At     time.Time `json:"at"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	Ranges int       `json:"ranges"`
	Took   float64   `json:"took_ms"` // since the first of these changes
}

const (
	observeEvery = 200 * time.Millisecond
	changesKept  = 50
	oneChange    = 10 * time.Second // changes between the same two nodes within that time are shown as one
)

func (o *observer) follow(ctx context.Context) {
	var all []uuid.UUID
	for n := range o.cluster.Ranges {
		all = append(all, localcluster.RangeID(n))
	}
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		owners, err := o.directory.Owners(bounded, all)
		cancel()
		o.note(owners, err)
		select {
		case <-ctx.Done():
		case <-time.After(observeEvery):
		}
	}
}

func (o *observer) note(owners []store.Ownership, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.problem = err.Error()
		return
	}
	now := time.Now()
	moved := map[[2]string]int{}
	for i := range owners {
		from, to := "", owners[i].Owner.Name
		if o.owners != nil {
			from = o.owners[i].Owner.Name
		}
		if from != to {
			moved[[2]string{from, to}]++
		}
	}
	for _, pair := range slices.SortedFunc(maps.Keys(moved), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		o.add(change{At: now, From: pair[0], To: pair[1], Ranges: moved[pair]})
	}
	o.owners, o.asOf, o.problem = owners, now, ""
}

// add joins the change to an earlier one between the same nodes.
func (o *observer) add(c change) {
	for i := range o.log {
		if before := &o.log[i]; before.From == c.From && before.To == c.To && c.At.Sub(before.At) < oneChange {
			before.Ranges += c.Ranges
			before.Took = milliseconds(c.At.Sub(before.At))
			return
		}
	}
	o.log = append([]change{c}, o.log[:min(len(o.log), changesKept-1)]...)
}

// handler serves the page, its state, and its buttons. Another site's page cannot press them.
func (o *observer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(watchPage)
	})
	mux.HandleFunc("GET /state", o.state)
	mux.HandleFunc("POST /nodes/{name}/{act}", o.act)
	return http.NewCrossOriginProtection().Handler(mux)
}

func (o *observer) state(w http.ResponseWriter, _ *http.Request) {
	type node struct {
		Name  string `json:"name"`
		State string `json:"state"`
		PID   int    `json:"pid"`
		Ready bool   `json:"ready"`
	}
	var nodes []node
	for _, n := range o.cluster.Nodes {
		state, pid := n.State()
		nodes = append(nodes, node{n.Name, state, pid, state == "runs" && n.Ready()})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	owners := make([]string, len(o.owners))
	for i, owner := range o.owners {
		owners[i] = owner.Owner.Name
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"nodes": nodes, "owners": owners, "as_of": o.asOf, "problem": o.problem, "changes": o.log,
	})
}

var acts = map[string]syscall.Signal{
	"kill": syscall.SIGKILL, "drain": syscall.SIGTERM, "suspend": syscall.SIGSTOP, "continue": syscall.SIGCONT,
}

func (o *observer) act(w http.ResponseWriter, r *http.Request) {
	for _, n := range o.cluster.Nodes {
		if n.Name != r.PathValue("name") {
			continue
		}
		signal, found := acts[r.PathValue("act")]
		var err error
		switch {
		case r.PathValue("act") == "start":
			err = n.Start()
		case found:
			err = n.Signal(signal)
		default:
			err = errors.New("no such act")
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.NotFound(w, r)
}
