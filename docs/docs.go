// Package docs has the documents for whoever connects a POS or lane hardware to a gateway, as a gateway
// serves them: the guides, and the kits of clients.
package docs

import "embed"

// Files are the documents by their paths in this folder.
//
//go:embed integrators.md hardware.md clients/README.md clients/bruno
//go:embed clients/csharp/*.cs clients/csharp/*.csproj clients/python/*.py
//go:embed clients/go/*.go clients/go/till.* clients/go/oapi-codegen.yaml
//go:embed clients/typescript/*.ts clients/typescript/*.json
var Files embed.FS
