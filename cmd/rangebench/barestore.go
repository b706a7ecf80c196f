package main

import (
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"

	goredis "github.com/redis/go-redis/v9"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"rangegate/lanes/store"
)

// entry is a record with its key.
type entry struct {
	bucket string
	key    []byte
	value  []byte
}

// bareStore is the database of a store without the store's code. write writes its records in one transaction
// and returns when they are durable. It has one caller at a time.
type bareStore interface {
	write(records []entry) error
	// read gives every record of a bucket. The value is valid during the call.
	read(bucket string, each func(value []byte) error) error
	close() error
}

var buckets = []string{"lanes", "events", "history"}

func (d *disk) bare() (bareStore, error) {
	if d.kind == redisStore {
		return bareRedis{goredis.NewClient(&goredis.Options{Addr: d.server.Address, PoolSize: 2})}, nil
	}
	return openBareSQLite(filepath.Join(d.dir, "bare.db"))
}

// bareSQLite is a connection with a writing statement for each bucket.
type bareSQLite struct {
	connection *sqlite.Conn
	upserts    map[string]*sqlite.Stmt
}

// openBareSQLite makes every bucket a table. The file syncs and caches as the gateway's store does.
func openBareSQLite(path string) (bareStore, error) {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(0) // the library's default has no limit
	once := []string{
		"PRAGMA synchronous = FULL",
		"PRAGMA wal_autocheckpoint = 4000", // SQLite checkpoints in the commit that reaches that many pages
		"PRAGMA cache_size = -16384",       // 16 MiB
	}
	for _, name := range buckets { // WITHOUT ROWID: one tree for each table
		once = append(once, "CREATE TABLE IF NOT EXISTS "+name+
			" (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
	}
	for _, statement := range once {
		if err := sqlitex.ExecuteTransient(c, statement, nil); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	b := bareSQLite{c, map[string]*sqlite.Stmt{}}
	for _, name := range buckets {
		const upsert = " (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
		if b.upserts[name], err = c.Prepare("INSERT INTO " + name + upsert); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return b, nil
}

func (b bareSQLite) write(records []entry) (err error) {
	end, err := sqlitex.ImmediateTransaction(b.connection)
	if err != nil {
		return err
	}
	defer end(&err)
	for _, r := range records {
		upsert := b.upserts[r.bucket]
		upsert.BindBytes(1, r.key)
		upsert.BindBytes(2, r.value)
		if _, err := upsert.Step(); err != nil {
			return err
		}
		if err := upsert.Reset(); err != nil {
			return err
		}
	}
	return nil
}

func (b bareSQLite) read(bucket string, each func(value []byte) error) error {
	var value []byte
	return sqlitex.Execute(b.connection, "SELECT value FROM "+bucket,
		&sqlitex.ExecOptions{ResultFunc: func(row *sqlite.Stmt) error {
			size := row.ColumnLen(0)
			value = slices.Grow(value[:0], size)[:size]
			row.ColumnBytes(0, value)
			return each(value)
		}})
}

func (b bareSQLite) close() error { return b.connection.Close() }

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

// recordsOf returns a batch as the records that the store would write.
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

// groupCommit is the simplest committer: entries that wait are written together.
type groupCommit struct {
	to    bareStore
	queue chan waiting
	ended chan struct{}
}

type waiting struct {
	records []entry
	done    chan error
}

const maxBatch = 512 // entries in one write

func newGroupCommit(to bareStore) *groupCommit {
	g := &groupCommit{to: to, queue: make(chan waiting, maxBatch), ended: make(chan struct{})}
	go g.run()
	return g
}

func (g *groupCommit) run() {
	defer close(g.ended)
	for first := range g.queue {
		group := []waiting{first}
		records := first.records
		for more := true; more && len(group) < maxBatch; {
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
