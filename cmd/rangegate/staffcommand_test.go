package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
)

// Strangers have sent wrong PINs for a name, and an operator lets its owner sign in again, through any node.
func TestAnOperatorLetsSomebodySignInAgain(t *testing.T) {
	nodes := gatewaytest.StartNodes(t, func(*config.Config) {}, "a", "b")
	for i := range 6 {
		guess := fmt.Sprintf(`{"range_id":%q,"name":"sam","pin":"00000%d"}`, gatewaytest.DemoRange, i)
		nodes["a"].Request("POST", "/control/sign-in", guess, nil)
	}
	unlock := func(node, name, rangeID string) (string, error) {
		return asOperator(t, nodes[node], func(term *terminal, o operator) error { return staffUnlock{name, rangeID, o}.Run(term) })
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
	require.ErrorContains(t, err, "(not_found)")
	_, err = unlock("a", "sam", "range")
	require.True(t, errors.As(err, &gateway.Misconfigured{}))
	for _, g := range nodes {
		g.Stop()
	}
}
