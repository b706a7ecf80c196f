// Package cluster runs several real processes of the gateway on one Redis, as several machines do, and
// disturbs them: processes are killed, suspended, drained and started, their networks are cut, and Redis
// hangs, restarts and fails over. Clients work at all nodes meanwhile. What clients, lane controllers and the
// receiver of the webhook have seen is judged afterwards, from outside.
//
//	cluster_test.go  what is promised             cluster.go   the nodes, their clocks and networks, Redis
//	faults.go        what is done to the nodes    ranges.go    the ranges, and the controllers of their lanes
//	clients.go       requests, and repeats        model.go     a lane as its clients see it
//	judge.go         what all have seen           probe.go     when every range is served again
//
// The faults and the choices of clients follow a seed, which is printed; SEED repeats them, but not their timing.
package cluster

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
	"rangegate/test/support/proxy"
)

// binary is the gateway whose clocks the environment sets (actors/clock/skewed.go). All tests of the package share it.
var binary string

// run is the TestMain of this package.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rangegate-cluster-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "rangegate")
	if out, err := support.Build(binary, "rangegate/cmd/rangegate", "-tags", "skewedclock"); err != nil {
		fmt.Fprintf(os.Stderr, "building rangegate: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// cluster is the nodes of one Redis.
type cluster struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	ttl    time.Duration
	redis  *redistest.Server
	nodes  []*node
	ranges []*rangeFixture

	started  time.Duration // how long the first start took, until every range had sold
	lost     time.Duration // when the fault under way has taken its node away
	probing  []*client
	stopWork func() // of the clients that contend for lanes
	hardware *hardware
	receiver *support.Receiver

	// avoided is the node that the probes do not ask, for the others have to serve every range. nil: none.
	avoided atomic.Pointer[node]

	// outdatedReads is how many reads were answered by an owner when a newer one was known. They are not judged.
	outdatedReads atomic.Int64

	faultsMu sync.Mutex
	faults   map[string]int // found, by their text
}

// node is one process and its network: proxies in front of Redis and of its address for the other nodes.
type node struct {
	*cluster
	name         string
	config       string // the path
	environment  []string
	redis, peers *proxy.Proxy
	links        string // the address for controllers that dial

	mu      sync.Mutex
	process *support.Gateway // nil: never started
	unused  bool             // it is suspended or drained: a load balancer has taken it out
	former  []*support.Gateway
}

// skews are by how much the nodes' clocks are ahead of this machine's. Without a correction each move of a
// range between two of them would be seconds of session time; over 2 s a node takes no ranges.
var skews = []struct{ boot, wall time.Duration }{
	{0, 0},
	{7 * time.Hour, 1500 * time.Millisecond},
	{-3 * time.Minute, -1500 * time.Millisecond},
}

// settings are what differs between the tests.
type settings struct {
	ttl    time.Duration
	ranges int
	// store is the address in the configuration where the nodes find Redis by themselves. Empty: each has a
	// proxy before a Redis of the cluster's own.
	store string
}

func newCluster(t *testing.T, s settings) *cluster {
	seed := uint64(number(t, "SEED", rand.IntN(1_000_000)))
	t.Logf("SEED=%d", seed)
	c := &cluster{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), ttl: s.ttl,
		receiver: support.NewReceiver(t),
	}
	if s.store == "" {
		c.redis = redistest.Start(t)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	c.hardware = powerUp(t, s.ranges, listener.Addr().String())
	for n := range s.ranges {
		c.ranges = append(c.ranges, newRange(c, n))
	}
	for n := range skews {
		c.nodes = append(c.nodes, c.newNode(n, s.store))
	}
	go c.balance(listener)
	return c
}

func (c *cluster) newNode(number int, store string) *node {
	t := c.t
	address := support.FreeAddress(t)
	n := &node{
		cluster: c, name: fmt.Sprintf("node-%d", number+1), peers: proxy.New(t, address),
		links: support.FreeAddress(t),
	}
	if store == "" {
		n.redis = proxy.New(t, c.redis.Addr())
		store = "redis://" + n.redis.Addr() + "/0?read_timeout=1s"
	}
	n.environment = []string{
		"SKEWED_BOOT_ID=boot-of-" + n.name,
		"SKEWED_BOOT_CLOCK=" + skews[number].boot.String(),
		"SKEWED_WALL_CLOCK=" + skews[number].wall.String(),
	}
	n.config = support.WriteFile(t, n.name+".yaml", c.configuration(support.Redis(store),
		fmt.Sprintf("nodes: {name: %s, address: %q, advertise: %q, ttl: %s}", n.name, address, n.peers.Addr(), c.ttl),
		fmt.Sprintf("controllers: {address: %q, admit: 2000}", n.links),
		"log: {level: info}",
	))
	return n
}

// balance hands each connection of a controller to a node that answers, whichever: it knows nothing of ranges.
func (c *cluster) balance(from net.Listener) {
	for next := 0; ; next++ {
		controller, err := from.Accept()
		if err != nil {
			return
		}
		n := c.nodes[next%len(c.nodes)]
		if !n.answers() {
			_ = controller.Close()
			continue
		}
		gateway, err := net.Dial("tcp", n.links)
		if err != nil {
			_ = controller.Close()
			continue
		}
		for _, direction := range [][2]net.Conn{{controller, gateway}, {gateway, controller}} {
			go func() {
				_, _ = io.Copy(direction[0], direction[1])
				_ = controller.Close()
				_ = gateway.Close()
			}()
		}
	}
}

// start starts the nodes at the same time, and waits until each is ready.
func (c *cluster) start(nodes ...*node) {
	c.t.Helper()
	for _, n := range nodes {
		n.launch()
	}
	for _, n := range nodes {
		n.current().Ready()
	}
}

// launch starts the process. It does not wait until the process is ready.
func (n *node) launch() {
	n.t.Helper()
	command := exec.Command(binary, "serve", "--config", n.config)
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "RANGEGATE_") {
			command.Env = append(command.Env, setting)
		}
	}
	command.Env = append(command.Env, n.environment...)
	process := support.Start(n.t, command)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		n.former = append(n.former, n.process)
	}
	n.process, n.unused = process, false
}

