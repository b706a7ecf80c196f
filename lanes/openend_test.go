package lanes_test

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// openEndModel is what ran of the session on the lane, counted from outside: what of it cannot be proven, and what was
// beyond what was sold.
type openEndModel struct {
	unproven time.Duration // it ran beyond what was sold, and nobody saw whether the line was open
	session  uuid.UUID
	beyond   lanes.Beyond
}

// charged returns how much of the time that goes by a running session is charged.
func (m *model) charged(ran time.Duration, s lanes.Session, d time.Duration) time.Duration {
	bound := max(s.Sold, s.OpenEnd) - ran - m.openEnds.unproven
	d = min(d, bound) // nobody gets more than was sold, or than the bound
	if m.lane.Unproven == nil || !s.HasOpenEnd() {
		return d
	}
	proven := max(0, min(d, s.Sold-ran))
	m.openEnds.unproven += d - proven
	return proven
}

// chargedLate is that of a session that has just begun, some time ago.
func (m *model) chargedLate(s lanes.Session) time.Duration {
	ran := min(m.now.Since(*s.Began), max(s.Sold, s.OpenEnd))
	if m.lane.Unproven == nil || !s.HasOpenEnd() {
		return ran
	}
	proven := min(ran, max(s.Sold, m.lane.Unproven.Since(*s.Began)))
	m.openEnds.unproven = ran - proven
	return proven
}

func (m *model) loseLink(t *rapid.T) {
	if since := m.now; m.lane.Unproven == nil {
		m.lane.Unproven = &since
		if m.lane.Session != nil && m.lane.Due(m.now) {
			m.decide(t, lanes.Expire{})
		}
		if rapid.Bool().Draw(t, "it is put on record") {
			m.decide(t, lanes.LinkLost{})
		}
	}
}

// linkUp is the hello of the hardware, which proves that the line was open for all of the time, or some of it, or
// nothing.
func (m *model) linkUp(t *rapid.T) {
	if m.lane.Unproven == nil {
		return
	}
	if m.lane.Due(m.now) {
		m.decide(t, lanes.Expire{})
	}
	proof := lanes.Proof{
		OpenEnd: rapid.Bool().Draw(t, "can"), Open: rapid.Bool().Draw(t, "open"),
		Session: m.session(t),
	}
	stoodStill := time.Duration(rapid.SampledFrom([]int64{
		0, int64(time.Second), int64(time.Second) + 1,
		int64(20 * time.Minute),
	}).Draw(t, "stood still for"))
	if s := m.lane.Session; s != nil {
		proof.RunsFor = s.RunsFor(m.now) + stoodStill
		if proof.OpenEnd && proof.Open && proof.Session == s.ID {
			if stoodStill <= time.Second {
				stoodStill = 0
			}
			m.ran += m.openEnds.unproven - min(m.openEnds.unproven, stoodStill)
		}
	}
	m.openEnds.unproven = 0
	m.decide(t, lanes.Inspect{Proof: proof})
	if m.lane.Unproven = nil; !proof.OpenEnd {
		since := m.now
		m.lane.Unproven = &since
	}
}

// forgo leaves out what cannot be proven: the clock has stopped, or more was sold.
func (o *openEndModel) forgo() { o.unproven = 0 }

func (o *openEndModel) follow(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command,
	now lanes.Instant,
) {
	s, after := before.Session, change.Lane.Session
	if after == nil || after.Phase != lanes.Running || s != nil && after.Sold != s.Sold {
		o.forgo()
	}
	for _, event := range change.Events {
		require.Equal(t, event.Kind == lanes.SessionStopped && s.HasOpenEnd(), event.Beyond != nil)
		if event.Kind == lanes.SessionBeyond {
			require.False(t, s.GoneBeyond, "it is told once")
			advance, _ := command.(lanes.Advance)
			require.LessOrEqual(t, s.Remaining(now), advance.By, "and then the sold minutes are used up")
		}
	}
	if e := change.Ended; e != nil {
		require.True(t, e.Beyond == 0 || e.Session.GoneBeyond || e.Session.Left > 0 || e.Session.Settled == e.Beyond,
			"that it goes beyond is told before its end")
		require.GreaterOrEqual(t, e.Beyond, o.beyond.Used)
	}
}

// check checks that what is beyond is what ran and was not sold, and never becomes less.
func (o *openEndModel) check(t *rapid.T, s lanes.Session, ran time.Duration, now lanes.Instant) {
	beyond := s.Beyond(now)
	if o.session != s.ID {
		o.session, o.beyond = s.ID, lanes.Beyond{}
	}
	require.Equal(t, max(0, ran-s.Sold), beyond.Owed(), "what ran and was not sold is owed")
	require.GreaterOrEqual(t, beyond.Used, o.beyond.Used, "what was used beyond never becomes less")
	require.GreaterOrEqual(t, beyond.Settled, o.beyond.Settled, "nor what was settled")
	require.GreaterOrEqual(t, beyond.Owed(), time.Duration(0))
	require.LessOrEqual(t, s.Used(now)+beyond.Owed(), max(s.Sold, s.OpenEnd), "nobody gets more than the bound")
	if !s.HasOpenEnd() {
		require.Zero(t, beyond)
	}
	o.beyond = beyond
}
