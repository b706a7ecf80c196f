package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"rangegate/api/endpoint"
)

// since is when version 2 came, and version 1 was deprecated (SPEC.md part 9).
var since = time.Date(2024, 2, 3, 0, 0, 0, 0, time.UTC)

// What every answer of version 1 says of itself: RFC 9745 has the date and the link to what it means, RFC 5829 the link
// to what to use instead. There is no Sunset: version 1 stays supported.
var (
	deprecation = fmt.Sprintf("@%d", since.Unix())
	successor   = fmt.Sprintf(`<%s/>; rel="successor-version", <%s/>; rel="deprecation"; type="text/html"`, page2, page1)
)

// deprecated marks whatever is answered under version 1, errors and unknown paths too.
func deprecated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/") {
			w.Header().Set("Deprecation", deprecation)
			w.Header().Set("Link", successor)
		}
		next.ServeHTTP(w, r)
	})
}

// deprecationHeaders is the same for the document.
func deprecationHeaders() openapi3.Headers {
	about := map[string]string{
		"Deprecation": "Since when this version is deprecated (RFC 9745), in seconds since 1970",
		"Link":        "What to use instead, and what deprecation means here",
	}
	always := map[string]string{"Deprecation": deprecation, "Link": successor}
	headers := openapi3.Headers{}
	for name, value := range always {
		headers[name] = endpoint.Header(about[name], openapi3.NewStringSchema().WithEnum(value))
	}
	return headers
}
