package logtail

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

var (
	north, south = uuid.New(), uuid.New()
	one, two     = uuid.New(), uuid.New()
)

// take returns the messages that a follower takes.
func take(t *testing.T, f *Follower) (messages []string) {
	t.Helper()
	lines, _ := f.Take(nil)
	for line := range bytes.Lines(lines) {
		_, text, found := strings.Cut(string(line), `"message":"`)
		require.True(t, found, string(line))
		text, _, _ = strings.Cut(text, `"`)
		messages = append(messages, text)
	}
	return messages
}

func follow(t *testing.T, tail *Tail, filter Filter) *Follower {
	t.Helper()
	f, ok := tail.Follow(filter)
	require.True(t, ok)
	t.Cleanup(f.Close)
	return f
}

// atDebug writes every level for as long as the test runs.
func atDebug(t testing.TB) {
	before := zerolog.GlobalLevel()
	t.Cleanup(func() { zerolog.SetGlobalLevel(before) })
	zerolog.SetGlobalLevel(zerolog.DebugLevel)
}

// A follower gets what its filter lets pass, and the others are counted. The log has every line once.
func TestAFollowerGetsTheLinesThatItWants(t *testing.T) {
	atDebug(t)
	for name, c := range map[string]struct {
		filter Filter
		wants  []string
	}{
		"all": {Filter{}, []string{
			"saved", "request", "link down", "hold set", "Überlauf “now”", "log level changed", "panic",
		}},
		"a level":               {Filter{Level: zerolog.WarnLevel}, []string{"link down", "hold set", "panic"}},
		"one that is info":      {Filter{Level: zerolog.InfoLevel, Text: "changed"}, []string{"log level changed"}},
		"a range":               {Filter{Range: north}, []string{"saved", "request", "hold set"}},
		"a range and a level":   {Filter{Range: north, Level: zerolog.WarnLevel}, []string{"hold set"}},
		"a lane, by any field":  {Filter{Lane: one}, []string{"saved", "hold set"}},
		"a lane of another one": {Filter{Range: south, Lane: one}, nil},
		"a text of a value":     {Filter{Text: "REFUSED"}, []string{"link down"}},
		"a text with umlauts":   {Filter{Text: "üBERLAUF"}, []string{"Überlauf “now”"}},
		"a text with quotes":    {Filter{Text: `said "No"`}, []string{"panic"}},
		"a part of the line":    {Filter{Text: `"status":503`}, []string{"request"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			tail := New(&out)
			log := zerolog.New(tail)
			f := follow(t, tail, c.filter)
			ofNorth := log.With().Stringer("range_id", north).Logger()
			ofNorth.Debug().Stringer("lane_id", one).Msg("saved")
			ofNorth.Info().Int("status", 503).Str("path", "/lanes/"+one.String()).Msg("request")
			log.Warn().Stringer("range_id", south).Stringer("lane_id", two).Str("error", "connection Refused").
				Msg("link down")
			ofNorth.Warn().Str("scope", "lane").Stringer("id", one).Msg("hold set")
			log.Info().Str("quotes", `"lane_id":"`+one.String()+`"`).Msg("Überlauf “now”")
			log.Log().Str("level", "info").Msg("log level changed")
			log.Error().Str("panic", `it said "no"`).Msg("panic")

			require.Equal(t, c.wants, take(t, f))
			_, counts := f.Take(nil)
			require.Equal(t, Counts{
				Matching: uint64(len(c.wants)), NotMatching: uint64(7 - len(c.wants)),
			}, counts)
			require.Equal(t, 7, strings.Count(out.String(), "\n"), out.String())
		})
	}
}

// What follows gets the line as it was written, and later lines later.
func TestALineIsTakenOnceAsItWasWritten(t *testing.T) {
	var out bytes.Buffer
	tail := New(&out)
	log := zerolog.New(tail)
	log.Info().Msg("before")
	written := out.Len()
	f := follow(t, tail, Filter{})
	log.Info().Str("text", "a\nb").Msg("first")
	<-f.Waking()
	lines, _ := f.Take(nil)
	require.Equal(t, out.String()[written:], string(lines))
	log.Info().Msg("second")
	lines, counts := f.Take(lines)
	require.Equal(t, `{"level":"info","message":"second"}`+"\n", string(lines))
	require.Equal(t, Counts{Matching: 2}, counts)
	lines, _ = f.Take(lines)
	require.Empty(t, lines)

	f.Close()
	f.Close()
	log.Info().Msg("after")
	lines, _ = f.Take(nil)
	require.Empty(t, lines)
	require.Zero(t, tail.Followers())
}

