package config

import "sync"

// Places tells where the value at a path of a configuration is from, for faults that are found after its reading:
// ranges[0].link_tls.ca. The answer is the zero [Position] where that is not known. nil knows no position. It may
// be called by several goroutines at once.
type Places func(path string) Position

// PlacesIn returns the places of the values that [Load] reads from the same file and environment. The file is read
// again when the first place is asked for, and then kept in memory as long as the result is. Positions that are kept
// with every configuration would take some 100 MB for 100,000 lanes, and hardly one has such faults.
func PlacesIn(file string, environ []string) Places {
	read := sync.OnceValue(func() *source {
		_, found, _ := load(file, environ) // its faults have been reported; nothing of a file that is gone has a place
		return &found.source
	})
	return func(p string) Position {
		if p == file {
			return Position{} // what is wrong with the file itself, whose name may look like a path: store.yaml
		}
		return read().place(path(p))
	}
}

// Note is the place in the form that a [Fault] ends with, " (FILE:LINE:COLUMN)", or empty where it is not known.
func (p Places) Note(path string) string {
	if p == nil {
		return ""
	}
	return p(path).note()
}

func (p Position) note() string {
	if text := p.String(); text != "" {
		return " (" + text + ")"
	}
	return ""
}

// place is position, but none for a path of which the file has not even the first key.
func (s *source) place(p path) Position {
	at := s.position(p)
	if at.Variable != "" || s.root == nil {
		return at
	}
	if w := (walk{source: s, node: s.root}); !w.step(string(p.prefixes()[0])) {
		return Position{}
	}
	return at
}
