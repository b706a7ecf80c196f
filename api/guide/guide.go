// Package guide serves the documents for integrators and makers of lane hardware at /docs/: a Markdown file
// as a page, and the files of the kits as they are. Their links to each other are the same as in the folder
// of the documents.
package guide

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
)

//go:embed pages/page.html
var pages embed.FS

var page = template.Must(template.ParseFS(pages, "pages/page.html"))

//go:embed pages/guide.css
var style []byte

// Prefix is the path of the documents.
const Prefix = "/docs/"

// The paths of the documents to begin with.
const (
	IntegratorsPath = Prefix + "integrators.md"
	KitsPath        = Prefix + "clients/README.md"
	HardwarePath    = Prefix + "hardware.md"
)

// Documents are what is served, by path; "." is the folder of all.
type Documents map[string]document

// Load makes the documents what is served. It panics if one cannot be made a page.
func Load(documents fs.FS) Documents {
	served := Documents{}
	err := fs.WalkDir(documents, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		served[name], err = load(documents, name, entry)
		return err
	})
	if err != nil {
		panic(err)
	}
	served["guide.css"] = document{"text/css; charset=utf-8", style}
	return served
}

// Mount puts the documents on the router.
func (d Documents) Mount(r chi.Router, fail endpoint.FailFunc) {
	r.With(screens.Guard(fail)).Get(Prefix+"*", func(w http.ResponseWriter, r *http.Request) {
		found, ok := d[cmp.Or(strings.TrimSuffix(chi.URLParam(r, "*"), "/"), ".")]
		if !ok {
			fail(w, r, endpoint.Refusal("not_found"))
			return
		}
		w.Header().Set("Content-Type", found.contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(found.body)))
		_, _ = w.Write(found.body) // fails only if the client is gone
	})
}

// document is a file as it is served.
type document struct {
	contentType string
	body        []byte
}

const (
	pageType = "text/html; charset=utf-8"
	textType = "text/plain; charset=utf-8" // so that a browser shows a file of a kit, whatever language it is in
)

// view is what a page shows: the content of a document, or the names in a folder.
type view struct {
	Title   string
	Content template.HTML // of our own documents
	Folder  string        // the path of the folder
	Names   []string
}

func load(documents fs.FS, name string, entry fs.DirEntry) (document, error) {
	if entry.IsDir() {
		return list(documents, name)
	}
	content, err := fs.ReadFile(documents, name)
	switch {
	case err != nil:
		return document{}, err
	case path.Ext(name) == ".md":
		return render(content)
	}
	return document{textType, content}, nil
}

var markdown = goldmark.New(
	// no inline style
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// render makes a page of a Markdown file. The first heading is its title.
func render(source []byte) (document, error) {
	tree := markdown.Parser().Parse(text.NewReader(source))
	title := "rangegate"
	if heading, ok := tree.FirstChild().(*ast.Heading); ok {
		title = string(heading.Lines().Value(source))
	}
	var content bytes.Buffer
	if err := markdown.Renderer().Render(&content, source, tree); err != nil {
		return document{}, err
	}
	//nolint:gosec // our own documents, in which goldmark lets no HTML pass
	return asPage(view{Title: title, Content: template.HTML(content.String())})
}

// list makes a page of what is in a folder.
func list(documents fs.FS, name string) (document, error) {
	entries, err := fs.ReadDir(documents, name)
	if err != nil {
		return document{}, err
	}
	v := view{Title: path.Base(name), Folder: path.Join(Prefix, name)}
	for _, entry := range entries {
		v.Names = append(v.Names, entry.Name())
	}
	return asPage(v)
}

func asPage(v view) (document, error) {
	var body bytes.Buffer
	err := page.Execute(&body, v)
	return document{pageType, body.Bytes()}, err
}
