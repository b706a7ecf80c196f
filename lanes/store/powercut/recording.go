package powercut

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// kind is the kind of an operation.
type kind int

const (
	write    kind = iota // Data at Offset of File
	truncate             // File has the size Offset, also a larger one
	mapped               // File is mapped for writing: its later content is not recorded
	sync_                // File, which may be a folder, is synced
	create               // File is made at To
	makeDir              // a folder is made at To
	rename               // File goes from From to To
	remove               // the entry From goes
	note                 // Text is said
)

var kindNames = [...]string{"write", "truncate", "map", "sync", "create", "make folder", "rename", "remove", "note"}

// entry is a name in a folder.
type entry struct {
	Folder int
	Name   string
}

// operation is one change of the files. A file, as a folder, has a number of its own for as long as it lives.
type operation struct {
	Kind     kind
	File     int
	From, To entry
	Offset   int64
	Data     []byte
	Text     string
}

func (o operation) String() string {
	switch o.Kind {
	case write:
		return fmt.Sprintf("write of %d bytes at %d of file %d", len(o.Data), o.Offset, o.File)
	case truncate:
		return fmt.Sprintf("truncation of file %d to %d bytes", o.File, o.Offset)
	case create, makeDir:
		return fmt.Sprintf("%s %s: file %d", kindNames[o.Kind], o.To.Name, o.File)
	case rename:
		return fmt.Sprintf("rename %s to %s: file %d", o.From.Name, o.To.Name, o.File)
	case remove:
		return "remove " + o.From.Name
	case note:
		return "note " + strings.TrimSpace(o.Text)
	}
	return fmt.Sprintf("%s of file %d", kindNames[o.Kind], o.File)
}

// root is the number of the recorded folder, which is durable.
const root = 0

// Recording is what processes do to the files below a folder, which is empty at first. Its methods are safe for
// concurrent use.
type Recording struct {
	folder string

	mu         sync.Mutex
	operations []operation
	now        *tree // after all operations
	files      int   // numbers given so far
	fault      error // what could not be recorded
}

// New returns the recording of an empty folder.
func New(folder string) (*Recording, error) {
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", folder, err)
	}
	return &Recording{folder: resolved, now: newTree()}, nil
}

// Note records that something is said now: whatever was done before the call is on record before it.
func (r *Recording) Note(text string) { r.add(operation{Kind: note, Text: text}) }

// add applies and records an operation.
func (r *Recording) add(o operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operations = append(r.operations, o)
	r.now.apply(o)
}

// number gives a new file its number.
func (r *Recording) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files++
	return r.files
}

// fail notes what the recording lacks: it cannot be used.
func (r *Recording) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = errors.Join(r.fault, fmt.Errorf(format, args...))
}

// Complete checks that the recording has everything: done again, its operations give the files that are there.
// No recorded process runs.
func (r *Recording) Complete() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		return fmt.Errorf("recording %s: %w", r.folder, r.fault)
	}
	recorded := map[string]int{}
	r.now.walk(root, "", func(path string, file int, _ bool) { recorded[path] = file })
	found := 0
	return errors.Join(filepath.WalkDir(r.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == r.folder {
			return err
		}
		found++
		name, _ := filepath.Rel(r.folder, path)
		file, ok := recorded[name]
		if !ok {
			return fmt.Errorf("recording %s: %s is there and was not recorded", r.folder, name)
		}
		if d.IsDir() || r.now.mapped[file] {
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(content, r.now.content[file]) {
			err = fmt.Errorf("recording %s: %s has not the content that was recorded", r.folder, name)
		}
		return err
	}), func() error {
		if found != len(recorded) {
			return fmt.Errorf("recording %s: %d files are there, %d were recorded", r.folder, found, len(recorded))
		}
		return nil
	}())
}

// Save writes the recording to a file, for Load.
func (r *Recording) Save(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var encoded bytes.Buffer
	if err := gob.NewEncoder(&encoded).Encode(r.operations); err != nil {
		return fmt.Errorf("saving a recording: %w", err)
	}
	return os.WriteFile(path, encoded.Bytes(), 0o600)
}

// Load reads a recording that Save has written.
func Load(path string) (*Recording, error) {
	encoded, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Recording{now: newTree()}
	if err := gob.NewDecoder(bytes.NewReader(encoded)).Decode(&r.operations); err != nil {
		return nil, fmt.Errorf("reading the recording %s: %w", path, err)
	}
	return r, nil
}

// tree is folders and files in which every operation is done at once.
type tree struct {
	folders map[int]map[string]int // the entries of each folder
	content map[int][]byte         // of each file
	mapped  map[int]bool
}

func newTree() *tree {
	return &tree{folders: map[int]map[string]int{root: {}}, content: map[int][]byte{}, mapped: map[int]bool{}}
}

func (t *tree) apply(o operation) {
	switch o.Kind {
	case write:
		t.content[o.File] = written(t.content[o.File], o.Offset, o.Data)
	case truncate:
		t.content[o.File] = resized(t.content[o.File], o.Offset)
	case mapped:
		t.mapped[o.File] = true
	case create, makeDir, rename, remove:
		t.applyEntry(o)
	}
}

// applyEntry does what an operation does to the entries of folders.
func (t *tree) applyEntry(o operation) {
	if o.Kind == makeDir && t.folders[o.File] == nil {
		t.folders[o.File] = map[string]int{}
	}
	if o.Kind == rename || o.Kind == remove {
		delete(t.folders[o.From.Folder], o.From.Name)
	}
	if o.Kind != remove {
		t.folders[o.To.Folder][o.To.Name] = o.File
	}
}

// find returns the file at a path below the root.
func (t *tree) find(path string) (file int, found bool) {
	if path == "." {
		return root, true
	}
	for _, name := range strings.Split(path, string(filepath.Separator)) {
		if file, found = t.folders[file][name]; !found {
			return 0, false
		}
	}
	return file, true
}

// walk visits everything below a folder, folders before what is in them.
func (t *tree) walk(folder int, path string, visit func(path string, file int, isFolder bool)) {
	for name, file := range t.folders[folder] {
		below := filepath.Join(path, name)
		_, isFolder := t.folders[file]
		visit(below, file, isFolder)
		if isFolder {
			t.walk(file, below, visit)
		}
	}
}

func written(content []byte, offset int64, data []byte) []byte {
	if end := offset + int64(len(data)); int64(len(content)) < end {
		content = resized(content, end)
	}
	copy(content[offset:], data)
	return content
}

func resized(content []byte, size int64) []byte {
	if size <= int64(len(content)) {
		return content[:size:size] // what grows again behind it is zero
	}
	return append(content, make([]byte, size-int64(len(content)))...)
}
