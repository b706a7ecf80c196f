package redis

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A process that stood still as it asked has no answer in time. That is no outage of the Sentinels, in which it goes on
// with the master that it knows.
func TestAStandstillDuringTheQuestionIsNoOutageOfTheSentinels(t *testing.T) {
	const within = time.Second
	for ago, serves := range map[time.Duration]bool{within: true, time.Minute: false} {
		s := &sentinels{named: "former:6379", lasts: answerLasts}
		s.note(time.Now().Add(-ago), within, "", errors.New("no answer"))
		require.Equal(t, serves, s.serves("former:6379"), ago)
	}
}
