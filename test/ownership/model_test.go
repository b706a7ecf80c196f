package ownership

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// configuration is a model as it is searched.
type configuration struct {
	name, model string
	defines     []string
}

const rules, takeover = "ownership.pml", "takeover.pml"

// Each takes some seconds.
var short = []configuration{
	{"three nodes, which do at any time what they may ever do", rules, []string{"CHANGES=1", "CLAIMS=2", "CRASHES=0"}},
	{"a crash", rules, []string{"CHANGES=1", "CLAIMS=1", "CRASHES=1"}},
	{"two nodes with leases, a fail-over, one is slow", rules, []string{
		"NODES=2", "LEASES=1", "FAILOVERS=1", "NETWORK=0", "CHANGES=1", "CLAIMS=2", "CRASHES=0", "DRAINS=0",
	}},
	{"two nodes with leases, a range is given away", rules, []string{
		"NODES=2", "LEASES=1", "NETWORK=0", "CHANGES=1", "CLAIMS=2", "CRASHES=1", "SLOWED=0", "DRAINS=0", "GIVES=2",
	}},
	ownerLost, givenAway,
}

var ownerLost = configuration{
	"a range whose owner is lost", takeover, []string{"LOST=1", "FAILOVERS=0", "SUSPENDED=0", "DRAINS=0"},
}

var givenAway = configuration{
	"a range that its nodes give away", takeover,
	[]string{"LOST=0", "FAILOVERS=0", "SUSPENDED=0", "DRAINS=0", "GIVES=2"},
}

// All together they take minutes, and each up to 4 GB.
var long = []configuration{
	{"three nodes, crashes, two sales", rules, []string{"CHANGES=2", "CLAIMS=2", "CRASHES=1"}},
	{"three nodes, crashes, three claims", rules, []string{"CHANGES=1", "CLAIMS=3", "CRASHES=1"}},
	{"a store that refuses", rules, []string{"CHANGES=2", "CLAIMS=1", "CRASHES=1", "REFUSALS=1"}},
	{"two ranges", rules, []string{"RANGES=2", "NETWORK=0", "CHANGES=1", "CLAIMS=1", "CRASHES=1"}},
	{"three nodes with leases, a crash", rules, leased.defines},
	{"three nodes with leases, a fail-over, a drain", rules, []string{
		"LEASES=1", "FAILOVERS=1", "NETWORK=0", "CHANGES=1", "CLAIMS=2", "CRASHES=0", "SLOWED=0",
	}},
	{"three nodes with leases, a fail-over, a slow one", rules, []string{
		"LEASES=1", "FAILOVERS=1", "NETWORK=0", "CHANGES=1", "CLAIMS=2", "CRASHES=0", "DRAINS=0",
	}},
	{"two nodes with leases, a fail-over, both may be slow", rules, []string{
		"NODES=2", "LEASES=1", "FAILOVERS=1", "NETWORK=0", "CHANGES=1", "CLAIMS=2", "CRASHES=0", "SLOWED=2", "DRAINS=0",
	}},
	{"three nodes with leases, a crash, a range is given away", rules, append([]string{"GIVES=1"}, leased.defines...)},
	{"three nodes with leases, a fail-over, a range is given away", rules, []string{
		"LEASES=1", "FAILOVERS=1", "NETWORK=0", "CHANGES=1", "CLAIMS=2", "CRASHES=0", "SLOWED=0", "DRAINS=0", "GIVES=1",
	}},
	{"a range whose owner is lost, and that its nodes give away", takeover, []string{
		"LOST=1", "FAILOVERS=0", "SUSPENDED=0", "DRAINS=0", "GIVES=3",
	}},
	{"a range whose owner is lost, and a fail-over", takeover, []string{"LOST=1", "SUSPENDED=0", "DRAINS=0"}},
	{"a range whose owner is suspended, and a fail-over", takeover, []string{"LOST=0", "DRAINS=0"}},
}

func TestNoOrderOfEventsBreaksAPromise(t *testing.T) {
	searched := short
	if soaking() {
		searched = append(searched, long...)
	}
	for _, c := range searched {
		t.Run(c.name, func(t *testing.T) {
			found := Search(t, c.model, c.model == takeover, c.defines...)
			require.Empty(t, found.Broken, "%s\n%s", c.defines, found.Trace)
			t.Log(found)
		})
	}
}

