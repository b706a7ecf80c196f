// Package localcluster runs several nodes of the gateway and their Redis on this machine, as real processes.
package localcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/console"
)

// Settings are what a cluster is made of.
type Settings struct {
	Dir    string // of the configuration, the logs and the binary
	Redis  string // host:port
	Nodes  int
	Ranges int
	Lanes  int // of each range, simulated
	Dialed int // of each range, beside those: lanes whose controllers dial
	TTL    time.Duration
	Log    *console.Shared // also gets what the nodes log, beside their files; nil: nothing
}

// Cluster is the nodes. Its methods may be called from any goroutine.
type Cluster struct {
	Settings
	Nodes  []*Node
	binary string
}

// Node is one process of the gateway at a time.
type Node struct {
	Name       string
	Address    string // of the API, host:port
	Operations string // of the operations address, likewise
	Dial       string // of the address that controllers dial, likewise; unused without Settings.Dialed
	peers      string // of the address for the other nodes
	cluster    *Cluster

	mu        sync.Mutex
	process   *exec.Cmd
	ended     chan struct{} // closed when the process has ended
	suspended bool
}

// Operator is the operations token of all nodes.
const Operator = "operator"

// RangeID is the id of the range with that number, from 0, which has that of the playground.
func RangeID(n int) uuid.UUID {
	if n == 0 {
		return uuid.MustParse("11111111-1111-4111-8111-111111111111")
	}
	return numbered("11111111-1111-4111-8111-%012d", n)
}

// Token is the token of that range. The first range has that of the playground.
func Token(n int) string {
	if n == 0 {
		return "22222222-2222-4222-8222-222222222222"
	}
	return numbered("22222222-2222-4222-8222-%012d", n).String()
}

// GroupID is the id of the access group of that range.
func GroupID(n int) uuid.UUID { return numbered("33333333-3333-4333-8333-%012d", n) }

// LaneID is the id of a lane of that range.
func LaneID(n, lane int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("44444444-4444-4444-8444-%06d%06d", n, lane))
}

// DialedID is the id of a lane of that range whose controller dials, with LinkKey.
func DialedID(n, lane int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("66666666-6666-4666-8666-%06d%06d", n, lane))
}

// LinkKey is the key of every lane whose controller dials.
const LinkKey = "a key of the cluster's controllers"

func numbered(format string, n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf(format, n)) }

// New builds the gateway and chooses the addresses. It starts nothing.
func New(ctx context.Context, s Settings) (*Cluster, error) {
	c := &Cluster{Settings: s, binary: filepath.Join(s.Dir, "rangegate")}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", c.binary, "rangegate/cmd/rangegate")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the gateway: %w: %s", err, out)
	}
	for n := range s.Nodes {
		node := &Node{Name: fmt.Sprintf("node-%d", n+1), cluster: c}
		for _, address := range []*string{&node.Address, &node.Operations, &node.Dial, &node.peers} {
			var err error
			if *address, err = freeAddress(); err != nil {
				return nil, err
			}
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c, os.WriteFile(c.configuration(), c.text(), 0o600)
}

func (c *Cluster) configuration() string { return filepath.Join(c.Dir, "rangegate.yaml") }

// freeAddress is an address below the kernel's ephemeral ports, so that no other process gets it while its
// node is down.
func freeAddress() (string, error) {
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(10_000)))
		if listener, err := net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", errors.New("no free port below the ephemeral ones")
}

// text is the configuration that all nodes share. What differs is in the environment of each.
func (c *Cluster) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "environment: playground\nhttp: {limits: {requests: 0}}\noperations: {token: %s}\nstore: {redis: "+
		"\"redis://%s/0\"}\n"+
		"nodes: {name: node, address: \"127.0.0.1:0\", ttl: %s}\nlog: {level: warn}\n", Operator, c.Redis, c.TTL)
	if c.Dialed > 0 {
		b.WriteString("controllers: {address: \"127.0.0.1:0\", admit: 10000}\n")
	}
	b.WriteString("ranges:\n")
	for n := range c.Ranges {
		fmt.Fprintf(&b, "  - id: %s\n    name: Range %d\n    tokens: [%s]\n    groups: [{id: %s, name: Public}]\n "+
			"   bays: [{id: %s, name: Bay}]\n    lanes:\n",
			RangeID(n), n+1, Token(n), GroupID(n), numbered("55555555-5555-4555-8555-%012d", n))
		for lane := range c.Lanes {
			fmt.Fprintf(&b, "      - {id: %s, name: Lane %d, bay: %s}\n", LaneID(n, lane), lane+1,
				numbered("55555555-5555-4555-8555-%012d", n))
		}
		for lane := range c.Dialed {
			fmt.Fprintf(&b, "      - {id: %s, name: Lane %d, bay: %s, link: {driver: incoming, key: %q}}\n",
				DialedID(n, lane), c.Lanes+lane+1,
				numbered("55555555-5555-4555-8555-%012d", n), LinkKey)
		}
	}
	return b.Bytes()
}

