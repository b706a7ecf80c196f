// Package trace carries the trace id of a request along: from whoever takes the request in, through the actors, into the
// event log, to the log line about the delivery. It is on none of the ways that change what happens.
package trace

import "context"

type key struct{}

// With gives what is done in ctx the trace id, 32 hexadecimal digits. What follows from no request has none: empty.
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
