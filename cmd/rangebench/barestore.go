package main

import (
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"

	goredis "github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"rangegate/lanes/store"
)

// entry is what a store keeps of something, under a key.
type entry struct {
	bucket string
	key    []byte
	value  []byte
}

// bareStore is the database of a store and nothing of ours: the records of one call are written together, and durable
// when it returns.
type bareStore interface {
	write(records []entry) error
	// read gives every record of a bucket.
	read(bucket string, each func(value []byte) error) error
	close() error
}

var buckets = []string{"lanes", "events", "history"}

func (d *disk) bare() (bareStore, error) {
	if d.kind == redisStore {
		return bareRedis{goredis.NewClient(&goredis.Options{Addr: d.address(), PoolSize: 2})}, nil
	}
	db, err := bbolt.Open(filepath.Join(d.dir, "bare.db"), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return bareBolt{db}, nil
}

type bareBolt struct{ db *bbolt.DB }

func (b bareBolt) write(records []entry) error {
	return b.db.Update(func(tx *bbolt.Tx) error {
		for _, r := range records {
			if err := tx.Bucket([]byte(r.bucket)).Put(r.key, r.value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b bareBolt) read(bucket string, each func(value []byte) error) error {
	return b.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucket)).ForEach(func(_, value []byte) error { return each(value) })
	})
}

func (b bareBolt) close() error { return b.db.Close() }

type bareRedis struct{ client *goredis.Client }

func (b bareRedis) write(records []entry) error {
	_, err := b.client.TxPipelined(context.Background(), func(pipe goredis.Pipeliner) error {
		for _, r := range records {
			pipe.HSet(context.Background(), r.bucket, string(r.key), r.value)
		}
		return nil
	})
	return err
}

func (b bareRedis) read(bucket string, each func(value []byte) error) error {
	all, err := b.client.HVals(context.Background(), bucket).Result()
	if err != nil {
		return err
	}
	for _, value := range all {
		if err := each([]byte(value)); err != nil {
			return err
		}
	}
	return nil
}

func (b bareRedis) close() error { return b.client.Close() }

// recordsOf is what a batch is as records: as they are in the store, encoded as there.
func recordsOf(batch store.Batch) (all []entry, err error) {
	add := func(bucket string, key []byte, value any) {
		encoded, failed := store.Encode(value)
		err = errors.Join(err, failed)
		all = append(all, entry{bucket, key, encoded})
	}
	for i := range batch.Lanes {
		add("lanes", batch.Lanes[i].ID[:], batch.Lanes[i])
	}
	for _, event := range batch.Events {
		add("events", cursorKey(event.Cursor), event)
	}
	for _, ended := range batch.Ended {
		add("history", cursorKey(ended.Cursor), ended)
	}
	return all, err
}

func cursorKey(cursor uint64) []byte { return binary.BigEndian.AppendUint64(nil, cursor) }

// groupCommit is the committer that everyone writes first: what waits is written together, and told when it is durable.
type groupCommit struct {
	to    bareStore
	queue chan waiting
	ended chan struct{}
}

type waiting struct {
	records []entry
	done    chan error
}

const together = 512 // that wait are written in one go

func newGroupCommit(to bareStore) *groupCommit {
	g := &groupCommit{to: to, queue: make(chan waiting, together), ended: make(chan struct{})}
	go g.run()
	return g
}

func (g *groupCommit) run() {
	defer close(g.ended)
	for first := range g.queue {
		group := []waiting{first}
		records := first.records
		for more := true; more && len(group) < together; {
			select {
			case next, open := <-g.queue:
				if more = open; open {
					group, records = append(group, next), append(records, next.records...)
				}
			default:
				more = false
			}
		}
		err := g.to.write(records)
		for _, one := range group {
			one.done <- err
		}
	}
}

func (g *groupCommit) save(records ...entry) error {
	one := waiting{records, make(chan error, 1)}
	g.queue <- one
	return <-one.done
}

func (g *groupCommit) close() {
	close(g.queue)
	<-g.ended
}
