package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
)

// store is reachable, and keeps what it is given.
func (s Settings) store(ctx context.Context) []Finding {
	if c := s.Config.Store; c.Redis != "" {
		return redisServer(ctx, c.Redis.Reveal())
	}
	return append(sqliteFile(ctx, s.Config.Store.SQLite), folderOf(s.Config.Store.SQLite)...)
}

// sqliteFile looks whether the file opens, as the gateway will open it.
func sqliteFile(ctx context.Context, path string) []Finding {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []Finding{ok("store", "%s is not there yet; the gateway makes it", path)}
	case err != nil:
		return []Finding{{Fail, "store", err.Error(), "give the gateway's user the right to it: check as that user"}}
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
		return []Finding{{
			Fail, "store", fmt.Sprintf("%s cannot be read and written by %s: %v", path, user(), err),
			"give the file to the gateway's user (chown), and check as that user",
		}}
	}
	reader, err := sqlite.OpenReader(path)
	switch {
	case errors.Is(err, sqlite.ErrLocked):
		return []Finding{ok("store", "%s, %s, is open in a gateway that runs: what is in it was not read", path, size(uint64(info.Size())))}
	case errors.Is(err, store.ErrNewer):
		return []Finding{{Fail, "store", err.Error(), fmt.Sprintf("install the release that wrote it; this one reads records up to version %d", store.Version)}}
	case err != nil:
		return []Finding{{Fail, "store", err.Error(), "put a backup back, or see docs/store.md, When something is wrong with it"}}
	}
	defer func() { _ = reader.Close() }()
	ids, err := reader.Ranges(ctx)
	if err != nil {
		return []Finding{{Fail, "store", err.Error(), "rangegate store check names every record that cannot be read"}}
	}
	return []Finding{ok("store", "%s opens: %s, %s, readable by this release (version %d)", path, size(uint64(info.Size())), count(len(ids), "range"), store.Version)}
}

// folderOf looks at where the file lies: the gateway makes it there, and it grows.
func folderOf(path string) []Finding {
	folder, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		folder, err = nearest(folder)
	}
	if err != nil {
		return []Finding{{Fail, "store", err.Error(), "make the folder of store.sqlite"}}
	}
	return []Finding{writable(folder), space(folder), medium(folder)}
}

// nearest is the folder, or what there is of the way to it: the gateway makes the rest.
func nearest(folder string) (string, error) {
	for {
		info, err := os.Stat(folder)
		switch {
		case err == nil && !info.IsDir():
			return "", fmt.Errorf("%s is no folder", folder)
		case err == nil:
			return folder, nil
		case !errors.Is(err, os.ErrNotExist) || filepath.Dir(folder) == folder:
			return "", err
		}
		folder = filepath.Dir(folder)
	}
}

func user() string { return fmt.Sprintf("user %d", os.Geteuid()) }

// size is a number of bytes for people.
func size(bytes uint64) string {
	unit, units := float64(bytes), []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	n := 0
	for ; unit >= 1024 && n < len(units)-1; n++ {
		unit /= 1024
	}
	if n == 0 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f %s", unit, units[n])
}
