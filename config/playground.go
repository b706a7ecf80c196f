package config

import (
	"fmt"
	"path/filepath"

	"github.com/google/uuid"
)

// The ids of the playground's range. Documents and scripts rely on them.
const (
	demoRange = "11111111-1111-4111-8111-111111111111"
	demoToken = "22222222-2222-4222-8222-222222222222"

	demoGroup = "33333333-3333-4333-8333-" // a number of twelve digits follows
	demoLane  = "44444444-4444-4444-8444-"
	demoBay   = "55555555-5555-4555-8555-"

	lanesInBay = 6
)

// demoOperator is the operations token. It is no secret: the playground listens on its own machine only.
const demoOperator = "operator"

// The one staff member of the playground.
const (
	PlaygroundStaff = "sam"
	PlaygroundPIN   = "1234"
	demoPINHash     = "$argon2id$v=19$m=19456,t=2,p=1$5/poc9cfOXgglkzjX2mR2A$ka25KlWQ7223z73XpcQIYUn5k6+cUAcAEy0Wj+tvCbg"
)

// PlaygroundSecret signs the events for the demo integrator.
const PlaygroundSecret = "whsec_cmFuZ2VnYXRlIHBsYXlncm91bmQ6IG5vIHNlY3JldCBhdCBhbGw="

// Playground returns the configuration of a demo range with simulated lanes, which needs no file. The store
// is dataDir/rangegate.db, address is the API's, integrator the URL of the demo integrator. The ids do not
// depend on the number of lanes: lane 7 is always 44444444-4444-4444-8444-000000000007. The configuration is
// valid for one lane or more and an address of host:port.
func Playground(lanes int, dataDir, address, integrator string) Config {
	demo := Range{
		ID:         uuid.MustParse(demoRange),
		Name:       "Demo range",
		Currency:   "EUR",
		Tokens:     []RangeToken{{Token: demoToken}},
		Purchasing: true,

		SellBeforeClear: true,
		Webhook:         &Webhook{URL: integrator + "/webhook", Secrets: []Secret{PlaygroundSecret}},
		Products:        &Products{URL: integrator},
		Staff:           []Staff{{Name: PlaygroundStaff, PinHash: demoPINHash}},
		Board:           &Board{Key: "playground-wall-board"},
		Groups: []Group{
			{ID: numbered(demoGroup, 1), Name: "Public"},
			{ID: numbered(demoGroup, 2), Name: "Members"},
		},
	}
	for i := range lanes {
		bay := i/lanesInBay + 1
		if bay > len(demo.Bays) {
			demo.Bays = append(demo.Bays, Bay{ID: numbered(demoBay, bay), Name: "Bay " + letters(bay)})
		}
		demo.Lanes = append(demo.Lanes, Lane{
			ID:         numbered(demoLane, i+1),
			Name:       fmt.Sprintf("Lane %d", i+1),
			Bay:        numbered(demoBay, bay),
			Accessible: true,
			ScreenKey:  Secret(fmt.Sprintf("playground-lane-%d-screen", i+1)),
		})
	}
	cfg := Config{
		Environment: InPlayground,
		HTTP:        HTTP{Address: address},
		Operations:  Operations{Token: demoOperator},
		Store:       Store{SQLite: filepath.Join(dataDir, "rangegate.db")},
		Ranges:      []Range{demo},
	}
	cfg.complete()
	return cfg
}

func numbered(start string, n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("%s%012d", start, n)) }

// letters counts A to Z, then AA, like the columns of a spreadsheet. n begins at 1.
func letters(n int) string {
	text := ""
	for ; n > 0; n = (n - 1) / 26 {
		text = string(rune('A'+(n-1)%26)) + text
	}
	return text
}
