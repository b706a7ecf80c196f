package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Every setting that holds a secret has a second key beside it, with this ending, that names a file with the
// secret: the configuration and its backups then hold none. The file of a list holds one secret a line.
const fileEnding = "_file"

// credentialsVariable is set by systemd for a unit with LoadCredential=. A relative path is a file of this folder.
const credentialsVariable = "CREDENTIALS_DIRECTORY"

// maxSecretFile bounds a file of secrets, in bytes. A token for each of a thousand POS systems takes 37 KB.
const maxSecretFile = 64 << 10

var (
	secretKind  = reflect.TypeFor[Secret]()
	secretsKind = reflect.TypeFor[[]Secret]()
	tokenKind   = reflect.TypeFor[RangeToken]()
	tokensKind  = reflect.TypeFor[[]RangeToken]()
)

// tokenText is the field of a RangeToken that it is without a section.
const tokenText = 0

// hasFile reports whether a setting of this type can come from a file.
func hasFile(kind reflect.Type) bool {
	return kind == secretKind || kind == secretsKind || kind == tokensKind
}

// secretFiles reads the files that one reading of the configuration names, each of them once.
type secretFiles struct {
	credentials string // the folder of relative paths; empty: there is none
	contents    map[string]secretFile
}

type secretFile struct {
	lines   []Secret
	problem string
}

func newSecretFiles(environ []string) *secretFiles {
	files := &secretFiles{contents: map[string]secretFile{}}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); name == credentialsVariable {
			files.credentials = value
		}
	}
	return files
}

// set reads the file at the path into a Secret or a list of them. The problem quotes neither the path nor the
// content: a secret may stand in the place of the path.
func (f *secretFiles) set(target reflect.Value, path string) (problem string) {
	content, found := f.contents[path]
	if !found {
		content.lines, content.problem = f.read(path)
		f.contents[path] = content
	}
	switch {
	case content.problem != "":
		return content.problem
	case target.Type() == secretsKind:
		target.Set(reflect.ValueOf(append([]Secret(nil), content.lines...)))
		return ""
	case target.Type() == tokensKind:
		tokens := make([]RangeToken, len(content.lines))
		for i, line := range content.lines {
			tokens[i].Token = line
		}
		target.Set(reflect.ValueOf(tokens))
		return ""
	case len(content.lines) > 1:
		return "wants a file with one line"
	}
	target.SetString(content.lines[0].Reveal())
	return ""
}

// read returns the lines of a file, at least one, without those that are empty.
func (f *secretFiles) read(path string) (lines []Secret, problem string) {
	switch {
	case path == "":
		return nil, "wants the path of a file"
	case filepath.IsAbs(path):
	case !filepath.IsLocal(path):
		return nil, "wants an absolute path, or the name of a credential of the systemd unit"
	case f.credentials == "":
		return nil, "is no absolute path, and " + credentialsVariable +
			" is not set: wants an absolute path, or LoadCredential= in the systemd unit"
	default:
		path = filepath.Join(f.credentials, path)
	}
	text, problem := readSecret(path)
	if problem != "" {
		return nil, problem
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			lines = append(lines, Secret(line))
		}
	}
	if len(lines) == 0 {
		return nil, "names a file that is empty"
	}
	return lines, ""
}

// readSecret returns the text of a file. It refuses one that other users may read or change, as what everybody on the
// machine can read is no secret: check finds it before a start, and a reload leaves the old configuration in force.
func readSecret(path string) (text, problem string) {
	if info, err := os.Stat(path); err != nil { // before it is opened: of a pipe or a device that may have an effect
		return "", unreadable(err)
	} else if !info.Mode().IsRegular() {
		return "", "names something that is no regular file"
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", unreadable(err)
	}
	defer func() { _ = file.Close() }()
	switch info, err := file.Stat(); {
	case err != nil:
		return "", unreadable(err)
	case info.Mode().Perm()&0o006 != 0:
		return "", "names a file that every user of this machine can read or change: wants mode 0640 or " +
			"0600 (chmod o= FILE)"
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	switch {
	case err != nil:
		return "", unreadable(err)
	case len(content) > maxSecretFile:
		return "", "names a file of more than 64 KiB"
	case !utf8.Valid(content):
		return "", "names a file that is not text in UTF-8"
	}
	return string(content), ""
}

// unreadable returns why a file cannot be read. The errors of package os quote the path.
func unreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "names a file that does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "names a file that this user may not read"
	}
	return "names a file that cannot be read"
}
