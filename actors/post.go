package actors

import (
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// timedOf is of how many messages one is timed, drawn by lot: that costs the others nothing that can be measured, and no
// mailbox has to count.
const timedOf = 64

// post is what the mailboxes of the actors of a kind have in common.
type post struct {
	waiting prometheus.Gauge    // messages of all of them that are not dealt with yet
	wait    prometheus.Observer // how long those that are timed waited, in seconds
}

// timed is a message on its way of which is known when it was sent.
type timed struct {
	message any
	sent    time.Time
}

// sent is the message as it goes into a mailbox.
func (p *post) sent(message any) any {
	p.waiting.Inc()
	if rand.Uint32()%timedOf == 0 {
		return &timed{message, time.Now()}
	}
	return message
}

// taken is the message as it comes out.
func (p *post) taken(message any) any {
	t, is := message.(*timed)
	if !is {
		return message
	}
	p.wait.Observe(time.Since(t.sent).Seconds())
	return t.message
}
