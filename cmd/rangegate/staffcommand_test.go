package main

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
)

// Strangers have sent wrong PINs for a name, and an operator lets its owner sign in again, through any node.
func TestAnOperatorLetsSomebodySignInAgain(t *testing.T) {
	nodes := gatewaytest.StartNodes(t, func(c *config.Config) {
		c.HTTP.TrustedProxies = []string{"127.0.0.1"}
		c.Nodes.TTL = time.Minute // the range stays with its node, which alone has counted the guesses
	}, "a", "b")
	guess := func(network int) int {
		body := fmt.Sprintf(`{"range_id":%q,"name":"sam","pin":"0000"}`, gatewaytest.DemoRange)
		from := fmt.Sprintf("203.0.113.%d", network) // of another stranger each time
		return nodes["a"].With("POST", nodes["a"].URL+"/control/sign-in", body, "X-Forwarded-For", from).Status
	}
	for network := 0; guess(network) != http.StatusTooManyRequests; network++ {
		require.Less(t, network, 200)
	}
	unlock := func(node, name, rangeID string) (string, error) {
		return asOperator(t, nodes[node],
			func(term *terminal, o operator) error { return staffUnlock{name, rangeID, o}.Run(term) })
	}
	printed, err := unlock("b", "sam", gatewaytest.DemoRange)
	require.NoError(t, err)
	require.Equal(t, "sam can sign in again\n", printed)
	printed, err = unlock("a", "sam", gatewaytest.DemoRange)
	require.NoError(t, err)
	require.Equal(t, "nobody had to wait for wrong PINs of sam\n", printed)

	_, err = unlock("a", "nobody", gatewaytest.DemoRange)
	require.EqualError(t, err, "nobody of the range's staff has that name (staff_not_found)")
	_, err = unlock("a", "sam", gatewaytest.DemoLane)
	require.EqualError(t, err, "--range: the gateway has no range with that id")
	_, err = unlock("a", "sam", "range")
	require.True(t, errors.As(err, &gateway.Misconfigured{}))
	for _, g := range nodes {
		g.Stop()
	}
}
