package api

import (
	"context"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/lanes"
)

// How many requests may be carried out at once: by the process, and for one range, so that one whose store or lanes are
// stuck leaves room for the others.
const (
	atOnce      = 4096
	ofOneRange  = atOnce / 2
	tooManyHere = "too many requests are being carried out; nothing was changed"
)

// crowd is the requests that are being carried out. One beyond what fits is answered at once: waiting would only make
// everyone late.
type crowd struct {
	all    chan struct{}
	ranges map[uuid.UUID]chan struct{}
	refuse prometheus.Counter
}

func newCrowd(ranges Credentials, refused prometheus.Counter) *crowd {
	c := &crowd{all: make(chan struct{}, atOnce), ranges: map[uuid.UUID]chan struct{}{}, refuse: refused}
	for id := range ranges {
		c.ranges[id] = make(chan struct{}, ofOneRange)
	}
	return c
}

// admit lets a request of an authenticated range in, or refuses it with `overloaded`.
func (c *crowd) admit(ctx context.Context) (leave func(), err error) {
	own := c.ranges[rangeOf(ctx)]
	if !enter(own) {
		c.refuse.Inc()
		return nil, overloaded{}
	}
	if !enter(c.all) {
		<-own
		c.refuse.Inc()
		return nil, overloaded{}
	}
	return func() { <-c.all; <-own }, nil
}

func enter(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

// overloaded is the refusal of a request that is one too many.
type overloaded struct{}

func (overloaded) Error() string { return tooManyHere }

// Code is overloaded, as for a lane at which too many commands wait.
func (overloaded) Code() string { return lanes.ErrOverloaded.Code() }
