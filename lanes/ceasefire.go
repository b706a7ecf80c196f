package lanes

// Hold locks the lane's fire line and pauses what runs. The holds themselves belong to the range; a lane knows only
// whether any of them lies over it.
type Hold struct{}

func (Hold) Name() string { return "hold" }

func (Hold) decide(now Instant, c *Change) error {
	c.Closing = true
	if c.Lane.Held {
		return nil
	}
	c.Lane.Held = true
	if c.Lane.Session != nil {
		c.stands(c.underHold(*c.Lane.Session, c.Lane, now), now)
	}
	return nil
}

// Release tells the lane that the last hold over it has ended. A session that a hold paused resumes; one that
// somebody paused stays paused.
type Release struct{}

func (Release) Name() string { return "release" }

func (Release) decide(now Instant, c *Change) error {
	if !c.Lane.Held {
		return nil
	}
	c.Lane.Held, c.Lane.Released = false, &now
	if c.Lane.Session != nil {
		c.stands(c.underHold(*c.Lane.Session, c.Lane, now), now)
	}
	return nil
}

// underHold brings the session in line with the hold over the lane that it is on: held, what runs is paused; not
// held, what a hold had paused resumes.
func (c *Change) underHold(s Session, lane Lane, now Instant) Session {
	switch {
	case lane.Held && s.Phase == Running:
		s = s.pause(now, true)
		c.happened(SessionPaused, &s, lane.ID, now)
	case !lane.Held && s.Phase == Paused && s.ByHold:
		s = s.resume(now)
		c.happened(SessionResumed, &s, lane.ID, now)
	}
	return s
}
