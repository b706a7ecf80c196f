// Command turn runs a test binary when it is its turn: at most TURNS at a time of all that share the folder TURNS_IN,
// in the order in which they came. It is for the flag -exec of go test, whose -p counts only the packages of one
// invocation.
//
// A turn is a lock on one of the folder's files, which the test binary holds until it ends, however it ends.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// idle are the tests that wait for timers and for programs of others nine tenths of their time: they take no turn.
var idle = map[string]bool{
	"controller.test": true, "clients.test": true, "stories.test": true, "hostile.test": true, "wire.test": true,
	"routing.test": true, "secrets.test": true,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "turn:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return fmt.Errorf("no command is named")
	}
	switch name := filepath.Base(command[0]); {
	case idle[name]:
		return start(command)
	case name == "actors.test":
		// Hundreds of small stores in virtual time: a third of its processor time goes into the disk and the garbage
		// collector.
		if err := quicken(); err != nil {
			return err
		}
	}
	if err := take(os.Getenv("TURNS_IN"), os.Getenv("TURNS")); err != nil {
		return err
	}
	return start(command)
}

// quicken has the garbage collector run less often, and temporary files in memory where there is room for them.
func quicken() error {
	const inMemory = "/dev/shm"
	if err := os.Setenv("GOGC", "400"); err != nil {
		return err
	}
	if syscall.Access(inMemory, 2) != nil { // writable: 2
		return nil
	}
	return os.Setenv("TMPDIR", inMemory)
}

// take waits for a turn. Its lock is on a file that stays open in what start runs.
func take(folder, turns string) error {
	count, err := strconv.Atoi(turns)
	if err != nil {
		return fmt.Errorf("TURNS: %w", err)
	}
	queue, err := open(folder, "queue")
	if err != nil {
		return err
	}
	if err := syscall.Flock(queue, syscall.LOCK_EX); err != nil { // who is first alone looks for a free turn
		return err
	}
	var files []int
	for n := range count {
		file, err := open(folder, strconv.Itoa(n))
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	for ; ; time.Sleep(50 * time.Millisecond) {
		for i, file := range files {
			if syscall.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
				continue
			}
			for _, other := range append(files[:i:i], files[i+1:]...) {
				_ = syscall.Close(other)
			}
			return syscall.Close(queue)
		}
	}
}

// open opens a file that the command inherits.
func open(folder, name string) (int, error) {
	file, err := syscall.Open(filepath.Join(folder, name), syscall.O_RDWR|syscall.O_CREAT, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", filepath.Join(folder, name), err)
	}
	return file, nil
}

// start becomes the command.
func start(command []string) error { return syscall.Exec(command[0], command, os.Environ()) }
