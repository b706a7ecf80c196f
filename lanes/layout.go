package lanes

import "github.com/google/uuid"

// Layout is what a range is made of, in display order. It is a value: a reload makes another.
type Layout struct {
	Range      uuid.UUID
	Name       string
	Purchasing bool // the range offers lane purchasing
	Bays       []Bay
	Groups     []Group
	Lanes      []Place
}

// Bay groups lanes.
type Bay struct {
	ID   uuid.UUID
	Name string
}

// Group is an access group.
type Group struct {
	ID   uuid.UUID
	Name string
}

// Place is a lane in the layout.
type Place struct {
	ID         uuid.UUID
	Bay        uuid.UUID
	Name       string
	Accessible bool // open for sale
}

// HasGroup reports whether the range has the access group.
func (l Layout) HasGroup(id uuid.UUID) bool {
	for _, group := range l.Groups {
		if group.ID == id {
			return true
		}
	}
	return false
}