// A follower that takes nothing costs bounded memory and no other line: the writers go on, the log has all, another
// follower too. What it did not take is counted, behind what it did.
func TestASlowFollowerLosesLinesAndNobodyWaits(t *testing.T) {
	var out bytes.Buffer
	tail := New(&out)
	log := zerolog.New(tail)
	slow, quick := follow(t, tail, Filter{}), follow(t, tail, Filter{Text: "last"})
	const lines = 10_000
	long := strings.Repeat("x", 100)
	for range lines {
		log.Info().Str("field", long).Msg("many")
	}
	log.Info().Msg("the last")
	require.LessOrEqual(t, len(slow.queue), maxQueue)
	taken := take(t, slow)
	_, counts := slow.Take(nil)
	require.False(t, slices.Contains(taken, "the last"), "what was dropped is younger than what was kept")
	require.EqualValues(t, len(taken), counts.Matching)
	require.EqualValues(t, lines+1-len(taken), counts.Dropped)
	require.Equal(t, []string{"the last"}, take(t, quick))
	require.Equal(t, lines+1, strings.Count(out.String(), "\n"))

	log.Info().Msg("later")
	require.Equal(t, []string{"later"}, take(t, slow))
	log.Info().Str("field", strings.Repeat("x", maxQueue)).Msg("longer than everything")
	require.Empty(t, take(t, slow))
	_, counts = slow.Take(nil)
	require.EqualValues(t, lines+2-len(taken), counts.Dropped)
}

// There is a limit to followers, and the place of one that has left is free.
func TestThereIsALimitToFollowers(t *testing.T) {
	tail := New(io.Discard)
	all := make([]*Follower, MaxFollowers)
	for i := range all {
		all[i] = follow(t, tail, Filter{})
	}
	_, ok := tail.Follow(Filter{})
	require.False(t, ok)
	require.Equal(t, MaxFollowers, tail.Followers())
	all[3].Close()
	f := follow(t, tail, Filter{})
	log := zerolog.New(tail)
	log.Info().Msg("all")
	require.Equal(t, []string{"all"}, take(t, f))
	require.Equal(t, []string{"all"}, take(t, all[4]))
	require.Empty(t, take(t, all[3]))
}

// failing is a log that cannot be written.
type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

// The result of a write is that of the log, and followers see what it could not write.
func TestALogThatFailsIsFollowed(t *testing.T) {
	tail := New(failing{io.ErrClosedPipe})
	f := follow(t, tail, Filter{})
	_, err := tail.Write([]byte(`{"message":"lost"}` + "\n"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.Equal(t, []string{"lost"}, take(t, f))
}

// Followers come and go while many write.
func TestFollowersComeAndGoWhileManyWrite(t *testing.T) {
	const writers, lines = 8, 500
	tail := New(io.Discard)
	stays := follow(t, tail, Filter{Text: "line 7 "})
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			log := zerolog.New(tail).With().Int("writer", w).Logger()
			for i := range lines {
				log.Info().Msg(fmt.Sprintf("line %d ", i))
			}
		})
		all.Go(func() {
			var taken []byte
			for range 50 {
				if f, ok := tail.Follow(Filter{}); ok {
					taken, _ = f.Take(taken)
					f.Close()
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, tail.Followers())
	require.Len(t, take(t, stays), writers)
	_, counts := stays.Take(nil)
	require.Equal(t, Counts{Matching: writers, NotMatching: writers * (lines - 1)}, counts)
}

func BenchmarkLine(b *testing.B) {
	atDebug(b)
	line := func(to io.Writer) func(*testing.B) {
		log := zerolog.New(to).With().Stringer("range_id", north).Logger()
		return func(b *testing.B) {
			for b.Loop() {
				log.Info().Stringer("lane_id", one).Str("command", "create").Msg("command")
			}
		}
	}
	b.Run("plain", line(io.Discard))
	b.Run("tail", line(New(io.Discard)))
	for name, filter := range map[string]Filter{
		"followed at error": {Level: zerolog.ErrorLevel}, "followed of another range": {Range: south},
		"followed by a text": {Text: "no such thing"}, "followed by one that takes nothing": {},
	} {
		tail := New(io.Discard)
		f, _ := tail.Follow(filter)
		b.Run(name, line(tail))
		f.Close()
	}
}
