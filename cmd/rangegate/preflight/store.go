package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/sqlite"
)

// store checks that the store can be reached, and that it is durable.
func (s Settings) store(ctx context.Context) []Finding {
	if c := s.Config.Store; c.Redis != "" {
		return checkRedis(ctx, c.Redis.Reveal())
	}
	return append(checkSQLite(ctx, s.Config.Store.SQLite), checkFolder(s.Config.Store.SQLite)...)
}

// checkSQLite opens the file like the gateway, and changes nothing.
func checkSQLite(ctx context.Context, path string) []Finding {
	info, err := os.Stat(path)
	switch _, noEntry := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist) && noEntry == nil:
		return []Finding{{
			Fail, "store", path + " is a symbolic link to a file that is not there",
			"mount the disk that it leads to, or remove the link: the gateway does not start",
		}}
	case errors.Is(err, os.ErrNotExist):
		return []Finding{ok("store", "%s does not exist yet; the gateway creates it", path)}
	case err != nil:
		return []Finding{{Fail, "store", err.Error(), "give the gateway's user access, and check as that user"}}
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
		return []Finding{ok("store", "%s, %s, is open in a gateway that runs, and was not read", path,
			size(uint64(info.Size())))}
	case errors.Is(err, store.ErrNewer):
		return []Finding{{
			Fail, "store", err.Error(),
			fmt.Sprintf("install the release that wrote it; this one reads records up to version %d", store.Version),
		}}
	case err != nil:
		return []Finding{{
			Fail, "store", err.Error(),
			"restore a backup, or see docs/store.md, When something is wrong with it",
		}}
	}
	defer func() { _ = reader.Close() }()
	ids, err := reader.Ranges(ctx)
	if err != nil {
		return []Finding{{Fail, "store", err.Error(), "rangegate store check names every record that cannot be read"}}
	}
	return []Finding{ok("store", "%s opens: %s, %s, readable by this release (version %d)", path,
		size(uint64(info.Size())), Number(len(ids), "range"), store.Version)}
}

// checkFolder checks the folder in which the gateway creates the file.
func checkFolder(path string) []Finding {
	folder, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		folder, err = existingParent(folder)
	}
	if err != nil {
		return []Finding{{Fail, "store", err.Error(), "create the folder of store.sqlite"}}
	}
	return append([]Finding{checkWritable(folder)}, checkDisk(folder)...)
}

// existingParent returns the folder or its nearest existing parent. The gateway creates the others.
func existingParent(folder string) (string, error) {
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

// size returns a number of bytes with its unit.
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

// checkRedis checks the server's version and configuration, and writes nothing.
func checkRedis(ctx context.Context, url string) []Finding {
	reader, err := redis.OpenReader(ctx, url)
	if err != nil {
		return []Finding{{
			Fail, "store", err.Error(),
			"start the server, or correct store.redis: address, user, password, TLS",
		}}
	}
	defer func() { _ = reader.Close() }()
	survey, err := reader.Survey(ctx)
	if err != nil {
		return []Finding{{
			Fail, "store", err.Error(),
			"give the user of store.redis the commands of docs/store.md, Redis",
		}}
	}
	all := []Finding{ok("store", "%s answers in %s, version %s", reader.Describe(),
		survey.RoundTrip.Round(10*time.Microsecond), survey.Version)}
	major, _, _ := strings.Cut(survey.Version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < redis.OldestMajor {
		all = append(all, Finding{
			Fail, "store", "version " + survey.Version + " is too old",
			fmt.Sprintf("install Redis %d or later", redis.OldestMajor),
		})
	}
	for _, warning := range survey.Warnings {
		all = append(all, Finding{Warn, "store", warning, "configure the server as in docs/store.md, Redis: " +
			"appendonly yes, appendfsync always, maxmemory-policy noeviction"})
	}
	return all
}

// slowSyncTime is the time of a sync above which each sale has a noticeable delay.
const slowSyncTime = 50 * time.Millisecond

// checkWritable writes and syncs a file in the folder a few times, and removes it.
func checkWritable(folder string) Finding {
	took, err := syncTimes(folder)
	switch {
	case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT):
		return Finding{
			Fail, "store", fmt.Sprintf("there is no space in %s: %v", folder, err),
			"free some space: nothing can be saved",
		}
	case err != nil:
		return Finding{
			Fail, "store", fmt.Sprintf("nothing can be saved in %s by %s: %v", folder, user(), err),
			"give the folder to the gateway's user (chown), check that it is not mounted read-only, and " +
				"check as that user",
		}
	}
	slices.Sort(took)
	typical := took[len(took)/2].Round(10 * time.Microsecond)
	if typical > slowSyncTime {
		return Finding{
			Warn, "store", fmt.Sprintf("the disk of %s takes %s to save: each sale waits for that", folder, typical),
			"choose a faster disk (an SSD), or find out what else uses this one",
		}
	}
	return ok("store", "%s can be written by %s, and the disk takes %s to save", folder, user(), typical)
}

// syncTimes returns the times of some syncs.
func syncTimes(folder string) (took []time.Duration, err error) {
	file, err := os.CreateTemp(folder, ".rangegate-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	page := make([]byte, 4096)
	for range 5 {
		started := time.Now()
		if _, err := file.Write(page); err != nil {
			return nil, err
		}
		if err := file.Sync(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(started))
	}
	return took, nil
}

// The limits of free space in bytes. A file of a million events and ended sessions takes about a gigabyte.
const minSpace, lowSpace = 100 << 20, 2 << 30

// unsafeFileSystems lose files, or do not keep them reliably.
var unsafeFileSystems = map[int64]string{
	unix.TMPFS_MAGIC:           "in memory: a restart of the machine loses it",
	unix.RAMFS_MAGIC:           "in memory: a restart of the machine loses it",
	unix.OVERLAYFS_SUPER_MAGIC: "in a container's own layer: a replacement of the container loses it",
	unix.NFS_SUPER_MAGIC:       "on a network drive: locks and mapped files are unreliable",
	unix.SMB2_SUPER_MAGIC:      "on a network drive: locks and mapped files are unreliable",
}

// checkDisk checks the free space of the folder's file system, and that it keeps files.
func checkDisk(folder string) []Finding {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return []Finding{{
			Warn, "store", "the free space and the file system of " + folder + " are unknown: " + err.Error(),
			"check that it is on a disk of this machine with some free gigabytes",
		}}
	}
	kept := ok("store", "%s is on a disk", folder)
	if problem, found := unsafeFileSystems[int64(disk.Type)]; found {
		kept = Finding{
			Warn, "store", folder + " is " + problem,
			"put store.sqlite on a disk of this machine, or a volume",
		}
	}
	free := disk.Bavail * uint64(disk.Bsize)
	found := fmt.Sprintf("%s free in %s", size(free), folder)
	switch {
	case free < minSpace:
		return []Finding{
			{Fail, "store", found, "free some space: when the disk is full nothing more can be sold"},
			kept,
		}
	case free < lowSpace:
		return []Finding{{Warn, "store", found, "free some space, or keep less (store.retention)"}, kept}
	}
	return []Finding{ok("store", "%s", found), kept}
}
