package supervised

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"rangegate/lanes"
)

// Awaited is a message that somebody waits for. The actor that takes it answers it in the end. One that an
// actor leaves in its mailbox is refused instead. A message is one by embedding Taken.
type Awaited interface {
	MarkTaken()
	IsTaken() bool
	// Refuse answers whoever waits that the actor has not done it, and why. It does not block.
	Refuse(reason error)
}

// Taken is embedded in messages that are Awaited. Only the goroutine of the mailbox uses it.
type Taken struct{ taken bool }

// MarkTaken notes that an actor has taken the message.
func (t *Taken) MarkTaken() { t.taken = true }

// IsTaken reports whether an actor has taken the message.
func (t *Taken) IsTaken() bool { return t.taken }

// Refuse refuses the message if somebody waits for it.
func Refuse(message any, reason error) {
	if m, ok := message.(Awaited); ok {
		m.Refuse(reason)
	}
}

// Named is a message with a name of its own in logs and metrics. Any other one is named as its type.
type Named interface{ MessageName() string }

func messageName(message any) string {
	if m, ok := message.(Named); ok {
		return m.MessageName()
	}
	name := fmt.Sprintf("%T", message)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// observer counts the messages that wait in the mailboxes of the actors of a kind, and refuses those that an
// actor has left there.
type observer struct{ kind *kind }

// MessagePosted implements actor.MailboxMiddleware.
func (o observer) MessagePosted(any) { o.kind.waiting.Inc() }

// MessageReceived implements actor.MailboxMiddleware. It is called after the actor took the message, and
// after the library dropped it because the actor had stopped. It is not called for a message that panics.
func (o observer) MessageReceived(message any) {
	o.kind.waiting.Dec()
	if timed, ok := message.(*timedMessage); ok {
		message = timed.message
	}
	if m, ok := message.(Awaited); ok && !m.IsTaken() {
		o.kind.tree.refuseDropped(m)
	}
}

// MailboxStarted implements actor.MailboxMiddleware.
func (o observer) MailboxStarted() {}

// MailboxEmpty implements actor.MailboxMiddleware.
func (o observer) MailboxEmpty() {}

// refuseDropped refuses what was in the mailbox of an actor when it stopped. A panic of the refusal must not
// reach the library, which would bring the actor back to life.
func (t *Tree) refuseDropped(message Awaited) {
	defer func() {
		if defect := recover(); defect != nil {
			t.Log.Error().Str("panic", fmt.Sprint(defect)).Str("on", messageName(message)).
				Bytes("stack", debug.Stack()).
				Msg("a dropped message could not be refused")
		}
	}()
	message.Refuse(cmp.Or(context.Cause(t.Life), error(lanes.ErrStarting)))
	t.Metrics.Refused.WithLabelValues(messageName(message)).Inc()
	t.Log.Warn().Str("message_type", messageName(message)).
		Msg("an actor stopped before it took this message; it was refused")
}

// timedMessage is one message in timedShare, chosen at random, whose time in the mailbox and in Receive is measured.
type timedMessage struct {
	message any
	sent    time.Time
	begun   time.Time // when it was taken
}

const timedShare = 64

func sometimesTimed(message any) any {
	if rand.Uint32()%timedShare == 0 {
		return &timedMessage{message: message, sent: time.Now()}
	}
	return message
}

// taken measures the time in the mailbox, and returns what was sent.
func (m *timedMessage) taken(by *kind) any {
	m.begun = time.Now()
	by.wait.Observe(m.begun.Sub(m.sent).Seconds())
	return m.message
}

// done measures the time in Receive.
func (m *timedMessage) done(by *kind, message any) {
	by.work.WithLabelValues(messageName(message)).Observe(time.Since(m.begun).Seconds())
}

// dispatcher runs mailboxes in goroutines, as the library does, on a stack that is large enough for most
// messages: growing it later would copy it twice, which is a quarter of what a sale costs up to the store.
type dispatcher struct{}

// Schedule implements actor.Dispatcher.
func (dispatcher) Schedule(processMessages func()) {
	go func() {
		growStack(0)
		processMessages()
	}()
}

// Throughput implements actor.Dispatcher: messages in a row before other goroutines have a turn.
func (dispatcher) Throughput() int { return 300 }

//go:noinline
func growStack(at int) byte {
	var room [4 << 10]byte
	return room[at]
}
