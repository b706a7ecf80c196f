package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	laneTime = Product{ID: "time", DisplayName: "Lane time", MinQty: 15, MaxQty: 100, IncrementBy: 30}
	ninemm   = Product{ID: "9mm", DisplayName: "9 mm, box of 50", MinQty: 1, MaxQty: 10, IncrementBy: 1}
	bullseye = Product{ID: "bullseye", DisplayName: "Bull's-eye", MinQty: 1, MaxQty: 20, IncrementBy: 1}
	muffs    = Product{ID: "ear muffs", DisplayName: "Ear muffs", MinQty: 1, MaxQty: 1, IncrementBy: 1}
)

func TestAQuantityThatCannotBeBoughtIsExplained(t *testing.T) {
	least := "Lane time: the least that can be bought is 15 minutes."
	steps := "Lane time: can be bought in steps of 30 minutes, from 15 minutes on."
	for qty, want := range map[int]string{
		-1: least, 0: least, 14: least, 15: "", 16: steps, 30: steps, 45: "", 75: "", 90: steps, 100: steps,
		101: "Lane time: the most that can be bought is 100 minutes.",
	} {
		require.Equal(t, want, laneTime.Refusal(qty), qty)
	}
	fromTen := Product{ID: "time", DisplayName: "Lane time", MinQty: 10, MaxQty: 100, IncrementBy: 30}
	for qty, sold := range map[int]bool{10: true, 20: false, 30: false, 40: true, 50: false, 70: true, 100: true} {
		require.Equal(t, sold, fromTen.Refusal(qty) == "", qty)
	}
	require.Equal(t, "Ear muffs: the least that can be bought is 1.", muffs.Refusal(0))
	require.Equal(t, "Ear muffs: the most that can be bought is 1.", muffs.Refusal(2))
	require.Equal(t, "Lane time: the least that can be bought is 1 minute.", Product{
		ID: "time", DisplayName: "Lane time", MinQty: 1, MaxQty: 9, IncrementBy: 1,
	}.Refusal(0))
}

// What can be bought is what counting on from the least comes to.
func TestRefusalAgreesWithCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least := rapid.IntRange(1, 60).Draw(t, "min_qty")
		p := Product{
			DisplayName: "Lane time", MinQty: least,
			MaxQty:      rapid.IntRange(least, 200).Draw(t, "max_qty"),
			IncrementBy: rapid.IntRange(1, 70).Draw(t, "increment_by"),
		}
		canBuy := map[int]bool{}
		for qty := p.MinQty; qty <= p.MaxQty; qty += p.IncrementBy {
			canBuy[qty] = true
		}
		for qty := -5; qty <= p.MaxQty+75; qty++ {
			if canBuy[qty] != (p.Refusal(qty) == "") {
				t.Fatalf("%+v of %+v: %q", qty, p, p.Refusal(qty))
			}
		}
	})
}

func TestACartIsRefusedForItsFirstFault(t *testing.T) {
	catalogue := Catalogue{
		Time: []Product{laneTime}, Targets: []Product{bullseye}, Ammo: []Product{ninemm}, Rentals: []Product{muffs},
	}
	for _, c := range []struct {
		cart map[string]int
		want string
	}{
		{nil, ""},
		{map[string]int{"time": 45, "bullseye": 20, "9mm": 1, "ear muffs": 1}, ""},
		{map[string]int{"9mm": 11, "time": 16, "ear muffs": 2}, laneTime.Refusal(16)},
		{map[string]int{"9mm": 11, "ear muffs": 2, "bullseye": 0}, bullseye.Refusal(0)},
		{map[string]int{"9mm": 11, "ear muffs": 2}, ninemm.Refusal(11)},
		{map[string]int{"time": 16, "zebra": 1, "aardvark": 1}, `"aardvark" is not sold here.`},
		{map[string]int{"": 1}, `"" is not sold here.`},
	} {
		for range 20 { // maps have no order; the refusal has
			require.Equal(t, c.want, catalogue.Refusal(c.cart))
		}
	}
	catalogue.Rentals = append(catalogue.Rentals, Product{
		ID: "9mm", DisplayName: "The same id again",
		MinQty: 1, MaxQty: 1,
	})
	require.Empty(t, catalogue.Refusal(map[string]int{"9mm": 2}), "of an id in two types the first counts")
	require.Equal(t, `"9mm" is not sold here.`, Catalogue{}.Refusal(map[string]int{"9mm": 1}))
}

func TestAProductIsFoundByItsID(t *testing.T) {
	catalogue := Catalogue{Time: []Product{laneTime}, Ammo: []Product{ninemm}, Rentals: []Product{muffs}}
	for id, want := range map[string]Product{"time": laneTime, "9mm": ninemm, "ear muffs": muffs} {
		product, found := catalogue.Find(id)
		require.True(t, found, id)
		require.Equal(t, want, product)
	}
	_, found := catalogue.Find("bullseye")
	require.False(t, found, "it is not sold here")
}
