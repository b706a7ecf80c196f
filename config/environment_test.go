package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheEnvironmentOverridesEveryKindOfValue(t *testing.T) {
	text := edited(t, "name: Demo range", "name: Demo range\n    staff: [{name: sam, pin_hash: old}]")
	cfg, err := Parse([]byte(text), []string{
		"PATH=/bin",
		"rangegate_http_address=not ours",
		"RANGEGATE_ENVIRONMENT=playground",
		"RANGEGATE_HTTP_ADDRESS=0.0.0.0:80",
		"RANGEGATE_OPERATIONS_TOKEN=a=b=c",
		"RANGEGATE_STORE_RETENTION_CAP=5",
		"RANGEGATE_RANGES_0_NAME=North",
		"RANGEGATE_RANGES_0_ID=11111111-1111-4111-8111-111111111119",
		"RANGEGATE_RANGES_0_ON_LINK_LOSS=hold",
		"RANGEGATE_RANGES_0_LINK_GRACE=1m",
		"RANGEGATE_RANGES_0_PURCHASING=true",
		"RANGEGATE_RANGES_0_HOURS_TIMEZONE=Europe/Berlin",
		"RANGEGATE_RANGES_0_HOURS_WEEK_MONDAY_0=09:00-22:00",
		"RANGEGATE_RANGES_0_STAFF_0_PIN_HASH=$argon2id$v=19$m=65536,t=2,p=2$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu",
		"RANGEGATE_RANGES_0_LANES_1_SCREEN_KEY=the-key-of-a-screen",
		"RANGEGATE_RANGES_0_LANES_1_LINK_KEY=link",
		"RANGEGATE_RANGES_0_LANES_1_ACCESSIBLE=false",
	})
	require.NoError(t, err)

	assert.Equal(t, "0.0.0.0:80", cfg.HTTP.Address)
	assert.Equal(t, Secret("a=b=c"), cfg.Operations.Token)
	assert.Equal(t, 5, cfg.Store.Retention.Cap)
	north := cfg.Ranges[0]
	assert.Equal(t, "North", north.Name)
	assert.Equal(t, "11111111-1111-4111-8111-111111111119", north.ID.String())
	assert.Equal(t, Hold, north.OnLinkLoss)
	assert.Equal(t, time.Minute, north.LinkGrace)
	assert.True(t, north.Purchasing)
	assert.Equal(t, &Hours{Timezone: "Europe/Berlin", Week: Week{Monday: []string{"09:00-22:00"}}}, north.Hours)
	assert.Equal(t, Secret("$argon2id$v=19$m=65536,t=2,p=2$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu"),
		north.Staff[0].PinHash)
	assert.Equal(t, Secret("the-key-of-a-screen"), north.Lanes[1].ScreenKey)
	assert.Equal(t, Secret("link"), north.Lanes[1].Link.Key)
	assert.False(t, north.Lanes[1].Accessible)
	assert.True(t, north.Lanes[0].Accessible, "the other lane is untouched")
}

func TestSecretsCanComeFromTheEnvironmentAlone(t *testing.T) {
	const a, b, c = "22222222-2222-4222-8222-22222222222a", "22222222-2222-4222-8222-22222222222b",
		"22222222-2222-4222-8222-22222222222c"
	text := edited(t, "    token: 22222222-2222-4222-8222-222222222222\n", "")
	cfg, err := Parse([]byte(text), []string{
		"RANGEGATE_RANGES_0_TOKENS_1=" + b,
		"RANGEGATE_RANGES_0_TOKENS_0=" + a,
		"RANGEGATE_RANGES_0_TOKEN=" + c,
	})
	require.NoError(t, err)
	assert.Equal(t, []RangeToken{{a, "", ScopeSell}, {b, "", ScopeSell}, {c, "", ScopeSell}}, cfg.Ranges[0].Tokens)
}

