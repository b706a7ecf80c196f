package lanes

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// An event that is sent again keeps what became of it before: the first attempt, and the last of the others.
func TestAnEventThatIsSentAgainKeepsItsAttempts(t *testing.T) {
	event := Logged{Cursor: 1, Event: Event{ID: uuid.New(), Kind: Help}}
	require.True(t, event.Pending())
	for n := 1; n <= 50; n++ {
		reopened := event.Reopened()
		require.True(t, reopened.Pending())
		before := len(event.Earlier)
		event = reopened
		event.Attempt = &Attempt{Error: fmt.Sprint(n)}
		require.False(t, event.Pending())
		event.Again = true
		require.True(t, event.Pending())
		require.LessOrEqual(t, before, len(event.Earlier))
	}
	require.Len(t, event.Earlier, 20)
	require.Equal(t, "1", event.Earlier[0].Error)
	require.Equal(t, "31", event.Earlier[1].Error)
	require.Equal(t, "49", event.Earlier[19].Error)
	require.Equal(t, "50", event.Attempt.Error)
}
