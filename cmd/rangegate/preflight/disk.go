package preflight

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A disk on which a sale waits for longer than this feels slow, before anybody else sells at the same time.
const slowSync = 50 * time.Millisecond

// writable makes a file in the folder, has it on the disk a few times over, and takes it away again.
func writable(folder string) Finding {
	took, err := syncs(folder)
	switch {
	case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT):
		return Finding{Fail, "store", fmt.Sprintf("there is no room in %s: %v", folder, err), "make room: nothing can be saved"}
	case err != nil:
		return Finding{
			Fail, "store", fmt.Sprintf("nothing can be saved in %s by %s: %v", folder, user(), err),
			"give the folder to the gateway's user (chown), see that it is not mounted read-only, and check as that user",
		}
	}
	slices.Sort(took)
	typical := took[len(took)/2].Round(10 * time.Microsecond)
	if typical > slowSync {
		return Finding{
			Warn, "store", fmt.Sprintf("the disk of %s takes %s to save: each sale waits for that", folder, typical),
			"choose a faster disk (an SSD), or see what else uses this one",
		}
	}
	return ok("store", "%s can be written by %s, and the disk takes %s to save", folder, user(), typical)
}

// syncs is how long the disk took each time.
func syncs(folder string) (took []time.Duration, err error) {
	file, err := os.CreateTemp(folder, ".rangegate-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	page := make([]byte, 4096)
	for range 5 {
		begun := time.Now()
		if _, err := file.Write(page); err != nil {
			return nil, err
		}
		if err := file.Sync(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begun))
	}
	return took, nil
}

// How much room there should be: a file of a million events and ended sessions takes about a gigabyte.
const tooLittle, little = 100 << 20, 2 << 30

func space(folder string) Finding {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return Finding{Warn, "store", "how much room there is is not known: " + err.Error(), "see that there are some gigabytes"}
	}
	free := disk.Bavail * uint64(disk.Bsize)
	found := fmt.Sprintf("%s free in %s", size(free), folder)
	switch {
	case free < tooLittle:
		return Finding{Fail, "store", found, "make room: when the disk is full nothing more can be sold"}
	case free < little:
		return Finding{Warn, "store", found, "make room, or bound what is kept (store.retention)"}
	}
	return ok("store", "%s", found)
}

// volatile are file systems that do not keep what they are given, or not for sure.
var volatile = map[int64]string{
	unix.TMPFS_MAGIC:           "in memory: it is gone when the machine is started again",
	unix.RAMFS_MAGIC:           "in memory: it is gone when the machine is started again",
	unix.OVERLAYFS_SUPER_MAGIC: "in a container's own layer: it is gone when the container is replaced",
	unix.NFS_SUPER_MAGIC:       "on a network drive: locks and mapped files are not to be relied upon",
	unix.SMB2_SUPER_MAGIC:      "on a network drive: locks and mapped files are not to be relied upon",
}

// medium looks at what the file lies on.
func medium(folder string) Finding {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return Finding{Warn, "store", "what " + folder + " lies on is not known: " + err.Error(), "see that it is a disk of this machine"}
	}
	if problem, is := volatile[int64(disk.Type)]; is {
		return Finding{Warn, "store", folder + " is " + problem, "put store.sqlite on a disk of this machine, or a volume"}
	}
	return ok("store", "%s is on a disk", folder)
}
