// Package endpoint is the typed HTTP endpoint of rangegate, on chi. It knows nothing of ranges and lanes.
//
// An endpoint is declared in one line, and its reader states the rule of every field once:
//
//	endpoint.Handle("GET", "/sessions/{id}", 200, "One session", readID, s.get, "session_not_found")
//
//	func readID(in *endpoint.Input) uuid.UUID { return in.PathID("id", "Session") }
//
// For a request, the reader returns the value, and all faults are collected by field name. When the endpoint
// is declared, the reader runs once without a request and records its fields, so that the OpenAPI document
// cannot drift. A reader therefore reads the same fields whatever their values are, and does nothing else.
//
// The code behind an endpoint needs no import of this package. Its errors, also wrapped ones, may have these methods:
//
//	Code() string                  the code of WIRE.md, Errors; the error's text is the sentence for people
//	RetryAfter() time.Duration     overrides the wait that the table has for the code, if above zero
//	Replay() (int, []byte)         not a failure: the stored response of an Idempotency-Key (see Command)
//
// Every other error of an endpoint is a defect: 500 `internal`, and API.Defect gets the cause.
package endpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
)

// Endpoint is one method on one path.
type Endpoint struct {
	method, path, summary string
	description           string
	group                 group
	status                int          // of success
	response              reflect.Type // of success
	example               any          // of the response; nil: built from its type's tags
	command               bool         // takes an Idempotency-Key
	withoutTimeout        bool
	maxBody               int      // bytes
	contentType           string   // of the response; empty: JSON
	fields                []field  // that the reader reads
	codes                 []string // that it may respond with
	serve                 func(ctx context.Context, a *API, w http.ResponseWriter, r *http.Request) error
}

// group is a heading of the document.
type group struct{ name, description string }

// Group puts endpoints under one heading of the document.
func Group(name, description string, endpoints ...Endpoint) []Endpoint {
	for i := range endpoints {
		endpoints[i].group = group{name, description}
	}
	return endpoints
}

// Describe adds a description to the document, in Markdown, beside the summary.
func (e Endpoint) Describe(description string) Endpoint {
	e.description = description
	return e
}

// Example puts this response into the document, instead of one built from the tags of its type.
func (e Endpoint) Example(response any) Endpoint {
	e.example = response
	return e
}

// WithoutTimeout exempts an endpoint that waits for another server from API.Timeout and from the server's
// write timeout.
func (e Endpoint) WithoutTimeout() Endpoint {
	e.withoutTimeout = true
	return e
}

// Handle declares an endpoint: read parses the request, do carries it out, and its response is sent with
// status. Fields of a response with the tag `header` are sent as headers. The codes are for the document,
// where the endpoint is in one: those that do may respond with beside `internal`, `timeout` and those of
// malformed requests.
func Handle[In, Out any](
	method, path string, status int, summary string,
	read func(*Input) In,
	do func(context.Context, In) (Out, error),
	codes ...string,
) Endpoint {
	return handle(method, path, status, summary, read, nil, do, codes)
}

// handle is Handle, with await where that is not nil.
func handle[In, Out any](
	method, path string, status int, summary string,
	read func(*Input) In,
	await func(context.Context, In) error,
	do func(context.Context, In) (Out, error),
	codes []string,
) Endpoint {
	e := declare[Out](method, path, status, summary, func(in *Input) { read(in) }, codes)
	headers, paged := headerFields(e.response), isPaged[Out]()
	e.serve = func(ctx context.Context, a *API, w http.ResponseWriter, r *http.Request) error {
		in, err := e.receive(w, r)
		if err != nil {
			return err
		}
		input := read(in)
		if len(in.faults) > 0 {
			return in.faults
		}
		if await != nil {
			if err := await(ctx, input); err != nil {
				return err
			}
			limited, cancel := a.limitTime(ctx, w)
			defer cancel()
			ctx = limited
		}
		room, err := a.reservePage(ctx, paged)
		if err != nil {
			return err
		}
		defer room.Written()
		defer room.Encoded()
		out, err := runAdmitted(ctx, a, input, func() (Out, error) { return do(ctx, input) })
		if err != nil {
			return err
		}
		setHeaders(w.Header(), headers, out)
		return respond(w, status, out, room.Encoded, func() (PageRoom, error) { return a.reservePage(ctx, !paged) })
	}
	return e
}

// NoInput is the reader of an endpoint that reads nothing.
func NoInput(*Input) Empty { return Empty{} }

// WithTarget returns the handler that finds a target, such as the running range of the request, and calls do with it.
func WithTarget[Target, In, Out any](
	find func(context.Context) (Target, error), do func(context.Context, Target, In) (Out, error),
) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, input In) (out Out, err error) {
		target, err := find(ctx)
		if err != nil {
			return out, err
		}
		return do(ctx, target, input)
	}
}

const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "idempotency-replayed"
)

