// Package trace carries the trace id of a request: from the API through the actors to the event log and the log line about
// the delivery. Nothing that the gateway does depends on it.
package trace

import "context"

type key struct{}

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
