package config

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// twoRanges reads the same configuration of two ranges twice.
func twoRanges(t *testing.T) (before, after Config) {
	t.Helper()
	read := func() Config {
		c := Playground(3, t.Name(), "127.0.0.1:0", "http://127.0.0.1:7070")
		other := Playground(1, t.Name(), "127.0.0.1:0", "http://127.0.0.1:7070").Ranges[0]
		other.ID = uuid.MustParse("11111111-1111-4111-8111-222222222222")
		c.Ranges = append(c.Ranges, other)
		c.ForgetTokens()
		return c
	}
	return read(), read()
}

func TestEqualConfigurationsHaveNoDifference(t *testing.T) {
	before, after := twoRanges(t)
	require.True(t, Compare(before, after).Empty())
}

func TestEveryChangedKeyIsNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Config)
		want   Difference
	}{
		"keys that need a restart": {
			func(c *Config) { c.HTTP.Address, c.Store.Retention.Cap = "127.0.0.1:1", 5 },
			Difference{
				Restart: []string{"http.address", "store.retention.cap"},
			},
		},
		"the nodes": {func(c *Config) { c.Nodes = &Nodes{Name: "a"} }, Difference{Restart: []string{"nodes"}}},
		"limits and the operator's " +
			"token": {func(c *Config) { c.HTTP.Limits.Requests, c.Operations.Token = ptr(5), "another" }, Difference{
			Keys: []string{"http.limits.requests", "operations.token"},
		}},
		"one range replaces another": {func(c *Config) { c.Ranges[1].ID = uuid.Max }, Difference{
			Added: []uuid.UUID{uuid.Max}, Removed: []uuid.UUID{uuid.MustParse("11111111-1111-4111-8111-222222222222")},
		}},
		"keys of a range": {func(c *Config) {
			c.Ranges[1].Webhook.Queue, c.Ranges[1].Products = 7, nil
		}, Difference{Changed: []RangeDifference{{
			ID:   uuid.MustParse("11111111-1111-4111-8111-222222222222"),
			Keys: []string{"webhook.queue", "products"},
		}}}},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := twoRanges(t)
			tt.change(&after)
			require.Equal(t, tt.want, Compare(before, after))
		})
	}
}

func TestAddedChangedRemovedAndReorderedLanes(t *testing.T) {
	before, after := twoRanges(t)
	lanes := before.Ranges[0].Lanes
	renamed, rekeyed, added := lanes[0], lanes[1], lanes[2]
	renamed.Name, rekeyed.Link.Key, added.ID = "Lane one", "another key", uuid.Max
	after.Ranges[0].Lanes = []Lane{rekeyed, renamed, added}
	require.Equal(t, []RangeDifference{{
		ID: before.Ranges[0].ID, Added: []uuid.UUID{uuid.Max}, Changed: []uuid.UUID{rekeyed.ID, renamed.ID},
		Removed:   []uuid.UUID{lanes[2].ID},
		Reordered: true, Reconnect: []uuid.UUID{rekeyed.ID},
	}}, Compare(before, after).Changed)
}

// What the operator accepts of links is a setting of the range; no link is made anew for it.
func TestAcceptedInsecureLinks(t *testing.T) {
	before, after := twoRanges(t)
	after.Ranges[0].InsecureLinks = true
	require.Equal(t, []RangeDifference{{ID: after.Ranges[0].ID, Keys: []string{"insecure_links"}}},
		Compare(before, after).Changed)
}

func TestSettingsOfAllControllersReconnectThemAll(t *testing.T) {
	before, after := twoRanges(t)
	after.Ranges[0].OnLinkLoss = Hold
	require.Len(t, Compare(before, after).Changed[0].Reconnect, 3)

	before, after = twoRanges(t)
	for _, c := range []*Config{&before, &after} {
		c.Ranges[0].Lanes[1].Link.Address = "wss://127.0.0.1:7400"
	}
	after.Ranges[0].LinkTLS.CA = "ca.pem"
	require.Equal(t, []uuid.UUID{after.Ranges[0].Lanes[1].ID}, Compare(before, after).Changed[0].Reconnect)
}

