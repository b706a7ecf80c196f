package screens

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

const (
	pin       = "471147"
	laneCount = 6 // half of them in each bay

	boardKey     = "the-key-of-the-wall" // of a crowd with its number behind it
	boardSetting = "board: {key: " + boardKey + "}"

	otherRange = "11111111-1111-4111-8111-222222222222"
	otherLane  = "44444444-4444-4444-8444-999999999999"
	otherBay   = "55555555-5555-4555-8555-000000000009"
)

func bay(n int) string       { return fmt.Sprintf("55555555-5555-4555-8555-00000000000%d", n) }
func screenKey(n int) string { return fmt.Sprintf("the-key-of-screen-%d", n) }

// fixture is a range with its controllers, which outlive the gateway, and the integrator.
type fixture struct {
	t           testing.TB
	integrator  *integrator
	controllers *support.Controllers
	config      support.Config
	redis       *redistest.Server // nil: the store is a file
	gateway     *support.Gateway
}

// clearWhenSaid has a lane be clear when the story says so, and not when it has taken long enough.
const clearWhenSaid = "clear_after: 8h"

// useRedis has the store in a server that can hang.
func (f *fixture) useRedis() {
	f.redis = redistest.Start(f.t)
	f.config.Store = support.Redis(f.redis.URL())
}

// newFixture starts everything but the gateway.
func newFixture(t testing.TB) *fixture {
	f := &fixture{t: t, integrator: newIntegrator(t), controllers: support.NewControllers(t, 1, laneCount)}
	var lanes []string
	for n := 1; n <= laneCount; n++ {
		lane := f.controllers.Lane(n, "screen_key: "+screenKey(n))
		lanes = append(lanes, strings.Replace(lane, support.Bay, bay(1+(n-1)/(laneCount/2)), 1))
	}
	hash := hashPIN(t, pin)
	staff := func(names ...string) string {
		var members []string
		for _, name := range names {
			members = append(members, fmt.Sprintf("{name: %s, pin_hash: %q}", name, hash))
		}
		return "staff: [" + strings.Join(members, ", ") + "]"
	}
	f.config = support.Config{API: support.FreeAddress(t), Store: support.NewSQLite(t), Ranges: []support.Range{
		{
			Name: "North range", Lanes: lanes,
			Settings: []string{
				"purchasing: true", "currency: EUR", f.integrator.Setting("timeout: 30s"),
				f.integrator.ProductsSetting(), staff("sam", "kim"), boardSetting, clearWhenSaid,
			},
			Bays: []string{support.Entry(bay(1), "Bay A"), support.Entry(bay(2), "Bay B")},
			Groups: []string{
				support.Entry(support.Group, "Public"),
				support.Entry("33333333-3333-4333-8333-000000000002", "Members"),
			},
		},
		{
			ID: otherRange, Name: "South range", Tokens: []string{"22222222-2222-4222-8222-333333333333"},
			Settings: []string{
				strings.Replace(staff("sam", "kim"), "{name: kim", "{role: officer, name: kim", 1),
				"release_ceasefire: officer",
			},
			Bays:   []string{support.Entry(otherBay, "Bay Z")},
			Groups: []string{support.Entry("33333333-3333-4333-8333-000000000009", "Public")},
			Lanes:  []string{support.Entry(otherLane, "Lane 99", "bay: "+otherBay)},
		},
	}}
	return f
}

// manyLanes is a range with that many simulated lanes, in bays of the same size. Its id and those of its lanes
// end in its number.
func manyLanes(t testing.TB, number, bays, lanes int) support.Range {
	entry := func(prefix string, n int, name string, more ...string) string {
		return support.Entry(fmt.Sprintf("%s-0000-4000-8000-%06d%06d", prefix, number, n), name, more...)
	}
	id := func(prefix string, n int) string { return fmt.Sprintf("%s-0000-4000-8000-%06d%06d", prefix, number, n) }
	r := support.Range{
		ID: crowdID(number), Name: fmt.Sprintf("Range of %d", lanes), Tokens: []string{id("22222222", 0)},
		Settings: []string{
			fmt.Sprintf("staff: [{name: sam, pin_hash: %q}]", hashPIN(t, pin)),
			fmt.Sprintf("board: {key: %s-%d}", boardKey, number), clearWhenSaid,
		},
		Groups: []string{entry("33333333", 1, "Public")},
	}
	for n := 1; n <= bays; n++ {
		r.Bays = append(r.Bays, entry("55555555", n, fmt.Sprintf("Bay %d", n)))
	}
	for n := 1; n <= lanes; n++ {
		r.Lanes = append(r.Lanes, entry("44444444", n, fmt.Sprintf("Lane %d", n), "bay: "+
			id("55555555", 1+(n-1)*bays/lanes)))
	}
	return r
}

func crowdID(number int) string { return fmt.Sprintf("11111111-0000-4000-8000-%012d", number) }

// serve starts the gateway, always at the same address.
func (f *fixture) serve() { f.gateway = f.config.Serve(f.t) }

// hashPIN is what the configuration keeps of a PIN.
func hashPIN(t testing.TB, pin string) string {
	cmd := support.Command("hash-pin")
	cmd.Stdin = strings.NewReader(pin + "\n")
	hash, err := cmd.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(hash))
}
