// Package trace carries from the API what is recorded of a request: its trace id, and the name of the
// credential that it came with. Nothing else depends on either.
package trace

import "context"

type (
	key struct{}
	who struct{}
)

// With returns ctx with the trace id, 32 hexadecimal digits; empty for what no request has caused.
func With(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, key{}, id)
}

// ID is the trace id of the request that ctx belongs to, empty when there is none.
func ID(ctx context.Context) string {
	id, _ := ctx.Value(key{}).(string)
	return id
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