// A node with another digest than the newest takes no ranges, so what each machine sets for itself must not be in it.
func TestTheDigestIsOfTheRangesAlone(t *testing.T) {
	before, same := twoRanges(t)
	same.Nodes, same.HTTP.Address, same.Log.Level = &Nodes{Name: "another"}, "127.0.0.1:1", Debug
	require.Equal(t, before.RangesDigest(), same.RangesDigest())
	for name, change := range map[string]func(*Range){
		"a name":       func(r *Range) { r.Name += "x" },
		"a token":      func(r *Range) { r.Tokens = []RangeToken{{Token: "another"}} },
		"no webhook":   func(r *Range) { r.Webhook = nil },
		"a secret":     func(r *Range) { r.Webhook.Secrets = []Secret{"another"} },
		"a lane's key": func(r *Range) { r.Lanes[0].Link.Key = "another" },
		"a lane less":  func(r *Range) { r.Lanes = r.Lanes[1:] },
		"hours":        func(r *Range) { r.Hours = &Hours{} },
		"a schedule":   func(r *Range) { r.Bays[0].Hours = &Hours{} },
	} {
		_, after := twoRanges(t)
		change(&after.Ranges[0])
		require.NotEqual(t, before.RangesDigest(), after.RangesDigest(), name)
	}
}

// Nodes of two releases, during a rolling upgrade, serve the same file in the same way: a setting that only one of them
// knows, and that the file does not have, makes no difference.
func TestTheDigestIsThatOfAReleaseWithMoreSettings(t *testing.T) {
	type part struct{ Text string }
	type release struct {
		Name  string
		Part  part
		Parts []part
		Named map[string]part
	}
	type partOfNext struct {
		Text, Added string
		More        []string
		Point       *part
	}
	type next struct {
		Early bool
		Name  string
		Added int
		Part  partOfNext
		Inner part
		Parts []partOfNext
		Named map[string]partOfNext
		Late  map[string]string
	}
	before := digest([]release{{}, {"a", part{"b"}, []part{{}, {"c"}}, map[string]part{"d": {"e"}}}})
	after := func(change func(*next)) string {
		second := next{
			Name: "a", Part: partOfNext{Text: "b"}, Parts: []partOfNext{{}, {Text: "c"}},
			Named: map[string]partOfNext{"d": {Text: "e"}},
		}
		change(&second)
		return digest([]next{{}, second})
	}
	require.Equal(t, before, after(func(*next) {}))
	require.Equal(t, before, after(func(n *next) { n.Part.More = []string{} }), "an empty list")
	different := map[string]string{before: "none"}
	for name, change := range map[string]func(*next){
		"a field":             func(n *next) { n.Added = 1 },
		"a flag":              func(n *next) { n.Early = true },
		"another field":       func(n *next) { n.Name, n.Inner.Text = "", "a" },
		"within":              func(n *next) { n.Part.Added = "x" },
		"within a list":       func(n *next) { n.Parts[0].Added = "x" },
		"the next of a list":  func(n *next) { n.Parts[1].Added = "x" },
		"a longer list":       func(n *next) { n.Parts = append(n.Parts, partOfNext{}) },
		"an empty string":     func(n *next) { n.Part.More = []string{""} },
		"two of them":         func(n *next) { n.Part.More = []string{"", ""} },
		"a section":           func(n *next) { n.Part.Point = &part{} },
		"what is named":       func(n *next) { n.Named["d"] = partOfNext{} },
		"what is empty":       func(n *next) { n.Late = map[string]string{"": ""} },
		"a name":              func(n *next) { n.Late = map[string]string{"x": ""} },
		"a value of the name": func(n *next) { n.Late = map[string]string{"": "x"} },
	} {
		got := after(change)
		require.Empty(t, different[got], name)
		different[got] = name
	}
}

// Opening hours are compared part by part; nodes with other exceptions are told apart.
func TestOpeningHoursThatDiffer(t *testing.T) {
	whole := func() *Hours {
		return &Hours{
			Timezone: "UTC", Week: Week{Monday: []string{"09:00-22:00"}},
			Exceptions: map[Date][]string{"2026-12-24": {}, "2026-12-25": {"10:00-12:00"}},
		}
	}
	for key, change := range map[string]func(*Hours){
		"hours.timezone":    func(h *Hours) { h.Timezone = "Europe/Berlin" },
		"hours.week.monday": func(h *Hours) { h.Week.Monday = []string{"09:00-21:00"} },
		"hours.exceptions":  func(h *Hours) { h.Exceptions["2026-12-24"] = []string{"10:00-12:00"} },
	} {
		before, after := twoRanges(t)
		before.Ranges[0].Hours, after.Ranges[0].Hours = whole(), whole()
		require.True(t, Compare(before, after).Empty())
		require.Equal(t, before.RangesDigest(), after.RangesDigest())
		change(after.Ranges[0].Hours)
		require.Equal(t, []RangeDifference{{ID: after.Ranges[0].ID, Keys: []string{key}}},
			Compare(before, after).Changed)
		require.NotEqual(t, before.RangesDigest(), after.RangesDigest(), key)
	}
	before, after := twoRanges(t)
	after.Ranges[0].Hours = whole()
	require.Equal(t, []RangeDifference{{ID: after.Ranges[0].ID, Keys: []string{"hours"}}},
		Compare(before, after).Changed)
}
