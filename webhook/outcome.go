package webhook

import (
	"context"

	"rangegate/lanes"
	"rangegate/webhook/egress"
)

// answered is the error of an attempt that got a status.
func answered(status int) string {
	switch status / 100 {
	case 2:
		return ""
	case 3:
		return lanes.Refused + ": redirects are not followed"
	}
	return lanes.Refused
}

// unanswered is the error of an attempt that got no status. caller is the context of whoever asked for it, inTime the
// one within it that ends with the time-out; read tells whether the receiver may have the event.
func unanswered(caller, inTime context.Context, read bool, err error) string {
	switch {
	case !read && caller.Err() != nil:
		return lanes.Unreachable + ": given up before it was sent"
	case !read:
		return lanes.Unreachable + ": " + egress.Reason(err, "no connection could be made")
	case caller.Err() != nil:
		return lanes.Interrupted + ": given up before it was answered"
	case inTime.Err() != nil:
		return lanes.TimedOut
	}
	return lanes.Interrupted + ": the connection broke"
}
