// Command sbom writes to standard output the CycloneDX bill of materials of a Go binary: the modules that the
// linker has put into it, as the binary itself names them.
//
//	sbom NAME VERSION BINARY
//
// SOURCE_DATE_EPOCH is its time, so that the same binary gives the same bytes. It exits with 1 when the
// binary cannot be read, or names no module.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom NAME VERSION BINARY")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(name, version, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	if len(info.Deps) == 0 {
		return fmt.Errorf("%s names no modules", binary)
	}
	built, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH wants seconds since 1970: %w", err)
	}
	main := component(cdx.ComponentTypeApplication, name, version, "generic")
	parts := []cdx.Component{goItself(info.GoVersion)}
	for _, module := range info.Deps {
		part, err := library(module)
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	refs := make([]string, len(parts))
	for i, part := range parts {
		refs[i] = part.BOMRef
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: time.Unix(built, 0).UTC().Format(time.RFC3339), Component: &main}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return cdx.NewBOMEncoder(os.Stdout, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

// component has its package URL for its reference too. A + there would stand for a blank.
func component(kind cdx.ComponentType, name, version, ecosystem string) cdx.Component {
	purl := "pkg:" + ecosystem + "/" + name + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cdx.Component{Type: kind, Name: name, Version: version, PackageURL: purl, BOMRef: purl}
}

// goItself is the standard library and the runtime.
func goItself(version string) cdx.Component {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "go"), " ") // experiments stand behind a blank
	return component(cdx.ComponentTypeLibrary, "std", version, "golang")
}

// library returns a module with the SHA-256 of its files, as go.sum has it.
func library(module *debug.Module) (cdx.Component, error) {
	if module.Replace != nil {
		module = module.Replace
	}
	part := component(cdx.ComponentTypeLibrary, module.Path, module.Version, "golang")
	encoded, ok := strings.CutPrefix(module.Sum, "h1:")
	sum, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil {
		return part, fmt.Errorf("%s %s has no checksum", module.Path, module.Version)
	}
	part.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	return part, nil
}
