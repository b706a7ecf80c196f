package actors

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"rangegate/lanes/link"
)

// cause is one of metrics.LinkCauses. An error may be several things: the first that it is counts.
func cause(err error) string {
	var (
		slow      net.Error
		lookup    *net.DNSError
		operation *net.OpError
	)
	switch {
	case errors.Is(err, link.ErrFaulty):
		return "faulty"
	case errors.Is(err, errDriver):
		return "driver"
	case errors.Is(err, link.ErrSilent):
		return "silent"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed"
	case errors.As(err, &lookup), errors.As(err, &operation):
		return "unreachable"
	}
	return "other"
}
