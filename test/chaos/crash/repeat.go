package crash

import "encoding/json"

// repeat sends requests again, as a client does after a restart: those that were never answered, if they have
// a key, and the last one with a key that was answered. What has happened does not happen a second time.
func (c *client) repeat(gateway posClient) {
	if c.kept != nil {
		c.repeatKept(gateway)
	}
	settled := c.settled
	c.settled = nil
	for _, r := range settled {
		switch {
		case r.key == "":
		case r.happened:
			c.repeatDone(gateway, r)
		default:
			c.fixture.counters.count("repeated, had not happened")
			c.command(gateway, r)
		}
	}
}

// repeatKept repeats an answered request. The answer has to be the same to the byte.
func (c *client) repeatKept(gateway posClient) {
	first, second := c.kept, *c.kept.request
	again, err := second.send(gateway)
	switch {
	case err != nil:
		c.fixture.fault("%s was repeated, and not answered: %v", first.request, err)
	case again.Status != first.answer.Status, again.Body != first.answer.Body, !replayed(again):
		c.fixture.fault("%s was answered %d %s, and repeated %d %s (replayed: %v)",
			first.request, first.answer.Status, first.answer.Body, again.Status, again.Body, replayed(again))
	default:
		c.fixture.counters.count("repeated, answered as before")
	}
}

// repeatDone repeats a request that had happened although its answer was lost.
func (c *client) repeatDone(gateway posClient, r *request) {
	second := *r
	again, err := second.send(gateway)
	if err != nil || !succeeded(again) || !replayed(again) {
		c.fixture.fault("%s had happened, and repeated it was answered %d %s (replayed: %v; %v)",
			r, again.Status, again.Body, replayed(again), err)
		return
	}
	var view sessionView
	if r.kind == create && (json.Unmarshal([]byte(again.Body), &view) != nil || view.ID != r.session.id) {
		c.fixture.fault("%s had made session %s, and repeated it was answered %s", r, r.session.id, again.Body)
	}
	c.fixture.counters.count("repeated, had happened")
}
