package catalog

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	aBox  = `{"id":"9mm","display_name":"9 mm, box of 50","price":24.50,"max_qty":10}`
	aTime = `{"id":"time","display_name":"Lane time","price":0.40,"max_qty":120,"min_qty":15,"increment_by":15}`
)

func TestARequestIsWhatTheSpecificationSays(t *testing.T) {
	var asked *http.Request
	r := newFixture(t, func(w http.ResponseWriter, request *http.Request) {
		asked = request
		_, _ = w.Write([]byte("[" + aBox + "]"))
	})
	for suffix, want := range map[string]string{
		"":                 "/products?type=ammo",
		"/":                "/products?type=ammo",
		"/pos/v3":          "/pos/v3/products?type=ammo",
		"/pos/v3/":         "/pos/v3/products?type=ammo",
		"/pos?key=a%2Fb;c": "/pos/products?key=a%2Fb;c&type=ammo",
		"?key=1&key=2":     "/products?key=1&key=2&type=ammo",
	} {
		r.setURL(r.server.URL + suffix)
		_, err := r.client.Fetch(t.Context(), Ammo, "7d1c")
		require.NoError(t, err)
		require.Equal(t, want, asked.URL.String())
		require.Equal(t, http.MethodGet, asked.Method)
		require.Equal(t, "7d1c", asked.Header.Get("session-id"))
		require.Equal(t, "application/json", asked.Header.Get("Accept"))
		require.Equal(t, "rangegate/test", asked.Header.Get("User-Agent"))
	}
	_, err := r.client.Fetch(t.Context(), Ammo, "")
	require.NoError(t, err)
	require.NotContains(t, asked.Header, "Session-Id")
}

// The counter of each type and outcome has a time beside it, by outcome alone.
func TestRequestsAreMeasured(t *testing.T) {
	r := newFixture(t, answer("[]"))
	for range 3 {
		_, err := r.client.Fetch(t.Context(), Ammo, "")
		require.NoError(t, err)
	}
	families, err := r.metrics.Gather()
	require.NoError(t, err)
	counts := map[string]uint64{}
	for _, family := range families {
		if family.GetName() == "rangegate_products_request_seconds" {
			for _, m := range family.GetMetric() {
				counts[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
			}
		}
	}
	require.Len(t, counts, len(outcomes))
	require.EqualValues(t, 3, counts["ok"])
	require.Zero(t, counts["refused"])
}

func TestAllAsksForAllFourTypesAtOnce(t *testing.T) {
	var all sync.WaitGroup
	all.Add(len(Types))
	r := newFixture(t, func(w http.ResponseWriter, request *http.Request) {
		all.Done()
		all.Wait() // nobody is answered before all have asked
		_, _ = w.Write([]byte(map[string]string{
			"time": "[" + aTime + "]", "targets": "[]", "ammo": "[" + aBox + "]", "rentals": "[7]",
		}[request.URL.Query().Get("type")]))
	})
	catalogue, err := r.client.All(t.Context(), "7d1c")
	require.NoError(t, err)
	require.Equal(t, [2]uint64{4, 0}, r.counts())
	encoded, err := json.Marshal(catalogue)
	require.NoError(t, err)
	require.Equal(t,
		`{"time":[{"id":"time","display_name":"Lane time","price":0.40,"max_qty":120,"min_qty":15,"increment_by":15,`+
			`"picture_url":""}],"targets":[],"ammo":[{"id":"9mm","display_name":"9 mm, box of 50","price":24.50,"max_qty":10,`+
			`"min_qty":1,"increment_by":1,"picture_url":""}],"rentals":[]}`, string(encoded))
}

func TestAllFailsWhenOneTypeDoes(t *testing.T) {
	r := newFixture(t, func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Query().Get("type") != "rentals" {
			<-request.Context().Done() // until the failure has the others called off
			return
		}
		w.WriteHeader(http.StatusTeapot)
	})
	catalogue, err := r.client.All(t.Context(), "")
	require.EqualError(t, err, "products of type rentals: the products API answered with status 418 I'm a teapot, "+
		"where 200 is wanted")
	require.Zero(t, catalogue)
	require.Equal(t, map[string]float64{
		"time abandoned": 1, "targets abandoned": 1, "ammo abandoned": 1, "rentals refused": 1,
	}, r.counted(t))
	require.Equal(t, [2]uint64{1, 1}, r.counts())
}

func TestACallerWhoWentAwayIsNoFailureOfTheIntegrator(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newFixture(t, func(_ http.ResponseWriter, request *http.Request) {
		cancel()
		<-request.Context().Done()
	})
	_, err := r.client.Fetch(ctx, Ammo, "")
	require.Equal(t, context.Canceled, err)
}

func TestAnEmptyListIsNotNil(t *testing.T) {
	r := newFixture(t, answer(" [ ] "))
	products, err := r.client.Fetch(t.Context(), Targets, "")
	require.NoError(t, err)
	require.NotNil(t, products)
	require.Empty(t, products)
}