func (n *node) current() *support.Gateway {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

// answers tells whether a client can expect an answer of the node's process.
func (n *node) answers() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process != nil && !n.unused && !n.process.Ended()
}

// suspend stops the process as a hypervisor or a paging machine does, and resume lets it go on.
func (n *node) suspend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unused = true
	n.process.Signal(syscall.SIGSTOP)
}

func (n *node) resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.process.Signal(syscall.SIGCONT)
	n.unused = false
}

func (n *node) setLeaving() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unused = true
}

// processes are all processes of the node, the present one last.
func (n *node) processes() []*support.Gateway {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append(append([]*support.Gateway{}, n.former...), n.process)
}

// logNodes logs the last lines of every node that have the text.
func (c *cluster) logNodes(text string) {
	for _, n := range c.nodes {
		var lines []string
		for _, process := range n.processes() {
			for line := range strings.Lines(process.Log()) {
				if strings.Contains(line, text) {
					lines = append(lines, line)
				}
			}
		}
		c.t.Logf("%s:\n%s", n.name, strings.Join(lines[max(0, len(lines)-20):], ""))
	}
}

// cut swallows what is sent through the proxy in both directions, as a network does that loses everything.
func cut(proxies ...*proxy.Proxy) (repair func()) {
	var repairs []func()
	for _, p := range proxies {
		repairs = append(repairs, p.Disturb("timeout", "upstream", proxy.Attributes{"timeout": 0}),
			p.Disturb("timeout", "downstream", proxy.Attributes{"timeout": 0}))
	}
	return func() {
		for _, repair := range repairs {
			repair()
		}
	}
}

// number reads a variable of the environment.
func number(t *testing.T, variable string, otherwise int) int {
	text, set := os.LookupEnv(variable)
	if !set {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, variable)
	return n
}
