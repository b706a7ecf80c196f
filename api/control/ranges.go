package control

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
)

// MaxListed is the most ranges that a gateway lists by name for anybody. Of more, whoever comes has to know
// the name: nobody finds one in so long a list, and a gateway of that many ranges has several owners, whose
// names it does not give away.
const MaxListed = 24

// NamedRange is what anybody may know of a range that has a control screen.
type NamedRange struct {
	ID   uuid.UUID `json:"range_id"`
	Name string    `json:"name"`
}

// RangesNamed returns the ranges that have a control screen, sorted by name. With a name, and where there are
// more than MaxListed, it returns those of that name alone, whatever its case; complete is false if there are
// others.
func RangesNamed(staff map[uuid.UUID]RangeStaff, name string) (ranges []NamedRange, complete bool) {
	all := []NamedRange{}
	for id, r := range staff {
		if len(r.Members) > 0 {
			all = append(all, NamedRange{id, r.Name})
		}
	}
	slices.SortFunc(all, func(a, b NamedRange) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), slices.Compare(a.ID[:], b.ID[:]))
	})
	name = strings.TrimSpace(name)
	if name == "" && len(all) <= MaxListed {
		return all, true
	}
	of := slices.DeleteFunc(slices.Clone(all), func(r NamedRange) bool { return !strings.EqualFold(r.Name, name) })
	return of, len(of) == len(all)
}

// PagePath returns the path of the control screen of a range.
func PagePath(rangeID uuid.UUID) string { return "/control/" + rangeID.String() }

type rangesView struct {
	Ranges   []NamedRange `json:"ranges"`
	Complete bool         `json:"complete"` // there are no others
}

func readRangeName(in *endpoint.Input) string {
	return in.QueryFilter("name", 200, "Only ranges of that name; needed where there are very many")
}

func (c *screen) rangesNamed(_ context.Context, name string) (rangesView, error) {
	ranges, complete := RangesNamed(c.Staff, name)
	return rangesView{ranges, complete}, nil
}