func (n *Node) log() string { return filepath.Join(n.cluster.Dir, n.Name+".log") }

// Start starts the node's process, unless it runs. It does not wait until the process is ready.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running() {
		return nil
	}
	log, err := os.OpenFile(n.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	process := exec.Command(n.cluster.binary, "serve", "--config", n.cluster.configuration())
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "RANGEGATE_") {
			process.Env = append(process.Env, setting)
		}
	}
	process.Env = append(process.Env, "RANGEGATE_HTTP_ADDRESS="+n.Address, "RANGEGATE_OPERATIONS_ADDRESS="+n.Operations,
		"RANGEGATE_NODES_NAME="+n.Name, "RANGEGATE_NODES_ADDRESS="+n.peers)
	if n.cluster.Dialed > 0 {
		process.Env = append(process.Env, "RANGEGATE_CONTROLLERS_ADDRESS="+n.Dial)
	}
	process.Stderr = log
	if shared := n.cluster.Log; shared != nil {
		process.Stderr = io.MultiWriter(log, &console.Process{Name: n.Name, Out: shared})
	}
	// an interrupt is for this program
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := process.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	ended := make(chan struct{})
	n.process, n.ended, n.suspended = process, ended, false
	go func() {
		_ = process.Wait() // killed, or told to end
		_ = log.Close()
		close(ended)
	}()
	return nil
}

// running reports whether there is a process. mu is held.
func (n *Node) running() bool {
	if n.process == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// Signal sends the process a signal, if there is one.
func (n *Node) Signal(signal syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.running() {
		return nil
	}
	switch signal {
	case syscall.SIGSTOP:
		n.suspended = true
	case syscall.SIGCONT:
		n.suspended = false
	}
	return n.process.Process.Signal(signal)
}

// Wait waits until the process has ended, at most for so long.
func (n *Node) Wait(within time.Duration) error {
	n.mu.Lock()
	ended := n.ended
	n.mu.Unlock()
	if ended == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-time.After(within):
		return fmt.Errorf("%s does not end", n.Name)
	}
}

// State is the process in a word, and its id.
func (n *Node) State() (state string, pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !n.running():
		return "ended", 0
	case n.suspended:
		return "suspended", n.process.Process.Pid
	}
	return "runs", n.process.Process.Pid
}

// Ready reports whether the node is ready.
func (n *Node) Ready() bool {
	client := http.Client{Timeout: 500 * time.Millisecond}
	response, err := client.Get("http://" + n.Operations + "/readyz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// StartAll starts the nodes and waits until each is ready.
func (c *Cluster) StartAll(ctx context.Context, nodes ...*Node) error {
	for _, n := range nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		for !n.Ready() {
			if state, _ := n.State(); state == "ended" {
				said, _ := os.ReadFile(n.log())
				return fmt.Errorf("%s has ended: %s", n.Name, said)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// StopAll tells every node to end, and kills those that do not.
func (c *Cluster) StopAll() {
	for _, n := range c.Nodes {
		_ = n.Signal(syscall.SIGCONT)
		_ = n.Signal(syscall.SIGTERM)
	}
	for _, n := range c.Nodes {
		if n.Wait(15*time.Second) != nil {
			_ = n.Signal(syscall.SIGKILL)
			_ = n.Wait(15 * time.Second)
		}
	}
}

// CPU returns the processor time that the node's process has used.
func (n *Node) CPU() (time.Duration, error) {
	_, pid := n.State()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:])) // from the third one on
	const user, system, tick = 14 - 3, 15 - 3, time.Second / 100
	var sum time.Duration
	for _, field := range []int{user, system} {
		ticks, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}

// InUse returns the bytes of the node's live objects and stacks, after a garbage collection.
func (n *Node) InUse(ctx context.Context) (bytes int64, err error) {
	text, err := n.operations(ctx, "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	for _, name := range []string{"# HeapAlloc = ", "# Stack = "} { // the latter: in use / of the system
		_, from, found := strings.Cut(text, name)
		value, _, _ := strings.Cut(from, "\n")
		value, _, _ = strings.Cut(value, " ")
		part, err := strconv.ParseInt(value, 10, 64)
		if !found || err != nil {
			return 0, fmt.Errorf("the heap profile of %s has no %q", n.Name, name)
		}
		bytes += part
	}
	return bytes, nil
}

// RelayedLinks returns how many links of controllers the node relays.
func (n *Node) RelayedLinks(ctx context.Context) (int, error) {
	text, err := n.operations(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	_, from, _ := strings.Cut(text, "\nrangegate_relayed_links ")
	value, _, _ := strings.Cut(from, "\n")
	return strconv.Atoi(value)
}

func (n *Node) operations(ctx context.Context, path string) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Operations+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+Operator)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	all, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s was answered %d", path, response.StatusCode)
	}
	return string(all), err
}
