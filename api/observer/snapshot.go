package observer

import (
	"context"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// snapshotOf is a lane whose snapshot is wanted, with the names of people or without.
type snapshotOf struct {
	laneOf
	names bool
}

func readSnapshot(in *endpoint.Input) snapshotOf {
	return snapshotOf{
		readLaneOf(in),
		in.QueryOneOf("names", "false", "With what names a person, on record", "true", "false") == "true",
	}
}

// snapshotView is a lane as it would be saved.
type snapshotView struct {
	At        string `json:"at"`
	RangeName string `json:"range"`
	laneName
	Names    bool            `json:"names"`   // false: what names a person is redacted
	Unsaved  *unsavedChanges `json:"unsaved"` // null: it is saved like that
	Snapshot lanes.Snapshot  `json:"snapshot"`
}

// snapshot shows what would be saved of a lane. Whoever wants it with names is on record.
func (s *observerOf) snapshot(ctx context.Context, of snapshotOf) (snapshotView, error) {
	r, err := s.running(of.laneOf)
	if err != nil {
		return snapshotView{}, err
	}
	snapshot, found := r.Snapshot(of.lane)
	health, loaded := r.LaneActor(of.lane)
	if !found || !loaded {
		return snapshotView{}, lanes.ErrLaneNotFound
	}
	layout := r.Layout()
	view := snapshotView{
		At: endpoint.Stamp(time.Now()), RangeName: layout.Name,
		laneName: laneName{layout.Range, of.lane, health.Link.Name}, Names: of.names,
		Snapshot: snapshot.WithoutSecrets(),
	}
	if health.Unsaved.Changes > 0 {
		view.Unsaved = &unsavedChanges{endpoint.Stamp(health.Unsaved.Since), health.Unsaved.Changes}
	}
	if !of.names {
		view.Snapshot = view.Snapshot.WithoutNames()
		return view, nil
	}
	var session uuid.UUID
	if snapshot.Session != nil {
		session = snapshot.Session.ID
	}
	return view, r.NoteNames(ctx, s.Who(ctx), of.lane, session)
}
