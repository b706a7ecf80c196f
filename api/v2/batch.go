package v2

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// BatchPath is that of a batch, MaxOperations how many operations it has at most, MaxBatchBody its maximum size in
// bytes.
const (
	BatchPath     = "/sessions/batch"
	MaxOperations = 200
	MaxBatchBody  = 1 << 20
)

// BatchView is what a batch came to, as the wire shows it.
type BatchView struct {
	Results []OperationResult `json:"results" doc:"One for each operation, in their order"`
}

// OperationResult is what one operation of a batch came to.
type OperationResult struct {
	endpoint.Part
	Session *SessionView `json:"session,omitempty" doc:"After the operation; not where that was refused or has ended the session"`
}

// readBatch reads a batch. What cannot be, whatever the lanes are, is a fault: see impossible.
func readBatch(in *endpoint.Input) lanes.Batch {
	in.UpTo(MaxBatchBody)
	operations := endpoint.Objects(in, "operations", MaxOperations,
		"The operations, in their order, each with the fields of its own request",
		"op", exampleOperations,
		endpoint.Form[lanes.Operation]{Word: "create", Description: "Sell time on a lane", Read: readBatchSale},
		onSession("modify", "Add minutes, or take minutes away", func(in *endpoint.Input, id uuid.UUID) lanes.Command {
			return lanes.Modify{
				Session: id,
				Minutes: in.Signed("time", wellFormedMinutes, "Minutes to add, or with a minus to take away", 15),
			}
		}),
		onSession("start", "Begin the time of a session that waits for its customer", readBegin),
		onSession("stop", "End a session", readStop),
		onSession("pause", "Stop a session's clock until it is resumed", readPause),
		onSession("resume", "Start a paused session's clock again", readResume),
		endpoint.Form[lanes.Operation]{
			Word: "move", Description: "Let a session go on in another lane",
			Read: readBatchMove,
		},
	)
	return lanes.Batch{
		Operations: operations,
		Atomic: in.Flag("atomic", false, "If true, all operations are done, or after a refusal none; if false, "+
			"each is done that can be, and the results say which were not"),
	}
}

var exampleOperations = []map[string]any{
	{"op": "stop", "session_id": endpoint.ExampleID},
	{"op": "create", "customer_name": "Jo Smith", "duration": 60, "lane_id": ExampleLane, "group_id": ExampleGroup},
}

func readBatchSale(in *endpoint.Input) lanes.Operation {
	sale := readSale(in)
	sale.Command.Session = uuid.New()
	return lanes.Operation{Lane: sale.Lane, Command: sale.Command}
}

func readBatchMove(in *endpoint.Input) lanes.Operation {
	id := in.ID("session_id", "The session", endpoint.ExampleID)
	return lanes.Operation{
		Session: id, Command: lanes.Move{Session: id},
		To: in.ID("lane_id", "Lane to go on in: free by then, accessible and usable",
			"44444444-4444-4444-8444-000000000002"),
	}
}

// onSession is the form of a command to a session.
func onSession(word, description string,
	read func(in *endpoint.Input, id uuid.UUID) lanes.Command,
) endpoint.Form[lanes.Operation] {
	return endpoint.Form[lanes.Operation]{
		Word: word, Description: description,
		Read: func(in *endpoint.Input) lanes.Operation {
			id := in.ID("session_id", "The session", endpoint.ExampleID)
			return lanes.Operation{Session: id, Command: read(in, id)}
		},
	}
}

// impossible are the faults of operations that no lane could carry out, or not after those before them: about a
// session that one of those stops, or on a lane that one of those sells. The id of that session is not known yet, so
// nothing in the batch can free the lane again.
func impossible(layout lanes.Layout, batch lanes.Batch) endpoint.Faults {
	faults := endpoint.Faults{}
	stopped, sold := map[uuid.UUID]int{}, map[uuid.UUID]int{}
	for i, op := range batch.Operations {
		if by, found := stopped[op.Session]; found {
			faults[fmt.Sprintf("operations[%d].session_id", i)] = fmt.Sprintf("is stopped by operations[%d]", by)
			continue
		}
		wanted := op.To
		switch command := op.Command.(type) {
		case lanes.Stop:
			stopped[op.Session] = i
		case lanes.Create:
			for field, sentence := range CheckSale(layout, command) {
				faults[fmt.Sprintf("operations[%d].%s", i, field)] = sentence
			}
			wanted = op.Lane
		}
		if wanted == uuid.Nil {
			continue
		}
		if by, found := sold[wanted]; found {
			faults[fmt.Sprintf("operations[%d].lane_id", i)] = fmt.Sprintf("is sold by operations[%d]", by)
		} else if op.To == uuid.Nil {
			sold[wanted] = i
		}
	}
	return faults
}

func (h Handlers) batch(ctx context.Context, batch lanes.Batch,
	key *lanes.KeyOf[[]lanes.BatchResult],
) ([]lanes.BatchResult, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	if faults := impossible(r.Layout(), batch); len(faults) > 0 {
		return nil, faults
	}
	return r.Batch(ctx, batch, key)
}

func (h Handlers) showBatch(batch lanes.Batch, results []lanes.BatchResult) BatchView {
	view := BatchView{Results: make([]OperationResult, len(results))}
	for i, result := range results {
		shown := &view.Results[i]
		if result.Err != nil {
			shown.Part = h.Errors.Part(i, result.Err)
			continue
		}
		shown.Part = endpoint.Part{Index: i, Status: http.StatusNoContent}
		if _, sale := batch.Operations[i].Command.(lanes.Create); sale {
			shown.Status = http.StatusCreated
		}
		if result.Session != nil {
			shown.Session = new(ViewOf(result.Session))
		}
	}
	return view
}

func (h Handlers) batchEndpoint() endpoint.Endpoint {
	return endpoint.Command("POST", BatchPath, 200, "Several operations in one request", readBatch,
		h.batch, h.showBatch,
		commandCodes("batch_refused", "session_not_found", "store_unavailable")...).
		Describe("What belongs together, as two customers who change lanes, or what comes at once, as the end of " +
			"an evening. The operations are decided in their order, each on what those before it have made of its " +
			"lane, and saved in one write: after a crash all of them are there, or none. Moves of different sessions " +
			"that stand one after the other are made at once, so that two sessions can change places. Refused with " +
			"`atomic`, none is done: `results` names every operation that is refused, and the key is free again. " +
			"Without `atomic` the answer has a result for each. Stops and pauses lock the lane at once, as their " +
			"own requests do.").
		Example(BatchView{[]OperationResult{
			{Part: endpoint.Part{Index: 0, Status: http.StatusNoContent}},
			{Part: endpoint.Part{
				Index: 1, Status: http.StatusConflict, Code: lanes.ErrLaneOccupied.Code(),
				Error: lanes.ErrLaneOccupied.Error(),
			}},
		}})
}
