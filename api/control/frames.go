package control

import (
	"encoding/json"
	"sync"
	"time"

	"rangegate/api/screens"
	"rangegate/lanes"
)

// frameLasts is for how long lanes that were encoded for one screen are good for another. Every message says what instant
// its times are of, so nothing is wrong with an older one, it is only a little late.
const frameLasts = 50 * time.Millisecond

// frames are the lanes of messages, encoded once for all screens that are told the same. Those are all that keep up: a
// ceasefire changes every lane, and every screen of the range hears of it at once.
type frames struct {
	mu             sync.Mutex
	running        Range
	after, version uint64
	at             lanes.Instant
	encoded        []byte
}

// of is the lanes that have changed from one version to another, and the instant they are shown at.
func (f *frames) of(running Range, after, version uint64, changed []lanes.LaneStatus) (now string, encoded []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := running.Now()
	if f.running != running || f.after != after || f.version != version || at.Since(f.at) > frameLasts || at.Before(f.at) {
		text, err := json.Marshal(lanesOf(changed, at))
		if err != nil {
			panic(err)
		}
		f.running, f.after, f.version, f.at, f.encoded = running, after, version, at, text
	}
	return screens.Stamp(f.at.Wall), f.encoded
}

// with puts the lanes behind the rest of a message.
func with(encoded []byte, rest any) screens.Encoded {
	text, err := json.Marshal(rest)
	if err != nil {
		panic(err)
	}
	message := append(make([]byte, 0, len(text)+len(encoded)+len(`,"lanes":`)), text[:len(text)-1]...)
	return append(append(append(message, `,"lanes":`...), encoded...), '}')
}
