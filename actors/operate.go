package actors

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"rangegate/actors/logline"
	"rangegate/actors/supervised"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// What operators do with the actors of a range. Each action is on record, and none of them opens a fire line or ends
// a hold.

// errReconnected is no failure: an operator wants it.
var errReconnected = errors.New("the link is made anew, as an operator wants it")

// Reconnect has the link to the lane's hardware made anew, on record for who. Meanwhile the hardware does what it
// does without a gateway, and gets the state that is wanted of it once the link is up again: what is held stays held.
// Errors: lanes.ErrLaneNotFound, those that every method of Range may return.
func (o *Observer) Reconnect(ctx context.Context, who string, lane uuid.UUID) error {
	if err := o.has(lane); err != nil {
		return err
	}
	o.r.addresses.sendTo(lane, &renewLink{errReconnected})
	o.note(ctx, who, lane, lanes.DidReconnect, "an operator has a link made anew")
	return nil
}

// UnparkLane has a parked lane tried again at once, on record for who. Its hardware stays held until the last saved
// state is loaded; a lane that panics again is parked again. Errors: lanes.ErrNotParked, lanes.ErrLaneNotFound, those
// that every method of Range may return.
func (o *Observer) UnparkLane(ctx context.Context, who string, lane uuid.UUID) error {
	m := &unparkNow{newOperatorRequest()}
	if err := o.send(ctx, lane, m, m.reply); err != nil {
		return err
	}
	o.note(ctx, who, lane, lanes.DidUnpark, "an operator has a parked lane tried again")
	return nil
}

// RestartLane has the lane begin a new life from its last saved state, on record for who, as after a panic that nobody
// counts. A change that is being saved is waited for, and a stop or a pause that waits for it is decided in the new
// life: what is closed stays closed. Errors: lanes.ErrLaneParked, lanes.ErrLaneNotFound, those that every method of
// Range may return.
func (o *Observer) RestartLane(ctx context.Context, who string, lane uuid.UUID) error {
	m := &restartLane{newOperatorRequest()}
	if err := o.send(ctx, lane, m, m.reply); err != nil {
		return err
	}
	o.note(ctx, who, lane, lanes.DidRestart, "an operator has a lane restarted")
	return nil
}

// RedeliverEvents has the selected events sent to their webhook again, on record for who, as Redeliver does, whose
// errors it returns.
func (o *Observer) RedeliverEvents(
	ctx context.Context, who string, selection lanes.EventSelection,
) (lanes.Redelivery, error) {
	if err := context.Cause(o.r.life); err != nil {
		return lanes.Redelivery{}, err
	}
	result, err := o.r.Redeliver(trace.WithWho(ctx, who), selection, nil)
	if err == nil {
		logline.Traced(o.r.log.Info().Str("who", who).Str("webhook", selection.Webhook), trace.ID(ctx)).
			Uint64("after", selection.After).
			Uint64("until", selection.Until).Int("events", result.Events).Msg("an operator has events sent again")
	}
	return result, err
}

// NoteWebhookTest puts on record that who has had a webhook tested, and logs what came of it; an empty problem: it is
// reached. Errors: those that every method of Range may return.
func (o *Observer) NoteWebhookTest(ctx context.Context, who, webhook, problem string) error {
	if err := context.Cause(o.r.life); err != nil {
		return err
	}
	line := logline.Traced(o.r.log.Info().Str("who", who).Str("webhook", webhook), trace.ID(ctx)).
		Bool("reached", problem == "")
	if problem != "" {
		line = line.Str("error", problem)
	}
	line.Msg("an operator has a webhook tested")
	o.r.record(ctx, lanes.Act{Who: who, What: lanes.DidTestWebhook, Detail: webhook})
	return nil
}

// NoteDebug puts on record that who has the range logged at debug for a while, or only a lane of it. Errors:
// lanes.ErrLaneNotFound, those that every method of Range may return.
func (o *Observer) NoteDebug(ctx context.Context, who string, lane uuid.UUID) error {
	if err := context.Cause(o.r.life); err != nil {
		return err
	}
	if lane != uuid.Nil && !o.r.board.Has(lane) {
		return lanes.ErrLaneNotFound
	}
	o.r.record(ctx, lanes.Act{Who: who, What: lanes.DidDebug, Lane: lane})
	return nil
}

// NoteOperation puts on record that who does what to the whole range or to its store, such as lanes.DidBackup. Errors:
// those that every method of Range may return.
func (o *Observer) NoteOperation(ctx context.Context, who, what, detail string) error {
	if err := context.Cause(o.r.life); err != nil {
		return err
	}
	o.r.record(ctx, lanes.Act{Who: who, What: what, Detail: detail})
	return nil
}

// NoteNames puts on record that who reads the names in the lane's snapshot, with that session on it. Errors:
// lanes.ErrLaneNotFound, those that every method of Range may return.
func (o *Observer) NoteNames(ctx context.Context, who string, lane, session uuid.UUID) error {
	if err := o.has(lane); err != nil {
		return err
	}
	logline.Traced(o.r.named.Of(o.r.log.Info(), lane).Str("who", who), trace.ID(ctx)).
		Msg("an operator reads a lane's snapshot with names")
	o.r.record(ctx, lanes.Act{Who: who, What: lanes.DidReadNames, Lane: lane, Session: session})
	return nil
}

// has returns why an operator can do nothing with the lane.
func (o *Observer) has(lane uuid.UUID) error {
	switch err := context.Cause(o.r.life); {
	case err != nil:
		return err
	case !o.r.board.Has(lane):
		return lanes.ErrLaneNotFound
	}
	return nil
}

// send sends the lane an operator's message and waits for the reply.
func (o *Observer) send(ctx context.Context, lane uuid.UUID, message any, reply <-chan error) error {
	if err := o.has(lane); err != nil {
		return err
	}
	o.r.addresses.sendTo(lane, message)
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return lanes.ErrTimeout
	case <-o.r.life.Done():
		return context.Cause(o.r.life)
	}
}

// note logs what an operator does with a lane, and puts it on record.
func (o *Observer) note(ctx context.Context, who string, lane uuid.UUID, what, message string) {
	logline.Traced(o.r.named.Of(o.r.log.Info(), lane).Str("who", who), trace.ID(ctx)).Msg(message)
	o.r.record(ctx, lanes.Act{Who: who, What: what, Lane: lane})
}

// The messages of an operator to a lane.
type (
	unparkNow   struct{ operatorRequest }
	restartLane struct{ operatorRequest }
)

// operatorRequest is awaited by an operator. The reply nil says that it is done.
type operatorRequest struct {
	supervised.Taken
	reply chan error // of one
}

func newOperatorRequest() operatorRequest { return operatorRequest{reply: make(chan error, 1)} }

// Refuse implements supervised.Awaited.
func (m *operatorRequest) Refuse(reason error) { m.reply <- reason }
