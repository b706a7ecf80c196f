package config

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// before is a configuration of two ranges, and after the same read once more.
func twice(t *testing.T) (before, after Config) {
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

func TestTheSameConfigurationIsNoDifference(t *testing.T) {
	before, after := twice(t)
	require.True(t, Differences(before, after).None())
}

func TestEveryKeyThatIsDifferentIsNamedWhereItIs(t *testing.T) {
	for name, story := range map[string]struct {
		change func(*Config)
		want   Difference
	}{
		"what a restart needs": {func(c *Config) { c.HTTP.Address, c.Store.Retention.Cap = "127.0.0.1:1", 5 }, Difference{
			Restart: []string{"http.address", "store.retention.cap"},
		}},
		"limits and the operator's token": {func(c *Config) { c.HTTP.Limits.Requests, c.Operations.Token = ptr(5), "another" }, Difference{
			Also: []string{"http.limits.requests", "operations.token"},
		}},
		"a range instead of another": {func(c *Config) { c.Ranges[1].ID = uuid.Max }, Difference{
			Begin: []uuid.UUID{uuid.Max}, End: []uuid.UUID{uuid.MustParse("11111111-1111-4111-8111-222222222222")},
		}},
		"keys of a range": {func(c *Config) {
			c.Ranges[1].Webhook.Queue, c.Ranges[1].Products = 7, nil
		}, Difference{Change: []RangeDifference{{ID: uuid.MustParse("11111111-1111-4111-8111-222222222222"), Keys: []string{"webhook.queue", "products"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := twice(t)
			story.change(&after)
			require.Equal(t, story.want, Differences(before, after))
		})
	}
}

func TestLanesThatComeGoAndChange(t *testing.T) {
	before, after := twice(t)
	lanes := before.Ranges[0].Lanes
	renamed, moved, came := lanes[0], lanes[1], lanes[2]
	renamed.Name, moved.Link.Key, came.ID = "Lane one", "another key", uuid.Max
	after.Ranges[0].Lanes = []Lane{moved, renamed, came}
	require.Equal(t, []RangeDifference{{
		ID: before.Ranges[0].ID, Added: []uuid.UUID{uuid.Max}, Changed: []uuid.UUID{moved.ID, renamed.ID}, Removed: []uuid.UUID{lanes[2].ID},
		Sorted: true, Renew: []uuid.UUID{moved.ID},
	}}, Differences(before, after).Change)
}

func TestWhatAllControllersHearGoesToAllOfThem(t *testing.T) {
	before, after := twice(t)
	after.Ranges[0].OnLinkLoss = Hold
	require.Len(t, Differences(before, after).Change[0].Renew, 3)

	before, after = twice(t)
	for _, c := range []*Config{&before, &after} {
		c.Ranges[0].Lanes[1].Link.Address = "wss://127.0.0.1:7400"
	}
	after.Ranges[0].LinkTLS.CA = "ca.pem"
	require.Equal(t, []uuid.UUID{after.Ranges[0].Lanes[1].ID}, Differences(before, after).Change[0].Renew)
}
