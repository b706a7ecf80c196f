package lanes

import (
	"encoding/binary"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTheIDOfAFactIsAUUIDOfVersion5(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		session := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "session"))
		number := rapid.Uint64().Draw(t, "number")
		before := session
		require.Equal(t, uuid.NewSHA1(session, binary.BigEndian.AppendUint64(nil, number)), eventID(session, number))
		require.Equal(t, before, session)
	})
}
