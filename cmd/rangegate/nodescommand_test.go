package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
)

// asOperator runs a command with a configuration that names the gateway's operations address, and returns
// what it prints.
func asOperator(t *testing.T, g *gatewaytest.Gateway, run func(*terminal, operator) error) (printed string, err error) {
	file := filepath.Join(t.TempDir(), "rangegate.yaml")
	text := fmt.Sprintf(networkRange, "1") + "operations: {address: '" + strings.TrimPrefix(g.Operations, "http://") +
		"', token: operator}\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var out strings.Builder
	err = run(&terminal{ctx: t.Context(), out: &out}, operator{Config: file})
	return out.String(), err
}

// What an operator does with nodes, through any of them.
func TestOperatorsDrainAndForgetNodes(t *testing.T) {
	nodes := gatewaytest.StartNodes(t, func(*config.Config) {}, "a", "b")
	a, b := nodes["a"], nodes["b"]
	command := func(g *gatewaytest.Gateway, run func(*terminal, operator) error) (string, error) {
		return asOperator(t, g, run)
	}
	list := func(term *terminal, o operator) error { return nodesList{o}.Run(term) }
	drain := func(name string) func(term *terminal, o operator) error {
		return func(term *terminal, o operator) error { return nodesDrain{name, o}.Run(term) }
	}
	forget := func(name string) func(term *terminal, o operator) error {
		return func(term *terminal, o operator) error { return nodesForget{name, o}.Run(term) }
	}

	var table string
	var err error
	require.Eventually(t, func() bool {
		table, err = command(a, list)
		return err == nil && strings.Count(table, "\n") == 3
	}, longTimeout, 20*time.Millisecond)
	require.Regexp(t, `(?m)^a .* 127\.0\.0\.1:\d+ .* serves, here$`, table)
	require.Regexp(t, `(?m)^b .* 127\.0\.0\.1:\d+ .* serves$`, table)

	owner, other := a, b
	if a.HandsOn() {
		owner, other = b, a
	}
	name := map[*gatewaytest.Gateway]string{a: "a", b: "b"}
	_, err = command(other, drain(name[owner]))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		table, err = command(owner, list)
		return err == nil && regexp.MustCompile(`(?m)^`+name[other]+` .* 1  +serves$`).MatchString(table)
	}, longTimeout, 20*time.Millisecond)
	require.Regexp(t, `(?m)^`+name[owner]+` .* 0  +draining, here$`, table)
	require.Eventually(t, func() bool { return owner.POS("GET", "/lanes", "").Status == 200 }, longTimeout,
		20*time.Millisecond)

	// The other node has the range, and knows that it is the only one that takes any.
	require.Eventually(t, func() bool {
		table, err = command(other, list)
		return err == nil && regexp.MustCompile(`(?m)^`+name[owner]+` .* draining$`).MatchString(table)
	}, longTimeout, 20*time.Millisecond)
	drainRange := func(id string) func(term *terminal, o operator) error {
		return func(term *terminal, o operator) error { return nodesDrainRange{uuid.MustParse(id), o}.Run(term) }
	}
	_, err = command(owner, drainRange(gatewaytest.DemoRange))
	require.ErrorContains(t, err, "(no_other_node)")
	_, err = command(owner, drainRange(gatewaytest.DemoLane))
	require.ErrorContains(t, err, "(not_found)")

	_, err = command(other, drain("nobody"))
	require.EqualError(t, err, "no node of that name is alive (node_not_found)")
	_, err = command(other, forget(name[owner]))
	require.ErrorContains(t, err, "(node_alive)")
	out, err := command(other, forget("nobody"))
	require.NoError(t, err)
	require.Equal(t, "nobody is forgotten; it owned 0 ranges\n", out)
	require.Equal(t, http.StatusUnauthorized, a.With("GET", a.Operations+"/nodes", "").Status)
	b.Stop()
	a.Stop()

	alone := gatewaytest.Start(t, t.TempDir())
	_, err = command(alone, list)
	require.ErrorContains(t, err, "its configuration has no nodes")
	alone.Stop()
}
