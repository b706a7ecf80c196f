package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/maintenance"
	"rangegate/config"
	"rangegate/lanes/store"
	"rangegate/lanes/store/archive"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/sqlite"
)

type storeCommands struct {
	Check  storeCheck  `cmd:"" help:"Read all records of the store and list the unreadable ones. Changes nothing."`
	Export storeExport `cmd:"" help:"Write all records of the store as JSON lines, customers' names included."`
	Import storeImport `cmd:"" help:"Write the ranges of an export to a store without them."`
	Backup storeBackup `cmd:"" help:"Copy the SQLite file to a new file, also beside a running gateway, and check the copy."`

	Forget    storeForget    `cmd:"" help:"Remove everything of a range that the configuration does not have any more, customers' names included."`
	NewSecret storeNewSecret `cmd:"" help:"Make a new secret for the sign-ins of staff: everybody is signed out, also of running gateways."`
}

// source is a store that is only read, target one that ranges are imported to, or forgotten in.
type (
	source interface {
		archive.Source
		Describe() string
		Close() error
	}
	target interface {
		archive.Target
		store.Forgetter
		Close() error
	}
)

func openSource(ctx context.Context, c config.Store) (source, error) {
	if c.Redis == "" {
		return sqlite.OpenReader(c.SQLite)
	}
	return redis.OpenReader(ctx, c.Redis.Reveal())
}

// openTarget opens the store without retention: an import keeps every record, and the gateway trims later.
func openTarget(ctx context.Context, c config.Store) (target, error) {
	if c.Redis == "" {
		return sqlite.Open(c.SQLite, store.Retention{})
	}
	return redis.Open(ctx, c.Redis.Reveal(), store.Retention{})
}

// storeConfig names the store of a command.
type storeConfig struct {
	Config string `required:"" placeholder:"FILE" help:"The configuration that names the store."`
}

func (s storeConfig) load(t *terminal) (config.Config, error) {
	cfg, err := config.Load(s.Config, t.environ)
	if err != nil {
		return cfg, gateway.Misconfigured{Err: err}
	}
	return cfg, nil
}

// read opens the store for do, and closes it.
func (s storeConfig) read(t *terminal, do func(config.Config, source) error) error {
	cfg, err := s.load(t)
	if err != nil {
		return err
	}
	from, err := openSource(t.ctx, cfg.Store)
	if err != nil {
		return err
	}
	return errors.Join(do(cfg, from), from.Close())
}

type storeCheck struct{ storeConfig }

// Run prints the contents of every range, each followed by its unreadable records.
func (s storeCheck) Run(t *terminal) error {
	return s.read(t, func(cfg config.Config, from source) error { return checkAll(t, cfg, from) })
}

func checkAll(t *terminal, cfg config.Config, from source) error {
	ids, err := from.Ranges(t.ctx)
	if err != nil {
		return err
	}
	t.printf("%s, ranges: %d\n", from.Describe(), len(ids))
	return maintenance.Check(t.ctx, from, ids, func(id uuid.UUID, contents archive.Contents, faults []error) {
		t.printf("range %s%s: %s\n", id, nameOf(cfg, id), describe(contents))
		for _, fault := range faults {
			t.printf("  %v\n", fault)
		}
	})
}

// nameOf returns the range's name in the configuration.
func nameOf(cfg config.Config, id uuid.UUID) string {
	for _, r := range cfg.Ranges {
		if r.ID == id {
			return fmt.Sprintf(" %q", r.Name)
		}
	}
	return " (not in the configuration)"
}

func describe(c archive.Contents) string {
	checkpoint := "never"
	if !c.LastSeen.IsZero() {
		checkpoint = c.LastSeen.Format(time.RFC3339)
	}
	return fmt.Sprintf("epoch %d, last checkpoint %s, lanes: %d, active sessions: %d, open purchases: %d, holds: %d, "+
		"events: %d (pending: %d), ended sessions: %d, acts of staff: %d, idempotency keys: %d", c.Meta.Epoch,
		checkpoint, c.Lanes,
		c.Sessions, c.Purchases, c.Holds, c.Events, c.Pending, c.Ended, c.Acts, c.Keys)
}

type storeExport struct {
	storeConfig
	Out string `placeholder:"FILE" help:"A new file that only its owner may read; without it standard output."`
}

// Run writes the export, and removes an incomplete file.
func (s storeExport) Run(t *terminal) error {
	return s.read(t, func(_ config.Config, from source) error {
		if s.Out == "" {
			return export(t, from, t.out)
		}
		file, err := os.OpenFile(s.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(export(t, from, file), file.Sync(), file.Close()); err != nil {
			return errors.Join(err, os.Remove(s.Out))
		}
		return nil
	})
}

func export(t *terminal, from source, to io.Writer) error {
	all, err := archive.Export(t.ctx, from, time.Now(), to)
	if err != nil {
		return err
	}
	for _, contents := range all {
		t.logf("exported range %s: %s\n", contents.Range, describe(contents))
	}
	return nil
}

type storeImport struct {
	storeConfig
	File string `arg:"" help:"The export."`
}

// Run reads the whole file before it opens the store.
func (s storeImport) Run(t *terminal) (err error) {
	cfg, err := s.load(t)
	if err != nil {
		return err
	}
	file, err := os.Open(s.File)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	exported, err := archive.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", s.File, err)
	}
	to, err := openTarget(t.ctx, cfg.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return exported.Import(t.ctx, to, time.Now(), func(contents archive.Contents) {
		t.printf("imported range %s: %s\n", contents.Range, describe(contents))
	})
}

type storeBackup struct {
	storeConfig
	File string `arg:"" help:"A new file that only its owner may read."`
}

// Run copies the file, and keeps the copy only if every record in it can be read.
func (s storeBackup) Run(t *terminal) error {
	cfg, err := s.load(t)
	if err != nil {
		return err
	}
	if cfg.Store.Redis != "" {
		return maintenance.ErrRedis
	}
	return sqlite.Backup(t.ctx, cfg.Store.SQLite, s.File, func(copied *sqlite.Reader) error {
		return checkAll(t, cfg, backup{copied, s.File})
	})
}

// backup describes the copy by its final name, which it gets after the check.
type backup struct {
	*sqlite.Reader
	path string
}

func (b backup) Describe() string {
	return strings.Replace(b.Reader.Describe(), b.path+".new", b.path, 1)
}

type storeNewSecret struct{ storeConfig }

// Run makes a new secret. A gateway that runs uses it within gateway.RefreshEvery.
func (s storeNewSecret) Run(t *terminal) error {
	cfg, err := s.load(t)
	if err != nil {
		return err
	}
	if err := newSecret(t.ctx, cfg.Store); err != nil {
		return err
	}
	t.printf("a new secret: a running gateway uses it within %v, and all staff have to sign in again\n",
		gateway.RefreshEvery)
	return nil
}

func newSecret(ctx context.Context, c config.Store) error {
	if c.Redis == "" {
		beside, err := sqlite.SignInsBeside(c.SQLite)
		if err != nil {
			return err
		}
		return beside.NewSecret(ctx)
	}
	s, err := redis.Open(ctx, c.Redis.Reveal(), store.Retention{})
	if err != nil {
		return err
	}
	return errors.Join(s.SignIns().NewSecret(ctx), s.Close())
}
