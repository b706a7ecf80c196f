package actors

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// reader stands in for an actor's context: it takes what its mailbox hands over, and does as it is told there.
type reader struct {
	mu      sync.Mutex
	heard   []any
	failed  []any // what it panicked on
	dealing atomic.Int32
	clashed atomic.Bool // two messages at a time
}

func (r *reader) take(message any) {
	if r.dealing.Add(1) > 1 {
		r.clashed.Store(true)
	}
	defer r.dealing.Add(-1)
	r.mu.Lock()
	r.heard = append(r.heard, message)
	r.mu.Unlock()
	switch m := message.(type) {
	case error:
		panic(m)
	case func():
		m()
	}
}

func (r *reader) InvokeSystemMessage(message any) { r.take(message) }
func (r *reader) InvokeUserMessage(message any)   { r.take(message) }

func (r *reader) EscalateFailure(_, message any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, message)
}

// gauge is one that can be read.
type gauge struct {
	prometheus.Gauge
	n atomic.Int64
}

func (c *gauge) Inc() { c.n.Add(1) }
func (c *gauge) Dec() { c.n.Add(-1) }

// inMailbox gives the test a mailbox and who reads it, and the number of messages that wait.
func inMailbox(t *testing.T, test func(t *testing.T, m *mailbox, r *reader, waiting *atomic.Int64)) {
	synctest.Test(t, func(t *testing.T) {
		depth, r := &gauge{}, &reader{}
		m := &mailbox{post: &post{waiting: depth, wait: prometheus.NewHistogram(prometheus.HistogramOpts{})}}
		m.RegisterHandlers(r, nil)
		m.Start()
		test(t, m, r, &depth.n)
		synctest.Wait()
		require.False(t, r.clashed.Load(), "two messages at a time")
	})
}

func TestAMailboxHandsOverOneMessageAtATimeInOrder(t *testing.T) {
	inMailbox(t, func(t *testing.T, m *mailbox, r *reader, waiting *atomic.Int64) {
		const senders, each = 8, 1000
		for s := range senders {
			go func() {
				for i := range each {
					m.PostUserMessage([2]int{s, i})
				}
			}()
		}
		synctest.Wait()
		require.Zero(t, waiting.Load())
		require.Len(t, r.heard, senders*each)
		var next [senders]int
		for _, message := range r.heard {
			of := message.([2]int)
			require.Equal(t, next[of[0]], of[1])
			next[of[0]]++
		}
	})
}

func TestSystemMessagesComeFirst(t *testing.T) {
	inMailbox(t, func(t *testing.T, m *mailbox, r *reader, _ *atomic.Int64) {
		m.PostUserMessage(func() {
			m.PostUserMessage("first")
			m.PostSystemMessage("system")
			m.PostUserMessage("second")
		})
		synctest.Wait()
		require.Equal(t, []any{"system", "first", "second"}, r.heard[1:])
	})
}

// An actor that waits for what its supervisor decides takes nothing but what the library tells it.
func TestASuspendedMailboxKeepsWhatItGets(t *testing.T) {
	inMailbox(t, func(t *testing.T, m *mailbox, r *reader, waiting *atomic.Int64) {
		m.PostSystemMessage(&actor.SuspendMailbox{})
		m.PostUserMessage("kept")
		m.PostSystemMessage("taken")
		synctest.Wait()
		require.Equal(t, []any{"taken"}, r.heard)
		require.Equal(t, 1, m.UserMessageCount())
		m.PostUserMessage("kept as well")
		synctest.Wait()
		require.EqualValues(t, 2, waiting.Load())

		m.PostSystemMessage(&actor.ResumeMailbox{})
		synctest.Wait()
		require.Equal(t, []any{"taken", "kept", "kept as well"}, r.heard)
		require.Zero(t, waiting.Load())
		require.Zero(t, m.UserMessageCount())
	})
}

func TestAPanicIsForTheSupervisor(t *testing.T) {
	inMailbox(t, func(t *testing.T, m *mailbox, r *reader, waiting *atomic.Int64) {
		one, another := errors.New("one"), errors.New("another")
		m.PostUserMessage(one)
		m.PostSystemMessage(another)
		m.PostUserMessage("after")
		synctest.Wait()
		require.ElementsMatch(t, []any{one, another}, r.failed)
		require.Contains(t, r.heard, "after")
		require.Zero(t, waiting.Load())
	})
}

// A hundred thousand actors have nothing to do most of the time.
func TestAnIdleMailboxKeepsNothing(t *testing.T) {
	inMailbox(t, func(t *testing.T, m *mailbox, _ *reader, _ *atomic.Int64) {
		for range 1000 {
			m.PostUserMessage("one")
			m.PostSystemMessage("another")
		}
		synctest.Wait()
		require.Zero(t, m.user)
		require.Zero(t, m.system)
		require.False(t, m.running)
	})
}

// One message in so many is timed, whatever it is; nobody who reads a mailbox sees of which kind a message was.
func TestSomeMessagesAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait, r := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "wait"}), &reader{}
		m := &mailbox{post: &post{&gauge{}, wait}}
		m.RegisterHandlers(r, nil)
		const many = 100 * timedOf
		m.PostUserMessage(func() { time.Sleep(time.Second) })
		for i := range many {
			m.PostUserMessage(i)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, r.heard, 1+many)
		for i := range many {
			require.Equal(t, i, r.heard[1+i])
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(wait)
		families, err := registry.Gather()
		require.NoError(t, err)
		seen := families[0].GetMetric()[0].GetHistogram()
		require.InDelta(t, 100, seen.GetSampleCount(), 90, "by lot")
		require.InDelta(t, float64(seen.GetSampleCount()), seen.GetSampleSum(), 1+1e-9, "each waited for a second, but for the first message")
	})
}

// What a message costs that nobody waits for, to be held against an earlier run.
func BenchmarkMailbox(b *testing.B) {
	m := &mailbox{post: &post{
		prometheus.NewGauge(prometheus.GaugeOpts{}), prometheus.NewHistogram(prometheus.HistogramOpts{}),
	}}
	var read sync.WaitGroup
	m.RegisterHandlers(idle{&read}, nil)
	message := any("message")
	b.ReportAllocs()
	for b.Loop() {
		read.Add(1)
		m.PostUserMessage(message)
	}
	read.Wait()
}

// idle does nothing with its messages.
type idle struct{ read *sync.WaitGroup }

func (i idle) InvokeSystemMessage(any)  { i.read.Done() }
func (i idle) InvokeUserMessage(any)    { i.read.Done() }
func (i idle) EscalateFailure(_, _ any) {}
