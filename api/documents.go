package api

import (
	_ "embed" // the descriptions
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"rangegate/api/endpoint"
)

// The descriptions of the versions, and what holds for every path of both.
var (
	//go:embed documents/version1.md
	description1 string
	//go:embed documents/version2.md
	description2 string
	//go:embed documents/everywhere.md
	everywhere string
)

// release is the version of the API as a whole, of which the paths hold two (SPEC.md part 9).
const release = "2.0.0"

// about1 and about2 are what the documents say that the endpoints do not.
var (
	about1 = endpoint.Reference{
		Info:       info("Range POS gateway, version 1", release, description1),
		Prefix:     prefix1,
		Deprecated: true,
		Headers:    deprecationHeaders(),
	}
	about2 = endpoint.Reference{Info: info("Range POS gateway", release, description2), Prefix: prefix2}
)

func info(title, version, description string) openapi3.Info {
	return openapi3.Info{
		Title: title, Version: version, Description: strings.Replace(description, "EVERYWHERE\n", everywhere, 1),
		License: &openapi3.License{Name: "Proprietary", Identifier: "LicenseRef-Proprietary"},
	}
}