// Command declares an endpoint that changes something, so that a client may repeat it under an Idempotency-Key
// (WIRE.md, Requests). It is Handle with two differences.
//
// do gets the key, or nil if the request has none. It claims the name, waits for another request that holds it, and
// stores, in the same write as the change, what Render returns for its result. K is the domain's own struct of these
// three fields:
//
//	Name         as the client chose it, 1 to 255 visible ASCII characters
//	Fingerprint  of the request: the same name with another fingerprint is the error `idempotency_key_reused`
//	Render       the response as it will be sent, status and body; safe to call from any goroutine
//
// For a repeat, do returns an error with the method Replay() (status int, body []byte), which is what Render
// returned for the first request. That is sent again, byte for byte, with the header `idempotency-replayed:
// true`.
//
// show converts the command and the domain's result into the response; it is NoBody for 204.
func Command[C, A, Out any, K ~struct {
	Name, Fingerprint string
	Render            func(A) (status int, body []byte)
}](
	method, path string, status int, summary string,
	read func(*Input) C,
	do func(context.Context, C, *K) (A, error),
	show func(C, A) Out,
	codes ...string,
) Endpoint {
	e := declare[Out](method, path, status, summary, func(in *Input) { in.key(); read(in) }, codes)
	e.command = true
	e.codes = append(e.codes, "idempotency_key_reused", "request_timeout", "too_large")
	e.serve = func(ctx context.Context, a *API, w http.ResponseWriter, r *http.Request) error {
		in, err := e.receive(w, r)
		if err != nil {
			return a.refuseReuse(ctx, in, err)
		}
		name, command := in.key(), read(in)
		if len(in.faults) > 0 {
			return a.refuseReuse(ctx, in, in.faults)
		}
		var key *K
		if name != "" {
			render := func(result A) (int, []byte) { return status, encode(show(command, result)) }
			key = &K{Name: name, Fingerprint: in.fingerprint(), Render: render}
		}
		result, err := runAdmitted(ctx, a, command, func() (A, error) { return do(ctx, command, key) })
		if err == nil {
			return respond(w, status, show(command, result), func() {}, nil)
		}
		var first interface{ Replay() (int, []byte) }
		if !errors.As(err, &first) {
			return err
		}
		w.Header().Set(replayedHeader, "true")
		status, body := first.Replay()
		write(w, status, body)
		return nil
	}
	return e
}

// refuseReuse returns the refusal of a malformed request: idempotency_key_reused if another request has its
// key, else the given one.
func (a *API) refuseReuse(ctx context.Context, in *Input, refusal error) error {
	if in.complete && a.KeyReused != nil {
		if name := in.key(); name != "" && a.KeyReused(ctx, name, in.fingerprint()) {
			return Refusal("idempotency_key_reused")
		}
	}
	return refusal
}

// NoBody is the empty response to a command.
func NoBody[C, A any](C, A) Empty { return Empty{} }

func (in *Input) key() string {
	return in.Header(keyHeader, 255, "Makes repeating safe: within 24 hours the same request under the same key "+
		"has no second effect and gets the first successful answer again, with the header "+replayedHeader+
		": true. A refused request frees its key.")
}

// fingerprint identifies a request by its method, path, query and body. None of the first three can contain a newline.
func (in *Input) fingerprint() string {
	sum := sha256.New()
	// A hash never fails.
	_, _ = fmt.Fprintf(sum, "%s\n%s\n%s\n", in.request.Method, in.request.URL.EscapedPath(), in.request.URL.RawQuery)
	sum.Write(in.raw)
	return hex.EncodeToString(sum.Sum(nil))
}

// declare returns an endpoint that cannot serve yet. It runs the reader without a request to record its fields.
func declare[Out any](method, path string, status int, summary string, read func(*Input), codes []string) Endpoint {
	recording := &Input{maxBody: MaxBody}
	read(recording)
	e := Endpoint{
		method: method, path: path, status: status, summary: summary, maxBody: recording.maxBody,
		response: documentedType[Out](),
		fields:   recording.fields,
		codes:    append([]string{"internal", "timeout"}, codes...),
	}
	if len(e.fields) > 0 {
		e.codes = append(e.codes, "invalid_request")
	}
	if e.reads(inBody) {
		e.codes = append(e.codes, "request_timeout", "too_large", "unsupported_media_type")
	}
	return e
}

func (e *Endpoint) reads(p place) bool {
	return slices.ContainsFunc(e.fields, func(f field) bool { return f.place == p })
}

// bodyOptional is true if the endpoint requires no field of the body.
func (e *Endpoint) bodyOptional() bool {
	return !slices.ContainsFunc(e.fields, func(f field) bool { return f.place == inBody && f.required })
}

// receive opens a request for the reader. With an Idempotency-Key it always loads the body, for the fingerprint.
func (e *Endpoint) receive(w http.ResponseWriter, r *http.Request) (*Input, error) {
	in := &Input{request: r, maxBody: e.maxBody}
	if e.reads(inQuery) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			in.unreadable(inQuery, "must be properly encoded")
		}
		in.query = query
	}
	readsBody := e.reads(inBody)
	if readsBody || e.command && r.Header.Get(keyHeader) != "" {
		if err := in.load(w); err != nil {
			return in, err
		}
	}
	if readsBody {
		return in, in.decode(e.bodyOptional())
	}
	return in, nil
}
