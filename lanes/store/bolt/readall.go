package bolt

import (
	"errors"
	"fmt"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// readAll tells of every record of the range.
func (r *rangeTx) readAll(visit func(store.Record) error) error {
	err := r.readMeta(visit)
	for _, kind := range []struct {
		bucket string
		read   func(key, value []byte) store.Record
	}{
		{lanesBucket, func(key, value []byte) store.Record {
			return recordOf[lanes.Snapshot]("lane "+idText(key), key, value)
		}},
		{keysBucket, func(key, value []byte) store.Record {
			return recordOf[lanes.KeptAnswer](fmt.Sprintf("idempotency key %q", key), key, value)
		}},
		{holdsBucket, func(key, value []byte) store.Record { return recordOf[lanes.Holds]("holds", key, value) }},
		{eventsBucket, r.readEvent},
		{pendingBucket, r.readPending},
		{historyBucket, r.readEnded},
		{sessionsBucket, r.readSession},
		{actsBucket, func(key, value []byte) store.Record {
			return recordOf[lanes.Act]("act "+cursorText(key), key, value)
		}},
	} {
		if err == nil {
			err = r.readBucket(kind.bucket, kind.read, visit)
		}
	}
	return err
}

func (r *rangeTx) readMeta(visit func(store.Record) error) error {
	const name = "the range's record of itself"
	own, err := decode[meta](metaKey, r.get(ownPlace, metaKey))
	if err != nil {
		return visit(store.Record{Name: name, Err: err})
	}
	err = visit(store.Record{Name: name, Value: store.Standing{
		Epoch: own.Epoch, N: own.N, LastEvent: own.LastEvent, LastEnded: own.LastEnded, LastAct: own.LastAct,
	}})
	if err == nil && own.Checkpoint != nil {
		err = visit(store.Record{Name: "checkpoint", Value: *own.Checkpoint})
	}
	return err
}

// readBucket tells of what the bucket has. A record without a name is of no interest.
func (r *rangeTx) readBucket(
	bucket string, read func(key, value []byte) store.Record, visit func(store.Record) error,
) error {
	for key, value := range r.from(bucket, nil) {
		if record := read(key, value); record.Name != "" {
			if err := visit(record); err != nil {
				return err
			}
		}
	}
	return nil
}

// has tells whether the bucket has the key.
func (r *rangeTx) has(bucket string, key []byte) bool { return r.get(bucket, key) != nil }

func recordOf[T any](name string, key, value []byte) store.Record {
	v, err := decode[T](key, value)
	if err != nil {
		return store.Record{Name: name, Err: err}
	}
	return store.Record{Name: name, Value: v}
}

func (r *rangeTx) readEvent(key, value []byte) store.Record {
	record := recordOf[lanes.Logged]("event "+cursorText(key), key, value)
	if event, readable := record.Value.(lanes.Logged); readable {
		switch pending := r.has(pendingBucket, key); {
		case pending && event.Attempt != nil:
			record.Err = errors.New("it was attempted, and stands among the pending ones")
		case !pending && event.Attempt == nil:
			record.Err = errors.New("it is pending, and does not stand among the pending ones")
		}
	}
	return record
}

func (r *rangeTx) readPending(key, _ []byte) store.Record {
	if r.has(eventsBucket, key) {
		return store.Record{}
	}
	return store.Record{Name: "event " + cursorText(key), Err: errors.New("it is pending, and there is no such event")}
}

func (r *rangeTx) readEnded(key, value []byte) store.Record {
	record := recordOf[lanes.Ended]("ended session "+cursorText(key), key, value)
	if ended, readable := record.Value.(lanes.Ended); readable && !r.has(sessionsBucket, ended.Session.ID[:]) {
		record.Err = fmt.Errorf("session %s would not be found by its id", ended.Session.ID)
	}
	return record
}

func (r *rangeTx) readSession(session, value []byte) store.Record {
	cursor, err := unseal(session, value)
	if err == nil && !r.has(historyBucket, cursor) {
		err = errors.New("there is no such ended session: " + cursorText(cursor))
	}
	if err != nil {
		return store.Record{Name: "session " + idText(session), Err: err}
	}
	return store.Record{}
}

// cursorText is the cursor that a key is, or the key where damage has made it none.
func cursorText(key []byte) string {
	if len(key) == 8 {
		return fmt.Sprint(cursorOf(key))
	}
	return fmt.Sprintf("%x", key)
}
