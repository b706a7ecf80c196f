package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangecluster/localcluster"
	"rangegate/lanes/store"
)

//go:embed page.html
var page []byte

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
	for _, pair := range slices.SortedFunc(maps.Keys(moved),
		func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		o.add(change{At: now, From: pair[0], To: pair[1], Ranges: moved[pair]})
	}
	o.owners, o.asOf, o.problem = owners, now, ""
}

// add joins the change to an earlier one between the same nodes.
func (o *observer) add(c change) {
	for i := range o.log {
		if before := &o.log[i]; before.From == c.From && before.To == c.To && c.At.Sub(before.At) < oneChange {
			before.Ranges += c.Ranges
			before.Took = c.At.Sub(before.At).Seconds() * 1000
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
		_, _ = w.Write(page)
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
