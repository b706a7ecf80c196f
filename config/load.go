package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxBytes is the size limit of a configuration file.
const maxBytes = 16 << 20

// Load reads the file at path and applies the environment, in the form of os.Environ. A configuration returned without
// an error is complete and keeps every rule. The error is of the file, or joins every [Fault].
func Load(path string, environ []string) (Config, error) {
	cfg, _, err := load(path, environ)
	return cfg, err
}

// load is Load. It also returns the faults with the source of the configuration, as far as that was read.
func load(path string, environ []string) (Config, *faults, error) {
	file, err := os.Open(path)
	if err != nil {
		return Config{}, new(faults), fmt.Errorf("read the configuration: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1)) // one byte more lets Parse see that it is too large
	if err != nil {
		return Config{}, new(faults), fmt.Errorf("read the configuration: %w", err)
	}
	return read(path, data, environ)
}

// Parse is Load for a configuration in memory; the files of its secrets are read. The error joins every
// [Fault], in the order file, environment, rules; text that is not YAML is the only fault of its file.
func Parse(data []byte, environ []string) (Config, error) {
	cfg, _, err := read("", data, environ)
	return cfg, err
}

// read is load for the content of a file, whose name positions have.
func read(file string, data []byte, environ []string) (Config, *faults, error) {
	found := &faults{source: source{file: file}}
	if len(data) > maxBytes {
		return Config{}, found, Fault{Problem: fmt.Sprintf("larger than %d MiB", maxBytes>>20)}
	}
	files := newSecretFiles(environ)
	cfg, err := (&document{found: found, files: files}).decode(data)
	if err != nil {
		return Config{}, found, err
	}
	if err := cfg.finish(environ, files, found); err != nil {
		return Config{}, found, err
	}
	return cfg, found, nil
}

// Override applies the environment to a configuration that does not come from a file, sets the defaults and checks the
// rules. After an error cfg must not be used.
func Override(cfg *Config, environ []string) error {
	return cfg.finish(environ, newSecretFiles(environ), new(faults))
}

func (c *Config) finish(environ []string, files *secretFiles, found *faults) error {
	disabled := c.overrideTelemetry(environ, found)
	c.override(environ, files, found)
	found.source.remember(c)
	if disabled {
		c.Telemetry = nil
	}
	c.complete()
	c.validate(found)
	return found.err()
}

// YAML returns the effective configuration, with its defaults, and with *** for every secret.
func YAML(cfg Config) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(cfg); err != nil {
		return nil, fmt.Errorf("write the configuration as YAML: %w", err)
	}
	return out.Bytes(), nil
}

// Fault is one broken rule of the configuration. It never holds a secret.
type Fault struct {
	Path    string // such as ranges[0].lanes[3].bay, an environment variable, or a line; empty: the whole file
	Problem string
	At      Position // of the value, or of what it is missing in; none for a variable at Path
}

func (f Fault) Error() string {
	text := f.Problem
	if f.Path != "" {
		text = f.Path + ": " + f.Problem
	}
	return text + f.At.note()
}

// maxFaults bounds the list of faults. A file with more is probably no configuration.
const maxFaults = 1000

// faults collects at most one fault per path: an unreadable value is not reported as missing as well.
type faults struct {
	list   []Fault
	paths  map[path]bool // with a fault; true for an unreadable value, below which faults are dropped
	source source
}

// err joins the faults, each with its position.
func (f *faults) err() error {
	var all []error
	for _, fault := range f.list {
		if fault.At == (Position{}) {
			fault.At = f.source.position(path(fault.Path))
		}
		all = append(all, fault)
	}
	return errors.Join(all...)
}

func (f *faults) add(p path, format string, args ...any) { f.addAt(Position{}, p, format, args...) }

// addAt adds a fault with a position that its path does not tell.
func (f *faults) addAt(at Position, p path, format string, args ...any) {
	if _, listed := f.paths[p]; listed || f.full() || f.below(p) {
		return
	}
	if f.paths == nil {
		f.paths = map[path]bool{}
	}
	f.paths[p] = false
	f.list = append(f.list, Fault{Path: string(p), Problem: fmt.Sprintf(format, args...), At: at})
	if f.full() {
		f.list = append(f.list, Fault{Problem: fmt.Sprintf("only the first %d faults are listed", maxFaults)})
	}
}

// unread adds the fault of a value that cannot be read, and drops later faults of it and of everything below it.
func (f *faults) unread(p path, format string, args ...any) {
	f.add(p, format, args...)
	f.paths[p] = true
}

// suppress drops later faults of a value, without a fault of its own: one at another path has the reason.
func (f *faults) suppress(p path) {
	if f.paths == nil {
		f.paths = map[path]bool{}
	}
	if _, listed := f.paths[p]; !listed {
		f.paths[p] = true
	}
}

// below reports whether the path lies below an unreadable value.
func (f *faults) below(p path) bool {
	for i, c := range p {
		if (c == '.' || c == '[') && f.paths[p[:i]] {
			return true
		}
	}
	return f.paths[""]
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
