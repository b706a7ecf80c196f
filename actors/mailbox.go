package actors

import (
	"runtime"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// yieldAfter is how many messages an actor takes in a row before others have a turn.
const yieldAfter = 300

// mailbox keeps what an actor is sent until it takes it: one message at a time, those of the library's own (system)
// before all others, and none but those while the actor waits for what its supervisor decides. It has a goroutine only
// while there is something to take, and keeps nothing while there is not: there are a hundred thousand idle ones.
type mailbox struct {
	post    *post
	invoker actor.MessageInvoker

	mu        sync.Mutex
	system    queue
	user      queue
	running   bool // the goroutine is there
	suspended bool
}

var _ actor.Mailbox = (*mailbox)(nil)

func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
}

func (m *mailbox) Start() {}

func (m *mailbox) PostSystemMessage(message any) { m.put(&m.system, message) }

func (m *mailbox) PostUserMessage(message any) { m.put(&m.user, message) }

func (m *mailbox) put(to *queue, message any) {
	message = m.post.sent(message)
	m.mu.Lock()
	defer m.mu.Unlock()
	to.put(message)
	if !m.running && (to == &m.system || !m.suspended) {
		m.running = true
		go m.run()
	}
}

func (m *mailbox) run() {
	roomy(0)
	for taken := 1; ; taken++ {
		l, system := m.next()
		if l == nil {
			return
		}
		m.deal(m.post.taken(l.message), system)
		m.post.waiting.Dec()
		if taken%yieldAfter == 0 {
			runtime.Gosched()
		}
	}
}

// roomy makes the stack of a new goroutine larger than 4 KB, which most messages need, while there is next to nothing on it:
// the runtime would copy all that is on it by then, twice. Without it that is a quarter of what a sale costs up to the store.
//
//go:noinline
func roomy(at int) byte {
	var room [4 << 10]byte
	return room[at]
}

// next is nil when there is nothing that may be taken now; whoever posts something then starts the goroutine again.
func (m *mailbox) next() (l *letter, system bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l = m.system.take(); l != nil {
		return l, true
	}
	if !m.suspended {
		l = m.user.take()
	}
	m.running = l != nil
	return l, false
}

// deal lets the actor have the message. One that panics on it is its supervisor's to restart or to stop.
func (m *mailbox) deal(message any, system bool) {
	defer func() {
		if defect := recover(); defect != nil {
			m.invoker.EscalateFailure(defect, message)
		}
	}()
	if !system {
		m.invoker.InvokeUserMessage(message)
		return
	}
	switch message.(type) {
	case *actor.SuspendMailbox:
		m.suspend(true)
	case *actor.ResumeMailbox:
		m.suspend(false)
	default:
		m.invoker.InvokeSystemMessage(message)
	}
}

func (m *mailbox) suspend(suspended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspended = suspended
}

// UserMessageCount is for the library's own metrics.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for l := m.user.first; l != nil; l = l.next {
		n++
	}
	return n
}

// queue is letters in the order in which they came.
type queue struct{ first, last *letter }

type letter struct {
	message any
	next    *letter
}

func (q *queue) put(message any) {
	l := &letter{message: message}
	if q.first == nil {
		q.first = l
	} else {
		q.last.next = l
	}
	q.last = l
}

// take is nil when the queue is empty.
func (q *queue) take() *letter {
	l := q.first
	if l == nil {
		return nil
	}
	if q.first = l.next; q.first == nil {
		q.last = nil
	}
	return l
}
