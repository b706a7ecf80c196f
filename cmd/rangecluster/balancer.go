package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"rangegate/cmd/rangecluster/localcluster"
)

// balancer is a small load balancer: it hands each request to the next node that is ready. It stands for what
// an operator has in front.
type balancer struct {
	nodes []*localcluster.Node
	ready atomic.Pointer[[]*localcluster.Node]
	next  atomic.Uint64
	proxy httputil.ReverseProxy
}

// healthEvery is how often the balancer asks the nodes whether they are ready.
const healthEvery = 200 * time.Millisecond

// newBalancer balances between the nodes until ctx ends.
func newBalancer(ctx context.Context, nodes []*localcluster.Node) *balancer {
	b := &balancer{nodes: nodes}
	b.ready.Store(&[]*localcluster.Node{})
	b.proxy = httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Context().Value(nodeKey{}).(*localcluster.Node).Address
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		FlushInterval: -1, // streams are passed on at once
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "the node did not answer", http.StatusBadGateway)
		},
	}
	go b.follow(ctx)
	return b
}

type nodeKey struct{}

// ServeHTTP hands the request on.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ready := *b.ready.Load()
	if len(ready) == 0 {
		w.Header().Set("Retry-After", "1")
		http.Error(w, errNoNode.Error(), http.StatusServiceUnavailable)
		return
	}
	n := ready[b.next.Add(1)%uint64(len(ready))]
	b.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), nodeKey{}, n)))
}

var errNoNode = errors.New("no node is ready")

// follow asks the nodes whether they are ready.
func (b *balancer) follow(ctx context.Context) {
	ticker := time.NewTicker(healthEvery)
	defer ticker.Stop()
	for {
		answers := make([]chan bool, len(b.nodes))
		for i, n := range b.nodes {
			answers[i] = make(chan bool, 1)
			go func() { answers[i] <- n.Ready() }()
		}
		var ready []*localcluster.Node
		for i, n := range b.nodes {
			if <-answers[i] {
				ready = append(ready, n)
			}
		}
		b.ready.Store(&ready)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
