package config

import (
	"fmt"
	"strconv"
)

// Fault is one broken rule of the configuration. It never holds a secret.
type Fault struct {
	Path    string // such as ranges[0].lanes[3].bay, an environment variable, or a line; empty: the whole file
	Problem string
}

func (f Fault) Error() string {
	if f.Path == "" {
		return f.Problem
	}
	return f.Path + ": " + f.Problem
}

// maxFaults bounds the list of faults. A file with more is probably no configuration.
const maxFaults = 1000

// faults collects at most one fault per path: an unreadable value is not reported as missing as well.
type faults struct {
	list       []error
	paths      map[path]bool
	unreadable map[path]bool // faults below these paths are dropped
}

func (f *faults) add(p path, format string, args ...any) {
	if f.full() || f.paths[p] || f.below(p) {
		return
	}
	if f.paths == nil {
		f.paths = map[path]bool{}
	}
	f.paths[p] = true
	f.list = append(f.list, Fault{Path: string(p), Problem: fmt.Sprintf(format, args...)})
	if f.full() {
		f.list = append(f.list, Fault{Problem: fmt.Sprintf("only the first %d faults are listed", maxFaults)})
	}
}

// unread adds the fault of a value that cannot be read, and drops later faults of it and of everything below it.
func (f *faults) unread(p path, format string, args ...any) {
	f.add(p, format, args...)
	if f.unreadable == nil {
		f.unreadable = map[path]bool{}
	}
	f.unreadable[p] = true
}

// below reports whether the path lies below an unreadable value.
func (f *faults) below(p path) bool {
	if len(f.unreadable) == 0 {
		return false
	}
	for i, c := range p {
		if (c == '.' || c == '[') && f.unreadable[p[:i]] {
			return true
		}
	}
	return f.unreadable[""]
}

func (f *faults) full() bool { return len(f.list) >= maxFaults }

// path names a value: ranges[0].lanes[3].bay.
type path string

func (p path) key(name string) path {
	if p == "" {
		return path(name)
	}
	return p + "." + path(name)
}

func (p path) item(i int) path { return p + path("["+strconv.Itoa(i)+"]") }