func TestAListGrowsInOrderPastTen(t *testing.T) {
	cfg := Playground(1, "data", ":0", "http://127.0.0.1:7070")
	var environ []string
	for i := 12; i > 0; i-- {
		environ = append(environ, fmt.Sprintf("RANGEGATE_RANGES_0_TOKENS_%d=22222222-2222-4222-8222-%012d", i, i))
	}
	require.NoError(t, Override(&cfg, environ))
	assert.Len(t, cfg.Ranges[0].Tokens, 13)
	assert.Equal(t, "22222222-2222-4222-8222-000000000010", cfg.Ranges[0].Tokens[10].Token.Reveal())
}

func TestASectionCanComeFromTheEnvironmentAlone(t *testing.T) {
	cfg, err := Parse([]byte(smallest), []string{"RANGEGATE_RANGES_0_PRODUCTS_URL=http://h"})
	require.NoError(t, err)
	assert.Equal(t, &Products{URL: "http://h", Timeout: 5 * time.Second}, cfg.Ranges[0].Products)
}

func TestALimitMayBeNone(t *testing.T) {
	for _, parsed := range []func() (Config, error){
		func() (Config, error) {
			return Parse([]byte(smallest+"\nhttp: {limits: {requests: 0}}"), nil)
		},
		func() (Config, error) { return Parse([]byte(smallest), []string{"RANGEGATE_HTTP_LIMITS_REQUESTS=0"}) },
	} {
		cfg, err := parsed()
		require.NoError(t, err)
		assert.Equal(t, []Limit{0, 0, 60}, []Limit{
			*cfg.HTTP.Limits.Requests, *cfg.HTTP.Limits.Burst,
			*cfg.HTTP.Limits.Failures,
		})
	}
	cfg, err := Parse([]byte(smallest), []string{"RANGEGATE_HTTP_LIMITS_REQUESTS=10"})
	require.NoError(t, err)
	assert.Equal(t, []Limit{10, 20, 60}, []Limit{
		*cfg.HTTP.Limits.Requests, *cfg.HTTP.Limits.Burst,
		*cfg.HTTP.Limits.Failures,
	})
	_, err = Parse([]byte(smallest), []string{"RANGEGATE_HTTP_LIMITS_BURST=0"})
	assert.Equal(t, []string{"http.limits.burst: must be more than 0 while requests is limited"}, faultsOf(t, err))
}

func TestMovingToRedisByTheEnvironment(t *testing.T) {
	text := smallest + "store: {sqlite: here.db}"
	_, err := Parse([]byte(text), []string{"RANGEGATE_STORE_REDIS=redis://h"})
	assert.Equal(t, []string{"store: two stores, sqlite and redis; choose one"}, faultsOf(t, err))

	cfg, err := Parse([]byte(text), []string{"RANGEGATE_STORE_REDIS=redis://h", "RANGEGATE_STORE_SQLITE="})
	require.NoError(t, err, "an empty variable empties a text")
	assert.Equal(t, Secret("redis://h"), cfg.Store.Redis)
}

