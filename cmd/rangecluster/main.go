// Command rangecluster runs several nodes of the gateway and a Redis on this machine, to look at: a load balancer
// in front of them, and a page that shows which node owns which range and has buttons to kill one. `make cluster`
// starts it.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"rangegate/cmd/rangecluster/localcluster"
	"rangegate/cmd/rangegate/console"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
)

// command is the command line.
type command struct {
	Nodes   int           `default:"3" help:"How many nodes."`
	Ranges  int           `default:"300" help:"How many ranges."`
	Lanes   int           `default:"4" help:"How many simulated lanes each has."`
	TTL     time.Duration `default:"5s" help:"How long a node that is not heard of keeps its ranges."`
	Address string        `default:"127.0.0.1:8080" help:"Where the load balancer listens."`
	Page    string        `default:"127.0.0.1:8081" help:"Where the page is."`
}

func main() {
	var c command
	kong.Parse(&c, kong.Name("rangecluster"), kong.UsageOnError(),
		kong.Description("Nodes, a Redis and a load balancer on this machine, and a page of which node owns what."))
	if err := c.run(); err != nil {
		fmt.Fprintln(os.Stderr, "rangecluster:", err)
		os.Exit(1)
	}
}

// run serves until an interrupt, and then ends everything that it has started.
func (c command) run() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "rangecluster-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := localcluster.StartRedis(dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	fmt.Fprintln(os.Stderr, "building the gateway")
	cluster, err := localcluster.New(ctx, localcluster.Settings{
		Dir: dir, Redis: server.Address, Nodes: c.Nodes, Ranges: c.Ranges, Lanes: c.Lanes, TTL: c.TTL,
		Log: console.Share(os.Stderr),
	})
	if err != nil {
		return err
	}
	defer cluster.StopAll()
	short := store.Retention{Events: time.Hour, History: time.Hour, Names: time.Hour, Cap: 1000}
	kept, err := redis.Open(ctx, "redis://"+server.Address+"/0", short)
	if err != nil {
		return err
	}
	directory := kept.Nodes()
	defer func() { err = errors.Join(err, directory.Close(), kept.Close()) }()

	o := &observer{cluster: cluster, directory: directory}
	failed := make(chan error, 2)
	handlers := map[string]http.Handler{c.Address: newBalancer(ctx, cluster.Nodes), c.Page: o.handler()}
	for address, handler := range handlers {
		web := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
		go func() { failed <- web.ListenAndServe() }()
		defer func() { _ = web.Close() }()
	}
	go o.follow(ctx)
	if err := cluster.StartAll(ctx, cluster.Nodes...); err != nil {
		return err
	}
	c.print(cluster)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "ending the nodes and Redis")
		return nil
	}
}

func (c command) print(cluster *localcluster.Cluster) {
	fmt.Printf("\nthe page      http://%s\nload balancer http://%s\n", c.Page, c.Address)
	for _, n := range cluster.Nodes {
		_, pid := n.State()
		fmt.Printf("%s        http://%s, operations http://%s (token %s), kill -9 %d\n",
			n.Name, n.Address, n.Operations, localcluster.Operator, pid)
	}
	fmt.Printf(`
sell a session, whichever node owns the range:
  curl -s http://%s/api/v2/pos/sessions -H 'range-id: %s' -H 'token: %s' -H 'Content-Type: application/json' \
    -d '{"customer_name":"Jo Smith","duration":30,"lane_id":"%s","group_id":"%s"}'
Ctrl-C ends everything. The files are in %s until then.
`, c.Address, localcluster.RangeID(0), localcluster.Token(0), localcluster.LaneID(0, 0), localcluster.GroupID(0),
		cluster.Dir)
}
