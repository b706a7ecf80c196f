// Package trace carries from the API what is recorded of a request: its trace id with its place in that trace, and the
// name of the credential that it came with. Nothing else depends on either.
package trace

import (
	"context"

	"rangegate/lanes"
)

type (
	key struct{}
	who struct{}
)

// place is what a context has of its trace.
type place struct {
	id   string
	span lanes.Span
}

// With returns ctx with the trace id, 32 hexadecimal digits; empty for what no request has caused.
func With(ctx context.Context, id string) context.Context { return WithSpan(ctx, id, lanes.Span{}) }

// WithSpan is With, and what follows from ctx belongs to that span of the trace.
func WithSpan(ctx context.Context, id string, span lanes.Span) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, key{}, place{id, span})
}

// ID is the trace id of the request that ctx belongs to, empty when there is none.
func ID(ctx context.Context) string {
	at, _ := ctx.Value(key{}).(place)
	return at.id
}

// Span is the place in that trace, zero when it is not known.
func Span(ctx context.Context) lanes.Span {
	at, _ := ctx.Value(key{}).(place)
	return at.span
}

// WithWho returns ctx with the name of the POS's token.
func WithWho(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, who{}, name)
}

// Who is the name of the POS's token that the request of ctx came with, empty when it has none.
func Who(ctx context.Context) string {
	name, _ := ctx.Value(who{}).(string)
	return name
}