func TestFaultsOfTheEnvironment(t *testing.T) {
	for entry, problem := range map[string]string{
		"RANGEGATE_RANGES_0_STAF_0_NAME=x": "no such setting, did you mean " +
			"RANGEGATE_RANGES_0_STAFF_0_NAME?",
		"RANGEGATE_HTTP_ADDRSS=x": "no such setting, did you mean RANGEGATE_HTTP_ADDRESS?",
		"RANGEGATE_RANGES_0_LANES_12_LINK_KEI=x": "no such setting, did you mean " +
			"RANGEGATE_RANGES_0_LANES_12_LINK_KEY?",
		"RANGEGATE_RANGES_0_ON_LINKLOSS=x": "no such setting, did you mean " +
			"RANGEGATE_RANGES_0_ON_LINK_LOSS?",
		"RANGEGATE_COFFEE=x":                           "no such setting",
		"RANGEGATE_=x":                                 "no such setting",
		"RANGEGATE_RANGES_0_LANES=x":                   "no such setting",
		"RANGEGATE_RANGES_1_NAME=x":                    "no item with this index, there are 1, counted from 0",
		"RANGEGATE_RANGES_0_LANES_2_NAME=x":            "no item with this index, there are 2, counted from 0",
		"RANGEGATE_RANGES_0_TOKENS_2=x":                "no item with this index, there are 0, counted from 0",
		"RANGEGATE_RANGES_0_TOKENS_99999999999999999=": "no item with this index, there are 0, counted from 0",
		"RANGEGATE_RANGES_#_NAME=x":                    "no item with this index, there are 1, counted from 0",
		"RANGEGATE_RANGES_0_PURCHASING=yes":            "wants true or false",
		"RANGEGATE_RANGES_0_PURCHASING":                "wants true or false",
		"RANGEGATE_STORE_RETENTION_CAP=1e3":            "wants a whole number",
		"RANGEGATE_STORE_RETENTION_NAMES=0s":           "must be more than 0",
		"RANGEGATE_HTTP_LIMITS_REQUESTS=-1":            "must be 0 (no limit) or more",
		"RANGEGATE_RANGES_0_ID=x":                      wantsID,
		"RANGEGATE_RANGES_0_NAME=\xff":                 "wants text in UTF-8",
	} {
		_, err := Parse([]byte(smallest), []string{entry})
		list := faultsOf(t, err)
		if assert.Len(t, list, 1, entry) {
			name, _, _ := strings.Cut(entry, "=")
			assert.Equal(t, name+": "+problem, list[0])
		}
	}
}

func TestTheNearestKeyIsSuggested(t *testing.T) {
	keys := []string{"lanes", "name", "on_link_loss", "url", "redis"}
	for word, meant := range map[string]string{
		"lane":        "lanes", // name is near too, but not as near
		"anme":        "name",  // two letters swapped
		"onLinkLoss":  "on_link_loss",
		"OnLink-Loss": "on_link_loss",
		"uri":         "url",
		"radis":       "redis",
		"link":        "",
		"x":           "",
		"":            "",
	} {
		assert.Equal(t, meant, nearest(word, keys), word)
	}
}

// All machines read one file; what tells them apart comes from the environment of each.
func TestEachMachineNamesItsNode(t *testing.T) {
	text := smallest + nodes("ttl: 2s")
	cfg, err := Parse([]byte(text), []string{"RANGEGATE_NODES_NAME=node-3", "RANGEGATE_NODES_ADDRESS=10.0.0.3:7443"})
	require.NoError(t, err)
	assert.Equal(t, &Nodes{Name: "node-3", Address: "10.0.0.3:7443", TTL: 2 * time.Second}, cfg.Nodes)
	host, err := os.Hostname()
	require.NoError(t, err)
	cfg, err = Parse([]byte(text), []string{"RANGEGATE_NODES_ADDRESS=:7443"})
	require.NoError(t, err)
	assert.Equal(t, host, cfg.Nodes.Name)
	cfg, err = Parse([]byte(smallest), nil)
	require.NoError(t, err)
	assert.Nil(t, cfg.Nodes, "one machine has no nodes")
}

func TestWhereANodeIsReached(t *testing.T) {
	for _, tt := range []struct {
		node            Nodes
		listening, want string
	}{
		{Nodes{Name: "a", Address: ":7443"}, "[::]:7443", "a:7443"},
		{Nodes{Name: "a", Address: "0.0.0.0:0"}, "0.0.0.0:40001", "a:40001"},
		{Nodes{Name: "a", Address: "10.0.0.3:7443"}, "10.0.0.3:7443", "10.0.0.3:7443"},
		{Nodes{Name: "a", Address: "127.0.0.1:0"}, "127.0.0.1:40001", "127.0.0.1:40001"},
		{Nodes{Name: "a", Address: "node.internal:7443"}, "10.0.0.3:7443", "node.internal:7443"},
		{Nodes{Name: "a", Address: ":7443", Advertise: "b:17443"}, "[::]:7443", "b:17443"},
	} {
		assert.Equal(t, tt.want, tt.node.AdvertisedAddress(tt.listening), "%+v", tt.node)
	}
}
