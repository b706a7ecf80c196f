// Package console writes what a command logs: lines for people on a terminal, JSON lines into a pipe or a file.
package console

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
)

func init() { zerolog.TimeFieldFormat = time.RFC3339Nano } // a global of the library

// Logger returns the log of a command.
func Logger(out io.Writer) zerolog.Logger { return LoggerOf(Writer(out)) }

// LoggerOf returns the log whose JSON lines go there.
func LoggerOf(lines io.Writer) zerolog.Logger { return zerolog.New(lines).With().Timestamp().Logger() }

// Writer returns where the JSON lines of a log go: for a terminal each is written as people read it, in colours unless
// NO_COLOR is set or the terminal has none.
func Writer(out io.Writer) io.Writer {
	if !IsTerminal(out) {
		return out
	}
	colourless := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: colourless}
}

// IsTerminal reports whether the stream is a file that is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// Process is the standard error of a process that logs JSON lines. They go on with the name of the process in them, and
// what else it writes, such as the trace of a panic, as it is. One goroutine may write.
type Process struct {
	Name string
	Out  *Shared
	rest []byte // a line of which the end has not come yet
}

// Shared is where the lines of several processes go.
type Shared struct {
	mu   sync.Mutex
	text io.Writer
	log  io.Writer
}

// Share returns where several processes write to the stream.
func Share(out io.Writer) *Shared { return &Shared{text: out, log: Writer(out)} }

// Write writes the whole lines and keeps the rest. It never fails: a closed pipe stops no process.
func (p *Process) Write(text []byte) (n int, err error) {
	p.rest = append(p.rest, text...)
	for {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		p.Out.write(p.Name, line)
		p.rest = rest
	}
}

func (s *Shared) write(name string, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fields, found := bytes.CutPrefix(line, []byte("{")); found && json.Valid(line) && len(fields) > 1 {
		quoted, _ := json.Marshal(name) // text always can
		_, _ = s.log.Write([]byte(`{"node":` + string(quoted) + "," + string(fields) + "\n"))
		return
	}
	_, _ = s.text.Write([]byte(name + ": " + string(line) + "\n"))
}
