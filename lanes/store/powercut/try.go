package powercut

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Try makes that many cuts of the recording, and calls try for each with a folder that has the files of its
// disk. A cut for which try fails ends the test. Its log then says what was cut, where the recording and the
// disk are kept, and how to make this cut again: with RECORDING, SEED and CUT in the environment.
func Try(t *testing.T, recorded func() *Recording, kept Kept, count int, try func(folder string, c *Cut)) {
	t.Helper()
	seed, only := rand.Uint64(), -1
	var r *Recording
	if path := os.Getenv("RECORDING"); path != "" {
		var err error
		if r, err = Load(path); err != nil {
			t.Fatal(err)
		}
	} else {
		r = recorded()
	}
	if n, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = n
	}
	if n, err := strconv.Atoi(os.Getenv("CUT")); err == nil {
		only, count = n, max(count, n+1)
	}
	folder := Folder(t)
	t.Logf("seed %d, %d operations", seed, len(r.operations))
	r.Each(kept, seed, count, only, func(c *Cut) {
		defer func() {
			if t.Failed() {
				t.Logf("%s\n%s", c, r.keep(c))
			}
		}()
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.Write(folder); err != nil {
			t.Fatal(err)
		}
		try(folder, c)
	})
}

// Folder makes a folder in memory, where there is a file system for it, which is removed at the end of the
// test. What is recorded is the same as on a disk, where an fsync takes its time.
func Folder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "power-cut-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// keep keeps the recording and the disk of a cut, and returns what to say about it.
func (r *Recording) keep(c *Cut) string {
	folder, err := os.MkdirTemp("", "power-cut-")
	if err == nil {
		err = r.Save(filepath.Join(folder, "recording"))
	}
	disk := filepath.Join(folder, "disk")
	if err == nil {
		err = os.Mkdir(disk, 0o700)
	}
	if err == nil {
		err = c.Write(disk)
	}
	if err != nil {
		return "It could not be kept: " + err.Error()
	}
	return "Its disk is " + disk + ". Again with RECORDING=" + filepath.Join(folder, "recording") +
		" SEED=" + strconv.FormatUint(c.seed, 10) + " CUT=" + strconv.Itoa(c.Number)
}
