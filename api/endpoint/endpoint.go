package endpoint

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
)

// Endpoint is one method on one path.
type Endpoint struct {
	method, path, summary string
	about                 string // what the summary has no room for
	group                 group
	status                int          // of success
	answer                reflect.Type // of success
	example               any          // of the answer; nil: made of its type's tags
	command               bool         // takes an Idempotency-Key
	unhurried             bool
	fields                []field  // what the reader asks for
	codes                 []string // all it may answer
	serve                 func(ctx context.Context, a *API, w http.ResponseWriter, r *http.Request) error
}

// group is a heading of the document.
type group struct{ name, about string }

// Group puts endpoints under one heading of the document.
func Group(name, about string, endpoints ...Endpoint) []Endpoint {
	for i := range endpoints {
		endpoints[i].group = group{name, about}
	}
	return endpoints
}

// Describe says in the document what the summary has no room for, in Markdown.
func (e Endpoint) Describe(about string) Endpoint {
	e.about = about
	return e
}

// Example shows this answer in the document, instead of one made of the tags of its type.
func (e Endpoint) Example(answer any) Endpoint {
	e.example = answer
	return e
}

// Unhurried is an endpoint that waits for somebody else's server, which has a time-out of its own: neither
// API.Patience nor the write time-out of our own server cuts it off.
func (e Endpoint) Unhurried() Endpoint {
	e.unhurried = true
	return e
}

// Handle declares an endpoint: read takes the request apart, do does it, and its answer goes out with status. Fields of
// an answer with the tag `header` go out as headers. The codes are those that do may answer beside `internal`
// and `timeout`; what is wrong with requests as such is added by itself.
func Handle[T, Out any](
	method, path string, status int, summary string,
	read func(*Input) T,
	do func(context.Context, T) (Out, error),
	codes ...string,
) Endpoint {
	e := declare[Out](method, path, status, summary, func(in *Input) { read(in) }, codes)
	headers := headersOf(e.answer)
	e.serve = func(ctx context.Context, a *API, w http.ResponseWriter, r *http.Request) error {
		in, err := e.receive(w, r)
		if err != nil {
			return err
		}
		asked := read(in)
		if err := in.refusal(); err != nil {
			return err
		}
		out, err := carryOut(ctx, a, func() (Out, error) { return do(ctx, asked) })
		if err != nil {
			return err
		}
		setHeaders(w.Header(), headers, out)
		answer(w, status, out)
		return nil
	}
	return e
}

// NoInput is the reader of an endpoint that asks for nothing.
func NoInput(*Input) Empty { return Empty{} }

// declare makes an endpoint that cannot serve yet: it runs the reader blank to learn what it asks for.
func declare[Out any](method, path string, status int, summary string, read func(*Input), codes []string) Endpoint {
	blank := &Input{}
	read(blank)
	e := Endpoint{
		method: method, path: path, status: status, summary: summary,
		answer: answerOf[Out](),
		fields: blank.fields,
		codes:  append([]string{"internal", "timeout"}, codes...),
	}
	if len(e.fields) > 0 {
		e.codes = append(e.codes, "invalid_request")
	}
	if e.asks(inBody) {
		e.codes = append(e.codes, "too_large", "unsupported_media_type")
	}
	return e
}

func (e *Endpoint) asks(where place) bool {
	return slices.ContainsFunc(e.fields, func(f field) bool { return f.in == where })
}

// bodyOptional says whether the endpoint can do without a body.
func (e *Endpoint) bodyOptional() bool {
	return !slices.ContainsFunc(e.fields, func(f field) bool { return f.in == inBody && f.required })
}

// receive opens a request for the reader. A query or a body that the reader asks nothing of is not looked at; the body
// of a request with an Idempotency-Key is loaded all the same, being part of its fingerprint.
func (e *Endpoint) receive(w http.ResponseWriter, r *http.Request) (*Input, error) {
	in := &Input{request: r}
	if e.asks(inQuery) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			in.unreadable(inQuery, "must be properly encoded")
		}
		in.query = query
	}
	reads := e.asks(inBody)
	if reads || e.command && r.Header.Get(keyHeader) != "" {
		if err := in.load(w); err != nil {
			return nil, err
		}
	}
	if reads {
		return in, in.decode(e.bodyOptional())
	}
	return in, nil
}
