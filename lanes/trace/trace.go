// Package trace carries a request's trace id from the API to the log line about its delivery. Nothing else depends on it.
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
