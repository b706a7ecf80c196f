package actors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/actors/hardware"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

// A network switch that returns brings all its lanes at once: maxDials run at a time, and the timeout of each
// begins when its turn comes.
func TestABoundedNumberOfControllersIsDialledAtOnce(t *testing.T) {
	var under, most atomic.Int64
	driver := &fakeDriver{dialResult: func(ctx context.Context) error {
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		<-ctx.Done()
		return ctx.Err()
	}}
	runFixture(t, func(t *testing.T, f *fixture) {
		require.EqualValues(t, 64, under.Load())
		f.advance(time.Minute)
		require.EqualValues(t, 64, most.Load())
		require.Greater(t, len(driver.finishedDials()), 200, "every lane gets its turn")
		for _, dial := range driver.finishedDials() {
			require.Equal(t, dialTimeout, dial.took)
		}
		driver.setDialResult(nil)
		f.advance(time.Minute)
		for _, lane := range f.Lanes() {
			require.Equal(t, lanes.LinkUp, lane.Link)
		}
		synctest.Wait()
	}, withLanes(200), withDriver(driver))
}

// A dial that waits for its turn does not delay the stop of the gateway.
func TestStoppingTheGatewayDoesNotWaitForDials(t *testing.T) {
	driver := &fakeDriver{dialResult: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	runFixture(t, func(t *testing.T, f *fixture) {
		stopped := time.Now()
		f.shutDown()
		require.Equal(t, stopped, time.Now())
	}, withLanes(200), withDriver(driver))
}

// A waiting dial has no goroutine, and no later dial overtakes it.
func TestWaitingDialsRunInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiting = 1000
		var d dialQueue
		release := make(chan struct{})
		for range maxDials {
			d.add(func() { <-release })
		}
		before := runtime.NumGoroutine()
		var mu sync.Mutex
		var made []int
		for i := range waiting {
			d.add(func() {
				mu.Lock()
				defer mu.Unlock()
				made = append(made, i)
			})
		}
		synctest.Wait()
		require.Less(t, runtime.NumGoroutine(), before+waiting/2)
		require.Empty(t, made)
		release <- struct{}{} // lets one of them go, whose goroutine then runs all that wait
		d.add(func() {})
		synctest.Wait()
		require.Len(t, made, waiting)
		require.True(t, slices.IsSorted(made))
		close(release)
		d.finished.Wait()
		require.Zero(t, d.running)
	})
}

func TestASocketThatWasClosedIsNotDialled(t *testing.T) {
	var s socket
	s.close()
	_, wanted := s.beginDial(t.Context())
	require.False(t, wanted)
}

// The errors are those that the operating system returns.
func TestTheCauseOfALinkFailureIsClassified(t *testing.T) {
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
		{hardware.ErrDriver, "driver"},
		{link.ErrFaulty, "faulty"},
		{fmt.Errorf("%w: %w", link.ErrFaulty, io.EOF), "faulty"},
		{errUnheard, "other"},
		{errors.New("an error that no driver has today"), "other"},
	} {
		require.Error(t, c.err)
		require.Equal(t, c.cause, linkCause(fmt.Errorf("writing: %w", c.err)), "%v", c.err)
		require.Contains(t, metrics.LinkCauses, c.cause)
	}
}
