package catalog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"rangegate/webhook/egress"
)

// Failed is why there are no products of a type: the integrator's side could not be reached, or answered nonsense. It
// never tells the query of an address, nor a user or password in it.
type Failed struct {
	Type    Type
	Reason  string // a clause about the products API, for developers of a POS
	outcome string
}

func (f *Failed) Error() string {
	return fmt.Sprintf("products of type %s: the products API %s", f.Type, f.Reason)
}

// Code is products_failed (WIRE.md, Errors).
func (f *Failed) Code() string { return "products_failed" }

// The reasons that do not depend on anything.
var (
	noURL     = Failed{Reason: "is configured with an address that is no URL", outcome: "unreachable"}
	noArray   = Failed{Reason: "did not answer with a JSON array", outcome: "invalid"}
	tooLarge  = Failed{Reason: "answered with more than 1 MiB", outcome: "too_large"}
	otherHost = Failed{Reason: "redirects to another host, which is not followed", outcome: "redirected"}
	tooFar    = Failed{Reason: "redirects more than 3 times", outcome: "redirected"}
)

func badStatus(status int) Failed {
	return Failed{
		Reason:  fmt.Sprintf("answered with status %d %s, where 200 is wanted", status, http.StatusText(status)),
		outcome: "refused",
	}
}

func timedOut(after time.Duration) Failed {
	return Failed{Reason: fmt.Sprintf("did not answer in full within %s", after.Round(10*time.Millisecond)), outcome: "timed_out"}
}

// broken is what an error of a request comes to, after so long.
func broken(err error, after time.Duration) Failed {
	var known *Failed
	var timeout net.Error
	switch {
	case errors.As(err, &known):
		return *known
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return timedOut(after)
	}
	reason := egress.Reason(err, "the connection failed, or broke before the answer was complete")
	return Failed{Reason: "could not be reached: " + reason, outcome: "unreachable"}
}
