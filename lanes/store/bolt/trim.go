package bolt

import (
	"encoding/binary"

	"go.etcd.io/bbolt"

	"rangegate/lanes/store"
)

// trimStep is how many records a flush trims at most, beyond twice what it added: a little at a time, and always more
// than comes in.
const trimStep = 16

// trim takes away what is past its term or beyond the cap, oldest first. It stops at a record that cannot be read.
func (s *Store) trim(b *bbolt.Bucket, batch store.Batch, m *meta) error {
	if err := s.trimEvents(b, batch, m); err != nil {
		return err
	}
	if err := s.trimHistory(b, batch, m); err != nil {
		return err
	}
	return s.trimNames(b, batch, m)
}

func (s *Store) trimEvents(b *bbolt.Bucket, batch store.Batch, m *meta) error {
	pending := b.Bucket(pendingBucket)
	c := b.Bucket(eventsBucket).Cursor()
	for range trimStep + 2*len(batch.Events) {
		key, value := c.First()
		if key == nil || pendingHas(pending, key) {
			return nil
		}
		event, err := s.event(key, value)
		if err != nil {
			return nil // whoever reads it is told; nothing that is new has to wait for it
		}
		if m.Events <= s.retention.Cap && batch.Now.Sub(event.Event.At) <= s.retention.Events {
			return nil
		}
		if err := c.Delete(); err != nil {
			return err
		}
		m.Events--
	}
	return nil
}

func pendingHas(pending *bbolt.Bucket, key []byte) bool {
	found, _ := pending.Cursor().Seek(key)
	return string(found) == string(key)
}

func (s *Store) trimHistory(b *bbolt.Bucket, batch store.Batch, m *meta) error {
	c := b.Bucket(historyBucket).Cursor()
	for range trimStep + 2*len(batch.Ended) {
		key, value := c.First()
		if key == nil {
			return nil
		}
		ended, err := s.ended(key, value)
		if err != nil {
			return nil
		}
		if m.History <= s.retention.Cap && batch.Now.Sub(ended.At) <= s.retention.History {
			return nil
		}
		if err := b.Bucket(sessionBucket).Delete(ended.Session.ID[:]); err != nil {
			return err
		}
		if err := c.Delete(); err != nil {
			return err
		}
		m.History--
	}
	return nil
}

// trimNames empties the customers' names in the history once their own term is over.
func (s *Store) trimNames(b *bbolt.Bucket, batch store.Batch, m *meta) error {
	history := b.Bucket(historyBucket)
	for range trimStep + 2*len(batch.Ended) {
		key, value := history.Cursor().Seek(cursorKey(m.Nameless + 1))
		if key == nil {
			return nil
		}
		ended, err := s.ended(key, value)
		if err != nil {
			return nil
		}
		if batch.Now.Sub(ended.At) <= s.retention.Names {
			return nil
		}
		m.Nameless = binary.BigEndian.Uint64(key)
		ended.Session.Customer = ""
		if err := put(history, cursorKey(m.Nameless), ended); err != nil {
			return err
		}
	}
	return nil
}
