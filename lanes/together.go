package lanes

import (
	"errors"

	"github.com/google/uuid"
)

// Operation is a command to a lane, one of several that are decided together.
type Operation struct {
	Lane    uuid.UUID
	Command Command // not a Move: that takes another lane
}

// DecideTogether decides the operations in their order, each on what those before it have made of its lane. on has
// every lane that they are about, and is left as it was. Where one is refused, those behind it are decided without it,
// so that every refusal is found; refusals has nil for an operation that is not. Errors: ErrDue if the session on one
// of the lanes has to expire first.
func DecideTogether(
	now Instant, on map[uuid.UUID]Lane, operations []Operation,
) (changes []Change, refusals []error, err error) {
	became := make(map[uuid.UUID]Lane, len(on))
	for id, lane := range on {
		became[id] = lane
	}
	changes, refusals = make([]Change, len(operations)), make([]error, len(operations))
	for i, op := range operations {
		change, err := became[op.Lane].Decide(now, op.Command)
		if errors.Is(err, ErrDue) {
			return nil, nil, err
		}
		if refusals[i] = err; err != nil {
			continue
		}
		changes[i] = change
		became[op.Lane] = change.Lane
	}
	return changes, refusals, nil
}
