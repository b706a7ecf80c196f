package lanesim

// LoseAcks lets acks get lost, so that every report comes again after a reconnect.
func (c *Controller) LoseAcks(on bool) { c.set(func(w *wrong) { w.losesAcks = on }) }

// Duplicate sends every report twice.
func (c *Controller) Duplicate(on bool) { c.set(func(w *wrong) { w.twice = on }) }

// Reorder lets the second of two reports overtake the first.
func (c *Controller) Reorder(on bool) { c.set(func(w *wrong) { w.shuffle = on }) }

func (t *talk) report(text []byte) {
	wrong := t.with.is()
	t.speaking.Lock()
	held := t.held
	t.held = nil
	if wrong.shuffle && held == nil {
		t.held = text
		t.speaking.Unlock()
		return
	}
	t.speaking.Unlock()
	texts := [][]byte{text}
	if wrong.twice {
		texts = append(texts, text)
	}
	if held != nil {
		texts = append(texts, held)
	}
	t.say(texts...)
}
