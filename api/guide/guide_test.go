package guide

import (
	"io/fs"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/docs"
)

func get(documents fs.FS, at string) *httptest.ResponseRecorder {
	a := &endpoint.API{Errors: endpoint.Errors{"not_found": {Status: 404}, "cross_site": {Status: 403}}}
	r := chi.NewRouter()
	Load(documents).Mount(r, a.Fail)
	response := httptest.NewRecorder()
	r.ServeHTTP(response, httptest.NewRequest("GET", at, nil))
	return response
}

func TestADocumentIsAPage(t *testing.T) {
	documents := fstest.MapFS{
		"guide.md": {Data: []byte("# A & B\n\nSee [below](#second-part) and [a kit](kits/a.py).\n\n## " +
			"Second part\n\n| a | b |\n|---|--:|\n| `1` | <script>2</script> |\n")},
		"kits/a.py":         {Data: []byte("print('<b>')\n")},
		"kits/01 Sell.json": {Data: []byte("{}")},
	}
	page := get(documents, "/docs/guide.md")
	require.Equal(t, 200, page.Code)
	require.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "style-src 'self'")
	for _, part := range []string{
		"<title>A &amp; B</title>", `<a href="kits/a.py">a kit</a>`, `<h2 id="second-part">Second part</h2>`,
		"<td><code>1</code></td>", `<td align="right">`,
	} {
		require.Contains(t, page.Body.String(), part)
	}
	require.NotContains(t, page.Body.String(), "<script>2", "a document has no HTML")

	file := get(documents, "/docs/kits/a.py")
	require.Equal(t, "text/plain; charset=utf-8", file.Header().Get("Content-Type"))
	require.Equal(t, "print('<b>')\n", file.Body.String())
	for _, folder := range []string{"/docs/kits", "/docs/kits/"} {
		require.Contains(t, get(documents, folder).Body.String(),
			`<a href="/docs/kits/01%20Sell.json">01 Sell.json</a>`)
	}
	require.Contains(t, get(documents, "/docs/").Body.String(), `<a href="/docs/guide.md">`)
	require.Equal(t, "{}", get(documents, "/docs/kits/01%20Sell.json").Body.String())
	require.Equal(t, 404, get(documents, "/docs/../guide.go").Code)
	require.Equal(t, 404, get(documents, "/docs/operators.md").Code)
}

var links = regexp.MustCompile(` href="([^"]*)"`)

// Every link of every page leads to a document, and to a heading that it has.
func TestEveryLinkOfTheDocumentsLeadsSomewhere(t *testing.T) {
	elsewhere := []string{"/screens/", "/control/", "/api/", "/docs/lane-link.schema.json"} // served by others
	followed := 0
	for _, start := range []string{IntegratorsPath, KitsPath, HardwarePath, Prefix + "clients/bruno"} {
		body := get(docs.Files, start).Body.String()
		for _, link := range links.FindAllStringSubmatch(body, -1) {
			to, err := url.Parse(link[1])
			require.NoError(t, err)
			at, err := url.Parse(start)
			require.NoError(t, err)
			resolved := at.ResolveReference(to)
			isElsewhere := to.Host != ""
			for _, prefix := range elsewhere {
				isElsewhere = isElsewhere || strings.HasPrefix(resolved.Path, prefix)
			}
			if isElsewhere {
				continue
			}
			target := get(docs.Files, resolved.EscapedPath())
			require.Equal(t, 200, target.Code, "%s in %s", link[1], start)
			if resolved.Fragment != "" {
				require.Contains(t, target.Body.String(), ` id="`+resolved.Fragment+`"`, "%s in %s", link[1], start)
			}
			followed++
		}
	}
	require.Greater(t, followed, 20)
	require.Equal(t, 200, get(docs.Files, "/docs/clients/go/till.mod").Code, "what a kit needs is beside it")
}
