package logline

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func TestALineIsAboutALaneOrARequest(t *testing.T) {
	lane, left := uuid.MustParse("44444444-4444-4444-8444-000000000001"), uuid.UUID{15: 9}
	lanes := Lanes(func(id uuid.UUID) string {
		return map[uuid.UUID]string{lane: "Lane 1"}[id]
	})
	var written bytes.Buffer
	log := zerolog.New(&written).Level(zerolog.InfoLevel)
	lanes.Of(log.Info(), lane).Send()
	lanes.Of(log.Info(), left).Send()
	Lanes(nil).Of(log.Info(), left).Send()
	lanes.Of(log.Debug(), lane).Send()
	Traced(log.Info(), "8a3c60f7d188f8fa79d48a391a778fa6").Send()
	Traced(log.Info(), "").Send()
	require.Equal(t, `{"level":"info","lane_id":"44444444-4444-4444-8444-000000000001","lane":"Lane 1"}
{"level":"info","lane_id":"00000000-0000-0000-0000-000000000009"}
{"level":"info","lane_id":"00000000-0000-0000-0000-000000000009"}
{"level":"info","trace_id":"8a3c60f7d188f8fa79d48a391a778fa6"}
{"level":"info"}
`, written.String())
}
