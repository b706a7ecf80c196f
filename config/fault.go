package config

import (
	"errors"
	"fmt"
	"strconv"
)

// Fault is one thing that is wrong with the configuration. It never holds a secret.
type Fault struct {
	Path    string // such as ranges[0].lanes[3].bay, the name of an environment variable, or a line; empty: the whole file
	Problem string
}

func (f Fault) Error() string {
	if f.Path == "" {
		return f.Problem
	}
	return f.Path + ": " + f.Problem
}

// mostFaults is how many are listed: beyond it the file is of another kind, and a list nobody can read helps nobody.
const mostFaults = 1000

// faults collects what is wrong, at most one fault a path: what was unreadable is not reported as missing as well.
type faults struct {
	list       []error
	paths      map[path]bool
	unreadable map[path]bool // nothing is known of what lies below these
}

func (f *faults) add(at path, format string, args ...any) {
	if f.full() || f.paths[at] || f.below(at) {
		return
	}
	if f.paths == nil {
		f.paths = map[path]bool{}
	}
	f.paths[at] = true
	f.list = append(f.list, Fault{Path: string(at), Problem: fmt.Sprintf(format, args...)})
	if f.full() {
		f.list = append(f.list, Fault{Problem: fmt.Sprintf("only the first %d faults are listed", mostFaults)})
	}
}

// unread is a fault of a value that could not be read at all, with everything below it.
func (f *faults) unread(at path, format string, args ...any) {
	f.add(at, format, args...)
	if f.unreadable == nil {
		f.unreadable = map[path]bool{}
	}
	f.unreadable[at] = true
}

// below reports whether something above the path could not be read.
func (f *faults) below(at path) bool {
	if len(f.unreadable) == 0 {
		return false
	}
	for i, c := range at {
		if (c == '.' || c == '[') && f.unreadable[at[:i]] {
			return true
		}
	}
	return f.unreadable[""]
}

func (f *faults) full() bool { return len(f.list) >= mostFaults }

func (f *faults) err() error { return errors.Join(f.list...) }

// path leads to a value the way the operator would write it: ranges[0].lanes[3].bay.
type path string

func (p path) key(name string) path {
	if p == "" {
		return path(name)
	}
	return p + "." + path(name)
}

func (p path) item(i int) path { return p + path("["+strconv.Itoa(i)+"]") }
