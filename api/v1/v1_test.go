package v1

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// The hand-written encoding has the same bytes as encoding/json for version 1's view.
func TestASessionIsEncodedAsItsView(t *testing.T) {
	began := time.Date(2026, time.May, 1, 12, 0, 0, 250e6, time.UTC)
	waiting := &lanes.SessionView{ID: uuid.New(), Lane: uuid.New(), Group: uuid.New(), Minutes: 60, Created: began}
	running := *waiting
	running.Began, running.Remaining, running.Purchasing = &began, 59*time.Minute+time.Millisecond, true

	all := []*lanes.SessionView{waiting, &running}
	views := []SessionView{{waiting.ID, v2.KeysOf(waiting)}, {running.ID, v2.KeysOf(&running)}}
	require.Equal(t, asJSON(t, views), string(appendViews(all)(nil)))
	require.Equal(t, asJSON(t, views[0]), string(sold(v2.Sale{}, waiting)(nil)))
	require.Equal(t, asJSON(t, views[1]), string(sold(v2.Sale{}, &running)(nil)))
}

func asJSON(t *testing.T, v any) string {
	encoded, err := json.Marshal(v)
	require.NoError(t, err)
	return string(bytes.TrimSpace(encoded))
}
