// Package endpoint is the typed HTTP endpoint of rangegate, on chi. It knows nothing of ranges and lanes.
//
// An endpoint is declared in one line, and its reader states the rule of every field once:
//
//	endpoint.Handle("GET", "/sessions/{id}", 200, "One session", readID, s.get, "session_not_found")
//
//	func readID(in *endpoint.Input) uuid.UUID { return in.PathID("id", "Session") }
//
// For a request, the reader returns the value, and all faults are collected by field name. When the endpoint is declared,
// the reader runs once without a request and records the fields that it reads: the OpenAPI document is generated from
// those and cannot drift. A reader therefore reads the same fields whatever their values are, and does nothing else.
//
// The document groups endpoints (Group), describes them (Describe) and has an example of every response, built from the
// tags of its type: doc, example, format, pattern, enum, min, max. A field with the tag header is sent as a header.
//
// The code behind an endpoint needs no import of this package. Its errors may have these methods:
//
//	Code() string                  the code of WIRE.md, Errors; the error's text is the sentence for people
//	RetryAfter() time.Duration     overrides the wait that the table has for the code, if above zero
//	Replay() (int, []byte)         not a failure: the stored response of an Idempotency-Key (see Command)
//	Is/As/Unwrap                   as usual: each of the above may be wrapped
//
// Every other error of an endpoint is a defect: 500 `internal`, and API.Defect gets the cause.
package endpoint
