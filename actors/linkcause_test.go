package actors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/actors/metrics"
	"rangegate/lanes/link"
)

// The errors are those that the machine gives.
func TestWhyALinkFailed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	other, err := listener.Accept()
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now()))
	_, tooLate := conn.Read(make([]byte, 1))
	require.NoError(t, conn.SetReadDeadline(time.Time{}))
	_ = other.Close()
	_, hungUp := conn.Read(make([]byte, 1))
	_ = conn.Close()
	_, closed := conn.Read(make([]byte, 1))
	_ = listener.Close()
	_, refused := net.Dial("tcp", listener.Addr().String())
	ended, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, inTime := new(net.Dialer).DialContext(ended, "tcp", "192.0.2.1:1")

	for _, c := range []struct {
		err   error
		cause string
	}{
		{refused, "refused"},
		{tooLate, "timeout"},
		{inTime, "timeout"},
		{ended.Err(), "timeout"},
		{os.ErrDeadlineExceeded, "timeout"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}, "timeout"},
		{hungUp, "closed"},
		{closed, "closed"},
		{io.ErrUnexpectedEOF, "closed"},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "closed"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, "unreachable"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, "unreachable"},
		{link.ErrSilent, "silent"},
		{errDriver, "driver"},
		{link.ErrFaulty, "faulty"},
		{fmt.Errorf("%w: %w", link.ErrFaulty, io.EOF), "faulty"},
		{errUnheard, "other"},
		{errors.New("of a driver that is to come"), "other"},
	} {
		require.Error(t, c.err)
		require.Equal(t, c.cause, linkCause(fmt.Errorf("writing: %w", c.err)), "%v", c.err)
		require.Contains(t, metrics.LinkCauses, c.cause)
	}
}
