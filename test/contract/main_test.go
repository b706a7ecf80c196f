// Package contract holds the running gateway against what others make of its documents and of the standards it claims:
// a linter of OpenAPI, tests generated from the documents, and a verifier of webhook signatures. None of them shares
// code with the gateway. They come from npm, at the versions in package-lock.json, and one of them wants Java; `make
// tools` installs both.
package contract

import (
	"testing"

	"rangegate/test/process"
)

func TestMain(m *testing.M) { process.Run(m) }
