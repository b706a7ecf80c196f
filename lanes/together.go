package lanes

import (
	"errors"

	"github.com/google/uuid"
)

// Operation is a command to a lane, one of several that are decided together.
type Operation struct {
	Lane    uuid.UUID
	Command Command // of a Move, To is set when it is decided
	To      uuid.UUID
	By      By
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
		change, err := op.decide(now, became)
		if errors.Is(err, ErrDue) {
			return nil, nil, err
		}
		if refusals[i] = err; err != nil {
			continue
		}
		changes[i] = change
		became[op.Lane] = change.Lane
		if change.Other != nil {
			became[op.To] = *change.Other
		}
	}
	return changes, refusals, nil
}

func (op Operation) decide(now Instant, on map[uuid.UUID]Lane) (Change, error) {
	command := op.Command
	if move, moves := command.(Move); moves {
		to, err := on[op.To].Reserve(now, op.By)
		if err != nil {
			return Change{}, err
		}
		move.To = to
		command = move
	}
	return on[op.Lane].Decide(now, command)
}
