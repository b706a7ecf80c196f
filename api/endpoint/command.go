package endpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
)

const keyHeader = "Idempotency-Key"

// Command declares an endpoint that changes something, so that a client may repeat it under an Idempotency-Key
// (WIRE.md, Requests). It is Handle with two differences.
//
// do gets the key, or nil if the request has none. It claims the name, waits for whoever holds it, and stores, in the
// same write as the change, what Render makes of its answer. K is the domain's own struct of these three fields:
//
//	Name         as the client chose it, 1 to 255 visible ASCII characters
//	Fingerprint  of the request: the same name with another fingerprint is the error `idempotency_key_reused`
//	Render       the answer as it is about to be sent, status and body; safe to call from any goroutine
//
// For a repeat, do returns an error with the method Replay() (status int, body []byte), which is what Render made for the
// first: that is sent again, to the byte, and marked by the header `idempotency-replayed: true`.
//
// show turns the command and the domain's answer into what the wire shows; it is NoBody for 204.
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
	e.codes = append(e.codes, "idempotency_key_reused", "too_large")
	e.serve = func(ctx context.Context, a *API, w http.ResponseWriter, r *http.Request) error {
		in, err := e.receive(w, r)
		if err != nil {
			return err
		}
		name, command := in.key(), read(in)
		if err := in.refusal(); err != nil {
			return err
		}
		var key *K
		if name != "" {
			render := func(done A) (int, []byte) { return status, encode(show(command, done)) }
			key = &K{Name: name, Fingerprint: in.fingerprint(), Render: render}
		}
		done, err := carryOut(ctx, a, func() (A, error) { return do(ctx, command, key) })
		if err == nil {
			answer(w, status, show(command, done))
			return nil
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

// NoBody shows nothing of a command and its answer.
func NoBody[C, A any](C, A) Empty { return Empty{} }

const replayedHeader = "idempotency-replayed"

func (in *Input) key() string {
	return in.Header(keyHeader, 255, "Makes repeating safe: within 24 hours the same request under the same key has no "+
		"second effect and gets the first successful answer again, with the header "+replayedHeader+": true. "+
		"A refused request frees its key.")
}

// fingerprint tells requests apart: method, path, query and body as they were sent. Neither of the first three can hold
// a newline.
func (in *Input) fingerprint() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%s\n", in.request.Method, in.request.URL.EscapedPath(), in.request.URL.RawQuery)
	sum.Write(in.raw)
	return hex.EncodeToString(sum.Sum(nil))
}
