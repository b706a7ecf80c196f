package actors

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
)

// Batches are several operations in one request. Its methods may be called from any goroutine.
type Batches struct{ r *Range }

// Batch carries out the operations in their order, in one write, as lanes.DecideTogether says. An atomic one is done as
// a whole or refused: lanes.Refusals; of another one each operation is done that can be, and the results say why the
// others were not. Its stops and pauses close the fire line at once; where the batch cannot be saved, they are carried
// out all the same, one by one: ErrNotSaved. Errors: lanes.Refusals, those that every method of Range may return, and
// with a key those of idempotency.Once.
func (b *Batches) Batch(
	ctx context.Context, batch lanes.Batch, key *lanes.KeyOf[[]lanes.BatchResult],
) (results []lanes.BatchResult, err error) {
	err = b.r.onceTogether(ctx, key.Of(&results), func(claim *idempotency.Claim) (saving bool, err error) {
		t := b.r.newTogether(ctx, posRequester(ctx), b.onBoard(batch.Operations), claim)
		t.plan = func() ([]lanes.Operation, error) { return b.plan(ctx, batch.Operations) }
		t.each = !batch.Atomic
		saving, err = t.run(func(decided []lanes.Decided) { results = resultsOf(decided) })
		return saving, t.ofClosed(err)
	})
	return results, err
}

// onBoard returns the operations with the lanes of the sessions that are on one, without a lane where the store has to
// be asked.
func (b *Batches) onBoard(batch []lanes.Operation) []lanes.Operation {
	ops := slices.Clone(batch)
	for i, op := range ops {
		if lane, found := b.r.board.Find(op.Session); found && op.Session != uuid.Nil {
			ops[i].Lane = lane.ID
		}
	}
	return ops
}

// plan returns the operations with their lanes, and those that are refused because there is none. Errors: those that
// every method of Range may return.
func (b *Batches) plan(ctx context.Context, batch []lanes.Operation) ([]lanes.Operation, error) {
	planned := make([]lanes.Operation, len(batch))
	for i, op := range batch {
		op.By = lanes.ByPOS
		create, creates := op.Command.(lanes.Create)
		switch {
		case creates && !b.r.Layout().HasGroup(create.Group):
			op.Refusal = lanes.ErrGroupNotFound
		case creates && !b.r.board.Has(op.Lane), op.To != uuid.Nil && !b.r.board.Has(op.To):
			op.Refusal = lanes.ErrLaneNotFound
		case op.Session != uuid.Nil:
			op.Lane, op.Refusal = b.laneOf(ctx, op.Session)
		}
		if isPassing(op.Refusal) {
			return nil, op.Refusal
		}
		planned[i] = op
	}
	return planned, nil
}

// laneOf returns the lane that the session is on. Errors: those of Range.Session.
func (b *Batches) laneOf(ctx context.Context, session uuid.UUID) (uuid.UUID, error) {
	if lane, found := b.r.board.Find(session); found {
		return lane.ID, nil
	}
	_, err := b.r.Session(ctx, session)
	return uuid.Nil, cmp.Or(err, error(lanes.ErrSessionNotFound))
}

func resultsOf(decided []lanes.Decided) []lanes.BatchResult {
	results := make([]lanes.BatchResult, len(decided))
	for i, d := range decided {
		results[i].Err = d.Err
		if d.Err == nil && d.Change.Ended == nil {
			results[i].Session = d.Change.Answer
		}
	}
	return results
}