// planted are defects of the rules, each with what it breaks first in the smallest configuration that shows it.
var planted = []struct {
	name, defect, breaks string
	soak                 bool // it takes longer than a moment
	configuration
}{
	{"the store takes the flush of an owner of before", "NO_FENCE", "promise 4", false, short[0]},
	{"a fire line is opened before the save", "OPENS_UNSAVED", "promise 4", true, short[0]},
	{"a client is answered before the save", "ANSWERS_UNSAVED", "promise 1", true, short[0]},
	{"a refusal from memory is not confirmed", "REFUSES_UNCONFIRMED", "promise 2", false, short[0]},
	{"nothing was changed, says who has had no answer", "DENIES_UNANSWERED", "promise 2", true, short[0]},
	{"a claim leaves n as it is", "KEEPS_N", "promise 4", true, short[0]},
	{"the next owner does not know what was sent", "LOADS_NO_MARKS", "promise 3", true, short[0]},
	{
		"a flush without an answer is forgotten", "FORGETS_UNANSWERED", "promise 4", true,
		configuration{model: rules, defines: []string{"CHANGES=2", "CLAIMS=1", "CRASHES=0"}},
	},
	{
		"a controller obeys an owner of before", "OBEYS_ANYBODY", "promise 4", true,
		configuration{model: rules, defines: []string{"CHANGES=2", "CLAIMS=1", "CRASHES=0"}},
	},
	{"an owner drops its ranges with its lease", "DROPS_WITHOUT_LEASE", "promise 5", true, suspended},
	{"a node releases the range of another one", "RELEASES_OTHERS", "rule", true, leased},
	{"a take-over before the lease has ended", "TAKES_OVER_EARLY", "rule", false, leased},
	{"a claim does not look at what it expects", "CLAIMS_UNSEEN", "rule", true, leased},
	{
		"a lease goes on over a fail-over", "IGNORES_SERVER", "promise 4", true, failedOver,
	},
	{"a node claims before it has noticed the other server", "UNNOTICED", "promise 1", false, failedOver},
	{
		"a node that has started since a fail-over claims at once what seems to have no owner", "FRESH", "promise 1",
		true, failedOver,
	},
	{
		"an epoch is given twice", "EPOCH_TWICE", "promise 2", true,
		configuration{model: rules, defines: []string{
			"NODES=2", "LEASES=1", "FAILOVERS=1", "NETWORK=0", "CHANGES=2", "CLAIMS=2", "CRASHES=0",
			"SLOWED=2", "DRAINS=0",
		}},
	},
	{"the record of a range is read once", "READS_ONCE", "promise 6", false, ownerLost},
	{"only the best node takes a range", "ONLY_THE_BEST", "promise 6", true, ownerLost},
	{"an own range that does not run is left alone", "NOT_AGAIN", "promise 6", true, ownerLost},
	{"a node never takes what it has given away", "GIVEN_FOR_GOOD", "promise 6", false, givenAway},
}

var suspended = configuration{model: rules, defines: []string{
	"LEASES=1", "NETWORK=0", "CHANGES=1",
	"CLAIMS=1", "CRASHES=0",
}}

var leased = configuration{model: rules, defines: []string{
	"LEASES=1", "NETWORK=0", "CHANGES=1", "CLAIMS=2", "CRASHES=1", "SLOWED=0", "DRAINS=0",
}}

var failedOver = configuration{model: rules, defines: []string{
	"LEASES=1", "FAILOVERS=1", "NETWORK=0", "CHANGES=1", "CLAIMS=2", "CRASHES=0", "SLOWED=0",
}}

func TestEveryPlantedDefectIsFound(t *testing.T) {
	for _, p := range planted {
		if p.soak && !soaking() {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			found := Search(t, p.model, p.model == takeover, append([]string{p.defect}, p.defines...)...)
			require.Equal(t, p.breaks, found.Broken, found.Trace)
			t.Log(found)
		})
	}
}

// What a fail-over can cost although the newest owner lives (docs/ownership.md): the model has a trace of it.
func TestWhatAFailOverCanStillCost(t *testing.T) {
	found := Search(t, rules, false, "STRICT", "NODES=2", "DRAINS=1", "LEASES=1", "FAILOVERS=1", "NETWORK=0",
		"CHANGES=1", "CLAIMS=2", "CRASHES=0")
	require.Equal(t, "promise 4", found.Broken, found.Trace)
	t.Logf("%s\n%s", found, found.Trace)
}
