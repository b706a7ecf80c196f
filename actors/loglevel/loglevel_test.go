package loglevel

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

var north, south, lane, otherLane = uuid.New(), uuid.New(), uuid.New(), uuid.New()

// log is the log of a gateway with two ranges.
type log struct {
	bytes.Buffer
	process, north, south zerolog.Logger
}

func newLog() *log {
	l := &log{}
	l.process = OfProcess(zerolog.New(l))
	l.north, l.south = OfRange(l.process, north), OfRange(l.process, south)
	return l
}

// write has everyone write a line at debug and one at info, and returns who got theirs at debug into the log.
func (l *log) write(t *testing.T) (debugged string) {
	l.Reset()
	for name, from := range map[string]*zerolog.Logger{
		"process": &l.process, "north": &l.north, "south": &l.south,
		"lane": OfLane(&l.north, lane), "other": OfLane(&l.north, otherLane),
	} {
		from.Debug().Msg("debug of " + name)
		from.Info().Msg("info of " + name)
	}
	require.Equal(t, 5, strings.Count(l.String(), "info of "))
	var all []string
	for _, name := range []string{"process", "north", "south", "lane", "other"} {
		if strings.Contains(l.String(), "debug of "+name) {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

func atInfo(t *testing.T) {
	before := zerolog.GlobalLevel()
	t.Cleanup(func() { Set(before) })
	Set(zerolog.InfoLevel)
}

// A range or a lane is at debug for ten minutes, alone, and the process is as it was afterwards.
func TestOneRangeOrLaneIsAtDebugForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		atInfo(t)
		l := newLog()
		require.Empty(t, l.write(t))
		require.Equal(t, time.Now().Add(DebugFor), Debug(north, uuid.Nil).Until)
		require.Equal(t, "north lane other", l.write(t))
		level, of := Process()
		require.Equal(t, []any{zerolog.InfoLevel, north}, []any{level, of.Range})

		time.Sleep(DebugFor - time.Second)
		Debug(north, lane)
		time.Sleep(DebugFor - time.Second)
		require.Equal(t, "lane", l.write(t), "the ten minutes are its own, not those of the range before")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, l.write(t))
		require.Equal(t, zerolog.InfoLevel, zerolog.GlobalLevel())

		Debug(south, uuid.Nil)
		require.Equal(t, "south", l.write(t))
		Set(zerolog.DebugLevel)
		require.Equal(t, "process north south lane other", l.write(t))
		_, of = Process()
		require.Nil(t, of)
	})
}

func BenchmarkLine(b *testing.B) {
	before := zerolog.GlobalLevel()
	b.Cleanup(func() { Set(before) })
	Set(zerolog.InfoLevel)
	plain := zerolog.New(io.Discard).With().Stringer("range_id", north).Logger()
	sampled := OfRange(OfProcess(zerolog.New(io.Discard)), north)
	for name, from := range map[string]*zerolog.Logger{"plain": &plain, "of a range": &sampled} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				OfLane(from, lane).Info().Stringer("lane_id", lane).Str("command", "create").Msg("")
			}
		})
		b.Run(name+", dropped", func(b *testing.B) {
			for b.Loop() {
				OfLane(from, lane).Debug().Stringer("lane_id", lane).Msg("")
			}
		})
	}
}
