// Package logtail lets operators follow the log of the process while it is written: each of them gets the lines that
// pass a filter, and a count of the others.
//
// A follower never makes a writer of the log wait: what it does not take in time is dropped and counted. Nothing is
// kept for followers to come. Without followers a line costs one atomic load.
package logtail

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// The bounds of what followers cost.
const (
	MaxFollowers = 16
	maxQueue     = 256 << 10 // bytes of lines that one follower has not taken
)

// Tail writes the JSON lines of a log, and hands them to followers. It is a zerolog.LevelWriter. Its methods may be
// called from any goroutine.
type Tail struct {
	out       io.Writer
	changing  sync.Mutex // held by whoever changes followers
	followers atomic.Pointer[[]*Follower]
}

// New returns the tail of the log that is written to out, which gets every line once, whoever follows.
func New(out io.Writer) *Tail { return &Tail{out: out} }

// Write implements io.Writer.
func (t *Tail) Write(line []byte) (int, error) { return t.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel implements zerolog.LevelWriter. The result is that of the log.
func (t *Tail) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	n, err := t.out.Write(line)
	if followers := t.followers.Load(); followers != nil {
		for _, f := range *followers {
			f.offer(level, line)
		}
	}
	return n, err
}

// Filter is which lines a follower wants. The zero value is every line from debug on.
type Filter struct {
	Level       zerolog.Level // the lowest one
	Range, Lane uuid.UUID     // only lines that name it in a field; uuid.Nil: all
	Text        string        // only lines that contain it, in upper or lower case
}

// Follow begins to follow. ok is false while there are MaxFollowers already. The caller closes the follower.
func (t *Tail) Follow(filter Filter) (f *Follower, ok bool) {
	t.changing.Lock()
	defer t.changing.Unlock()
	var before []*Follower
	if followers := t.followers.Load(); followers != nil {
		before = *followers
	}
	if len(before) >= MaxFollowers {
		return nil, false
	}
	f = newFollower(t, filter)
	t.followers.Store(new(append(slices.Clone(before), f)))
	return f, true
}

// Followers returns how many follow.
func (t *Tail) Followers() int {
	if followers := t.followers.Load(); followers != nil {
		return len(*followers)
	}
	return 0
}

func (t *Tail) remove(f *Follower) {
	t.changing.Lock()
	defer t.changing.Unlock()
	followers := t.followers.Load()
	if followers == nil {
		return
	}
	if left := slices.DeleteFunc(slices.Clone(*followers), func(of *Follower) bool { return of == f }); len(left) > 0 {
		t.followers.Store(&left)
		return
	}
	t.followers.Store(nil)
}

// Counts are the lines that were written since a follower began.
type Counts struct {
	Matching    uint64 // that it has taken
	NotMatching uint64 // that its filter leaves out
	Dropped     uint64 // that match and were not taken in time
}

// Follower gets the lines that pass its filter.
type Follower struct {
	tail   *Tail
	level  zerolog.Level
	ids    [][]byte // that a line has in a field, each
	texts  [][]byte // of which a line contains one, in lower case; none: any line
	waking chan struct{}

	mu      sync.Mutex
	queue   []byte // whole lines
	full    bool   // a line was dropped, and so is each later one until the queue is taken
	lowered []byte // a line in lower case
	counts  Counts
}

func newFollower(tail *Tail, filter Filter) *Follower {
	f := &Follower{tail: tail, level: filter.Level, waking: make(chan struct{}, 1)}
	for _, id := range []uuid.UUID{filter.Range, filter.Lane} {
		if id != uuid.Nil {
			f.ids = append(f.ids, []byte(`:"`+id.String()+`"`)) // within a text its quotes would be \"
		}
	}
	if filter.Text != "" {
		text := lower(nil, []byte(filter.Text))
		f.texts = append(f.texts, text)
		if escaped := escape(string(text)); !bytes.Equal(escaped, text) {
			f.texts = append(f.texts, escaped)
		}
	}
	return f
}

// escape returns a text as it stands between the quotes of a JSON line.
func escape(text string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // as the log does not
	_ = encoder.Encode(text)     // text always can
	return out.Bytes()[len(`"`) : out.Len()-len("\"\n")]
}

// Waking is sent to when there may be something to take.
func (f *Follower) Waking() <-chan struct{} { return f.waking }

// Take returns the lines since the call before, oldest first, each as it was written, and the counts so far: what was
// dropped is younger than these lines. It takes over into, which may be what an earlier call returned.
func (f *Follower) Take(into []byte) (lines []byte, counts Counts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines, f.queue, f.full = f.queue, into[:0], false
	return lines, f.counts
}

// Close ends it.
func (f *Follower) Close() { f.tail.remove(f) }

// offer queues a line that matches. It never blocks for longer than another line takes.
func (f *Follower) offer(level zerolog.Level, line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.matches(level, line):
		f.counts.NotMatching++
	case f.full || len(f.queue)+len(line) > maxQueue:
		f.full = true
		f.counts.Dropped++
	default:
		f.queue = append(f.queue, line...)
		f.counts.Matching++
	}
	f.Wake()
}

// Wake sends to Waking.
func (f *Follower) Wake() {
	select {
	case f.waking <- struct{}{}:
	default: // it is awake
	}
}

// matches looks at the cheapest first. f.mu is held.
func (f *Follower) matches(level zerolog.Level, line []byte) bool {
	if level == zerolog.NoLevel { // a line that is logged at every level says which one it has
		level = levelOf(line)
	}
	if level < f.level {
		return false
	}
	for _, id := range f.ids {
		if !bytes.Contains(line, id) {
			return false
		}
	}
	if len(f.texts) == 0 {
		return true
	}
	f.lowered = lower(f.lowered[:0], line)
	return slices.ContainsFunc(f.texts, func(text []byte) bool { return bytes.Contains(f.lowered, text) })
}

// levelOf returns the level that a line names; without one it is shown to everyone.
func levelOf(line []byte) zerolog.Level {
	var named struct{ Level string }
	if json.Unmarshal(line, &named) != nil || named.Level == "" {
		return zerolog.NoLevel
	}
	level, err := zerolog.ParseLevel(named.Level)
	if err != nil {
		return zerolog.NoLevel
	}
	return level
}

// lower appends the text in lower case.
func lower(to, text []byte) []byte {
	for len(text) > 0 {
		switch c := text[0]; {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(text)
			to, text = utf8.AppendRune(to, unicode.ToLower(r)), text[size:]
			continue
		case 'A' <= c && c <= 'Z':
			to = append(to, c+'a'-'A')
		default:
			to = append(to, c)
		}
		text = text[1:]
	}
	return to
}
