package api

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// fakeFrames are the frames of the link of a fake range.
type fakeFrames struct {
	mu      sync.Mutex
	waiting []lanes.LinkFrame
	dropped uint64
	wake    chan struct{}
	ended   chan struct{}
	why     error
	stopped int
}

func newFakeFrames() *fakeFrames {
	return &fakeFrames{wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

func (f *fakeFrames) add(dropped uint64, frames ...lanes.LinkFrame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropped, f.waiting = dropped, append(f.waiting, frames...)
	f.wake <- struct{}{}
}

func (f *fakeFrames) end(why error) {
	f.why = why
	close(f.ended)
}

func (s *fakeOperatedRange) FollowFrames(
	_ context.Context, who string, lane uuid.UUID,
) (lanes.FollowedFrames, error) {
	f := s.frames
	return lanes.FollowedFrames{
		Next: func() (frames []lanes.LinkFrame, dropped uint64) {
			f.mu.Lock()
			defer f.mu.Unlock()
			frames, dropped = f.waiting, f.dropped
			f.waiting, f.dropped = nil, 0
			return frames, dropped
		},
		Wake: f.wake, Ended: f.ended, Why: func() error { return f.why }, Stop: func() { f.stopped++ },
	}, s.act("follow_frames", who, lane)
}

// followFrames follows the frames of the lane in the bubble of a test while the story goes on. It returns the messages
// other than beats once the stream has ended, and how long that was.
func followFrames(
	t *testing.T, fake *fakeFrames, closing chan struct{}, story func(),
) (messages []string, took time.Duration) {
	t.Helper()
	of := &fakeOperatedRange{frames: fake}
	settings := operationsSettings(prometheus.NewRegistry(), of, "operator")
	settings.Closing = closing
	h, begun := NewOperations(settings), time.Now()
	var response *httptest.ResponseRecorder
	var following sync.WaitGroup
	following.Go(func() {
		response = send(h, "GET", "/observer/lanes/"+theLane+"/frames", "Authorization", "Bearer operator",
			"Accept", "text/event-stream")
	})
	synctest.Wait()
	story()
	following.Wait()
	require.Equal(t, 200, response.Code)
	require.Equal(t, "text/event-stream", response.Header().Get("Content-Type"))
	require.Equal(t, []string{"operator follow_frames"}, of.acts, "it is on record")
	require.Equal(t, 1, fake.stopped, "nothing is kept any more")
	for message := range strings.SplitSeq(strings.TrimSpace(response.Body.String()), "\n\n") {
		if event, data, _ := strings.Cut(message, "\ndata: "); event != "event: beat" {
			messages = append(messages, strings.TrimPrefix(event, "event: ")+" "+data)
		}
	}
	return messages, time.Since(begun)
}

// An operator follows what goes over the link of a lane, each frame with its time, who has sent it, and what may be
// seen of it.
func TestTheFramesOfALinkAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, closing := newFakeFrames(), make(chan struct{})
		messages, _ := followFrames(t, fake, closing, func() {
			fake.add(0, lanes.LinkFrame{
				At: noon, Sent: true, Kind: "ack", Bytes: 41, Address: "10.0.0.12:7400", Shown: []byte(`{"type":"ack","seq":1}`),
			}, lanes.LinkFrame{At: noon, Kind: "text", Bytes: 3, Problem: "a message that is not a JSON object"})
			time.Sleep(time.Second)
			fake.add(7, lanes.LinkFrame{At: noon, Kind: "ping"})
			time.Sleep(time.Second)
			fake.add(0, lanes.LinkFrame{At: noon, Kind: "close", Bytes: 2, Shown: []byte(`{"status":1000,"reason":""}`)})
			close(closing)
		})
		require.Equal(t, `begin {"at":"2000-01-01T00:00:00.000Z","until":"2000-01-01T00:10:00.000Z","range":"",`+
			`"range_id":"`+uuid.Nil.String()+`","lane_id":"`+theLane+`","name":"Lane 1"}`, messages[0])
		require.Equal(t, `frames {"frames":[{"at":"2026-05-01T12:00:00.250Z","direction":"sent","kind":"ack","bytes":41,`+
			`"controller":"10.0.0.12:7400","problem":null,"frame":{"type":"ack","seq":1}},`+
			`{"at":"2026-05-01T12:00:00.250Z","direction":"received","kind":"text","bytes":3,"controller":null,`+
			`"problem":"a message that is not a JSON object","frame":null}],"dropped":0}`, messages[1])
		require.Contains(t, messages[2], `"kind":"ping"`)
		require.Contains(t, messages[2], `"dropped":7}`)
		rest := strings.Join(messages[3:], "; ")
		require.Regexp(t, `^(frames {"frames":\[{.*"kind":"close",.*}],"dropped":0}; )?end {"reason":"closing",`, rest)
		require.Contains(t, rest, `"kind":"close"`, "nothing that was seen by then is missing")
	})
}

// The last message says why it is the last one.
func TestTheFramesOfALinkAreFollowedUntilSomethingEndsThat(t *testing.T) {
	for reason, end := range map[string]func(f *fakeFrames, closing chan struct{}){
		"time_over":     func(*fakeFrames, chan struct{}) {},
		"not_owner":     func(f *fakeFrames, _ chan struct{}) { f.end(lanes.ErrNotOwner) },
		"range_stopped": func(f *fakeFrames, _ chan struct{}) { f.end(lanes.ErrStarting) },
		"closing":       func(_ *fakeFrames, closing chan struct{}) { close(closing) },
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, closing := newFakeFrames(), make(chan struct{})
				messages, took := followFrames(t, fake, closing, func() { end(fake, closing) })
				require.Equal(t, `end {"reason":"`+reason+`","frames":[],"dropped":0}`, messages[len(messages)-1])
				if reason == "time_over" {
					require.Equal(t, 10*time.Minute, took)
				}
			})
		})
	}
}

// Nobody follows a link without the token, and nobody who cannot be put on record.
func TestWhoFollowsTheFramesOfALink(t *testing.T) {
	fake := &fakeOperatedRange{frames: newFakeFrames()}
	h := newOperationsWith(prometheus.NewRegistry(), fake, "operator")
	at := "/observer/lanes/" + theLane + "/frames"
	require.Equal(t, 401, send(h, "GET", at).Code)
	require.Equal(t, 405, sendAuthorized(h, "POST", at, "").Code)
	code := func(path string) string { return codeOf(t, sendAuthorized(h, "GET", path, "")) }
	require.Equal(t, "lane_not_found", code("/observer/lanes/"+theSession+"/frames"))
	require.Equal(t, "lane_not_found", code("/observer/lanes/"+theSession+"/frames?range="+someRange))
	require.Equal(t, "not_owner", code(at+"?range="+otherRange))
	fake.refused = lanes.ErrTooManyFollowers
	refused := sendAuthorized(h, "GET", at, "")
	require.Equal(t, 409, refused.Code)
	require.Equal(t, "too_many_followers", codeOf(t, refused))
	require.Empty(t, fake.acts)

	var problem map[string]any
	require.NoError(t, json.Unmarshal(refused.Body.Bytes(), &problem))
	require.NotEmpty(t, problem["error"])
}
