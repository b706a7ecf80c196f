package observer

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// laneOf is a lane, and its range if that is named.
type laneOf struct{ lane, rangeID uuid.UUID }

func readLaneOf(in *endpoint.Input) laneOf {
	return laneOf{readLane(in), in.QueryOptionalID("range", "Its range, which may run on another node")}
}

// onLane declares an action on a lane: do does it under the name of the operator's token.
func (s *observerOf) onLane(
	path, summary string, do func(r Range, ctx context.Context, who string, lane uuid.UUID) error,
) endpoint.Endpoint {
	return endpoint.Handle("POST", "/lanes/{lane_id}"+path, 204, summary, readLaneOf,
		func(ctx context.Context, of laneOf) (endpoint.Empty, error) {
			r, err := s.running(of)
			if err != nil {
				return endpoint.Empty{}, err
			}
			return endpoint.Empty{}, do(r, ctx, s.Who(ctx), of.lane)
		})
}

// running returns the range that has the lane. Errors: why the range that is named does not run here, and
// lanes.ErrLaneNotFound if no range that runs here has the lane.
func (s *observerOf) running(of laneOf) (Range, error) {
	if of.rangeID != uuid.Nil {
		if err := s.knows(of.rangeID); err != nil {
			return nil, err
		}
		return s.Range(of.rangeID)
	}
	if r, _, _ := s.rangeOf(of.lane); r != nil {
		return r, nil
	}
	return nil, lanes.ErrLaneNotFound
}
