package api

import (
	_ "embed" // for the descriptions
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"rangegate/api/endpoint"
	"rangegate/api/guide"
	"rangegate/api/startpage"
	"rangegate/docs"
)

// The prefixes of the versions, and their reference pages.
const (
	prefix1, page1 = "/api/v1/pos", "/api/v1/swagger"
	prefix2, page2 = "/api/v2/pos", "/api/v2/swagger"
)

// The paths of the documents.
const (
	openapi2Path  = prefix2 + "/openapi.json"
	openapi30Path = prefix2 + "/openapi-3.0.json"
	productsPath  = prefix2 + "/products.openapi.json"
	openapi1Path  = prefix1 + "/openapi.json"
	schemaPath    = "/docs/lane-link.schema.json"
)

// startDocuments are the documents that the start page names; it has a sentence for each of the names.
var startDocuments = []startpage.Document{
	{Name: "guide", Path: guide.IntegratorsPath},
	{Name: "kits", Path: guide.KitsPath},
	{Name: "reference", Path: page2 + "/"},
	{Name: "openapi", Path: openapi2Path},
	{Name: "openapi-3.0", Path: openapi30Path},
	{Name: "products", Path: productsPath},
	{Name: "hardware", Path: guide.HardwarePath},
	{Name: "lane-link", Path: schemaPath},
	{Name: "reference-1", Path: page1 + "/"},
	{Name: "openapi-1", Path: openapi1Path},
}

// The descriptions of the versions, and the part that both have.
var (
	//go:embed documents/version1.md
	description1 string
	//go:embed documents/version2.md
	description2 string
	//go:embed documents/everywhere.md
	sharedDescription string
)

// guides are the same for every configuration.
var guides = sync.OnceValue(func() guide.Documents { return guide.Load(docs.Files) })

// serveSchema serves a JSON Schema.
func serveSchema(schema []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/schema+json")
		w.Header().Set("Content-Length", strconv.Itoa(len(schema)))
		_, _ = w.Write(schema) // fails only if the client is gone
	}
}

// note30 is added to the document of version 2 in OpenAPI 3.0.3.
const note30 = "This is the same document in OpenAPI 3.0.3, for tools that do not read 3.1 (`openapi.json`). OpenAPI " +
	"3.0 has no place for what the gateway sends to your webhook: it is under `x-webhooks`."

// release is the version of the API as a whole, with the paths of both versions (SPEC.md part 9).
const release = "2.1.0"

// reference1 and reference2 are the parts of the documents that do not come from endpoints.
var (
	reference1 = endpoint.Reference{
		Info:       info("Range POS gateway, version 1", description1),
		Prefix:     prefix1,
		Deprecated: true,
		Headers:    withEpochHeader(deprecationHeaders()),
	}
	reference2 = endpoint.Reference{
		Info: info("Range POS gateway", description2), Prefix: prefix2,
		Headers: withEpochHeader(openapi3.Headers{}),
	}
)

func info(title, description string) openapi3.Info {
	return openapi3.Info{
		Title: title, Version: release, Description: strings.Replace(description, "EVERYWHERE\n", sharedDescription, 1),
		License: &openapi3.License{Name: "Proprietary", Identifier: "LicenseRef-Proprietary"},
	}
}

// deprecated is the day on which version 2 was released and version 1 deprecated (SPEC.md part 9).
var deprecated = time.Date(2024, 2, 3, 0, 0, 0, 0, time.UTC)

// The headers of every response of version 1: RFC 9745 defines the date and the link to the deprecation's
// meaning, RFC 5829 the link to the successor. There is no Sunset: version 1 stays supported.
var (
	deprecation = fmt.Sprintf("@%d", deprecated.Unix())
	successor   = fmt.Sprintf(`<%s/>; rel="successor-version", <%s/>; rel="deprecation"; type="text/html"`, page2,
		page1)
)

// addDeprecation adds those headers to every response under the path of version 1, including errors and unknown paths.
func addDeprecation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/") {
			w.Header().Set("Deprecation", deprecation)
			w.Header().Set("Link", successor)
		}
		next.ServeHTTP(w, r)
	})
}

// withEpochHeader adds the description of routing.EpochHeader.
func withEpochHeader(headers openapi3.Headers) openapi3.Headers {
	headers["range-epoch"] = endpoint.Header("Of an answer of the range: higher each time that another process "+
		"of the gateway has taken the range over. Of two answers the one with the lower epoch is of before",
		openapi3.NewIntegerSchema().WithMin(1).WithFormat("int64"))
	return headers
}

// deprecationHeaders describes those headers.
func deprecationHeaders() openapi3.Headers {
	header := func(description, value string) *openapi3.HeaderRef {
		return endpoint.Header(description, openapi3.NewStringSchema().WithEnum(value))
	}
	return openapi3.Headers{
		"Deprecation": header("Since when this version is deprecated (RFC 9745), in seconds since 1970", deprecation),
		"Link":        header("What to use instead, and what deprecation means here", successor),
	}
}
