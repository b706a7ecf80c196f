package actors

import (
	"context"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link/websocket/frame"
)

// FollowFrames begins to keep the frames of the link to the lane's hardware for an operator, on record for who, until
// the caller stops it. They are redacted when they are taken, so that neither the lane's actors nor its driver do it.
// Errors: lanes.ErrTooManyFollowers, lanes.ErrLaneNotFound, those that every method of Range may return.
func (o *Observer) FollowFrames(ctx context.Context, who string, lane uuid.UUID) (lanes.FollowedFrames, error) {
	if err := o.has(lane); err != nil {
		return lanes.FollowedFrames{}, err
	}
	follower, err := o.r.taps.Follow(lane)
	if err != nil {
		return lanes.FollowedFrames{}, err
	}
	o.note(ctx, who, lane, lanes.DidFollowFrames, "an operator follows the frames of a lane's link")
	return lanes.FollowedFrames{
		Next: func() (frames []lanes.LinkFrame, dropped uint64) {
			kept, dropped := follower.Next()
			for _, one := range kept {
				frames = append(frames, frame.Redact(one))
			}
			return frames, dropped
		},
		Wake: follower.Wake(), Stop: follower.Stop,
		Ended: o.r.life.Done(), Why: func() error { return context.Cause(o.r.life) },
	}, nil
}
