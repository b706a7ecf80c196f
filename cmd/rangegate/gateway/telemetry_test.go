package gateway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
	"rangegate/test/support"
)

// What one node hands on to another is one trace: the owner's request is below the hop, and that below the entry's.
func TestTheHopBetweenNodesIsInTheTrace(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50") // ms that spans wait for others
	collector := support.NewCollector(t)
	share := config.Share(1)
	nodes := gatewaytest.StartNodes(t, func(c *config.Config) {
		c.Telemetry = &config.Telemetry{
			Endpoint: collector.URL,
			Sample:   &share,
			Sampler:  config.ParentDecides,
			Service:  "rangegate",
		}
	}, "a", "b")
	entry, owner := "a", "b"
	if nodes["b"].HandsOn() {
		entry, owner = "b", "a"
	}
	const trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	sold := nodes[entry].POS(
		"POST",
		"/sessions",
		`{"customer_name":"Jo","lane_id":"`+gatewaytest.DemoLane+`","group_id":"`+gatewaytest.DemoGroup+
			`","duration":30}`,
		"traceparent",
		"00-"+trace+"-"+caller+"-01",
		"tracestate",
		"vendor=1",
	)
	require.Equal(t, http.StatusCreated, sold.Status)

	requests, hops := collector.Wait(2, trace, "request"), collector.Wait(1, trace, "hop")
	require.Len(t, requests, 2)
	require.Len(t, hops, 1)
	atEntry, atOwner := requests[0], requests[1]
	if atEntry.Parent != caller {
		atEntry, atOwner = atOwner, atEntry
	}
	require.Equal(t, caller, atEntry.Parent)
	require.Equal(t, atEntry.ID, hops[0].Parent)
	require.Equal(t, hops[0].ID, atOwner.Parent)
	require.Equal(t, atOwner.ID, collector.Wait(1, trace, "decide")[0].Parent)
	require.Equal(
		t,
		[]string{entry, owner},
		[]string{atEntry.Resource["service.instance.id"], atOwner.Resource["service.instance.id"]},
	)
	require.Equal(t, []string{owner, "201", "answered"}, []string{
		hops[0].Attributes["rangegate.node"],
		hops[0].Attributes["http.response.status_code"],
		hops[0].Attributes["rangegate.outcome"],
	})
	for _, g := range nodes {
		g.Stop()
	}
}
