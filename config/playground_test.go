package config

import (
	"testing"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThePlaygroundKeepsEveryRule(t *testing.T) {
	for _, lanes := range []int{1, 6, 7, 12, 1000} {
		require.NoError(t, Override(new(Playground(lanes, "data", "127.0.0.1:0", "http://127.0.0.1:7070")), nil))
	}
	assert.Error(t, Override(new(Playground(0, "data", "127.0.0.1:0", "http://127.0.0.1:7070")), nil))
	assert.Error(t, Override(new(Playground(-1, "data", "127.0.0.1:0", "http://127.0.0.1:7070")), nil))
	assert.True(t, Playground(1, "data", "127.0.0.1:8080", "http://127.0.0.1:7070").Ranges[0].SellBeforeClear,
		"as in a file")
}

func TestThePlaygroundIsTheSameInEveryRun(t *testing.T) {
	demo := Playground(12, "dir", "127.0.0.1:8080", "http://127.0.0.1:7070").Ranges[0]
	assert.Equal(t, "11111111-1111-4111-8111-111111111111", demo.ID.String())
	assert.Equal(t, []RangeToken{{"22222222-2222-4222-8222-222222222222", "", ScopeSell}}, demo.Tokens)
	assert.True(t, demo.Purchasing)
	assert.Equal(t, "sam", demo.Staff[0].Name)
	fits, err := argon2id.ComparePasswordAndHash("1234", demo.Staff[0].PinHash.Reveal())
	require.NoError(t, err)
	assert.True(t, fits)
	assert.Equal(t, []Group{
		{ID: uuid.MustParse("33333333-3333-4333-8333-000000000001"), Name: "Public"},
		{ID: uuid.MustParse("33333333-3333-4333-8333-000000000002"), Name: "Members"},
	}, demo.Groups)
	assert.Equal(t, []Bay{
		{ID: uuid.MustParse("55555555-5555-4555-8555-000000000001"), Name: "Bay A"},
		{ID: uuid.MustParse("55555555-5555-4555-8555-000000000002"), Name: "Bay B"},
	}, demo.Bays)
	assert.Equal(t, Lane{
		ID:         uuid.MustParse("44444444-4444-4444-8444-000000000007"),
		Name:       "Lane 7",
		Bay:        demo.Bays[1].ID,
		Accessible: true,
		ScreenKey:  "playground-lane-7-screen",
		Link:       Link{Driver: "sim"},
	}, demo.Lanes[6])
	assert.Equal(t, demo.Lanes, Playground(200, "dir", "127.0.0.1:8080", "http://127.0.0.1:7070").Ranges[0].Lanes[:12],
		"whatever the number of lanes")
}

func TestBaysAreLetteredBeyondZ(t *testing.T) {
	for n, want := range map[int]string{1: "A", 26: "Z", 27: "AA", 52: "AZ", 53: "BA", 702: "ZZ", 703: "AAA"} {
		assert.Equal(t, want, letters(n))
	}
}

func TestTheEnvironmentOverridesThePlayground(t *testing.T) {
	cfg := Playground(2, "dir", "127.0.0.1:8080", "http://127.0.0.1:7070")
	assert.Equal(t, "dir/rangegate.db", cfg.Store.SQLite)
	require.NoError(t, Override(&cfg, []string{
		"RANGEGATE_OPERATIONS_ADDRESS=127.0.0.1:0",
		"RANGEGATE_RANGES_0_LANES_1_NAME=The far one",
		"RANGEGATE_RANGES_0_PRODUCTS_URL=http://127.0.0.1:7070",
	}))
	assert.Equal(t, "127.0.0.1:0", cfg.Operations.Address)
	assert.Equal(t, "The far one", cfg.Ranges[0].Lanes[1].Name)
	assert.NotZero(t, cfg.Ranges[0].Products.Timeout)

	assert.Equal(t, []string{
		"RANGEGATE_HTTP_PORT: no such setting",
		"http.address: wants host:port, such as 127.0.0.1:8080",
	}, faultsOf(t, Override(&cfg, []string{"RANGEGATE_HTTP_PORT=1", "RANGEGATE_HTTP_ADDRESS=x"})))
}
