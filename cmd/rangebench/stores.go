package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"rangegate/cmd/rangecluster/localcluster"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/sqlite"
)

// storeKind is a store that the gateway can have.
type storeKind string

const (
	sqliteStore storeKind = "sqlite"
	redisStore  storeKind = "redis"
)

// disk is the directory of a store in this run and, for Redis, a server that syncs every write before its reply.
type disk struct {
	kind   storeKind
	dir    string
	server *localcluster.Redis
}

func newDisk(kind storeKind) (d *disk, err error) {
	d = &disk{kind: kind}
	if d.dir, err = os.MkdirTemp("", "rangebench-"); err != nil {
		return nil, err
	}
	if kind == redisStore {
		d.server, err = localcluster.StartRedis(d.dir)
		if errors.Is(err, localcluster.ErrNoRedis) {
			err = &notMeasured{err.Error()}
		}
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(d.dir))
		}
	}
	return d, nil
}

// open opens the gateway's store on the disk.
func (d *disk) open() (store.Store, error) {
	const long = 24 * time.Hour
	keep := store.Retention{Events: long, History: long, Names: long, Cap: 1_000_000}
	if d.kind == redisStore {
		return redis.Open(context.Background(), "redis://"+d.server.Address+"/0", keep)
	}
	return sqlite.Open(filepath.Join(d.dir, "range.db"), keep)
}

// remove stops the server and removes the directory.
func (d *disk) remove() error {
	if d.server != nil {
		d.server.Stop()
	}
	return os.RemoveAll(d.dir)
}
