// Package endpoint is the typed HTTP endpoint of rangegate, on chi. It knows nothing of ranges and lanes.
//
// An endpoint is declared in one line, and its reader states the rule of every field once:
//
//	endpoint.Handle("GET", "/sessions/{id}", 200, "One session", readID, s.get, "session_not_found")
//
//	func readID(in *endpoint.Input) uuid.UUID { return in.PathID("id", "Session") }
//
// Run on a request, the reader answers the value, and all its faults are collected by field name. Run blank, once, when
// the endpoint is declared, it says what it asks for: the OpenAPI document is written from that, so it cannot drift.
// A reader therefore asks for the same fields whatever their values are, and does nothing else.
//
// The document groups endpoints (Group), says more of one (Describe) and shows an example of every answer, made of the tags
// of its type: doc, example, format, pattern, enum, min, max. A field with the tag header is answered as a header.
//
// What the package expects of the code behind an endpoint are four small methods on errors, so that the domain needs no
// import of it:
//
//	Code() string                  the code of WIRE.md, Errors; the error's text is the sentence for people
//	RetryAfter() time.Duration     overrides the wait that the table gives the code
//	Replay() (int, []byte)         not a failure: the answer that an Idempotency-Key stands for (see Command)
//	Is/As/Unwrap                   as usual: any of the above may be wrapped
//
// Everything else that comes out of an endpoint as an error is a defect: 500 `internal`, and API.Defect hears the cause.
package endpoint
