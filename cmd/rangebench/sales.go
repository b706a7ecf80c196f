package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"rangegate/cmd/rangebench/figures"
)

var (
	salesOnSQLite = salesOn(sqliteStore)
	salesOnRedis  = salesOn(redisStore)
)

// salesOn measures 64 clients of a POS at once; every change is durable before its response.
func salesOn(kind storeKind) experiment {
	return experiment{
		"http/" + string(kind), "64 clients sell, change and stop sessions; saved in " + string(kind),
		func(ctx context.Context, t *trial) error {
			if t.Store != "" && t.Store != kind {
				return &notMeasured{"another store was asked for"}
			}
			return measureSales(ctx, t, kind)
		},
	}
}

// operation is an operation of a POS on a session.
type operation struct {
	name   string
	status int
	calls  func(s *salesFixture) calls
}

var deeds = []operation{
	{"create", http.StatusCreated, (*salesFixture).creates},
	{"modify", http.StatusNoContent, (*salesFixture).modifies},
	{"stop", http.StatusNoContent, (*salesFixture).stops},
}

func measureSales(ctx context.Context, t *trial, kind storeKind) (err error) {
	s, err := openSalesFixture(ctx, t, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var into []figures.Figure
	for _, d := range deeds {
		into = append(into,
			figures.Figure{
				Name: d.name, Unit: "1/s", Goal: figures.AtLeast(0.7),
				What:  "requests a second with 64 clients",
				Limit: "a bare chi handler that decodes the same body and commits records of the same size in groups",
			},
			figures.Figure{
				Name: d.name + " p99", Unit: "ms", Goal: latency(d), What: "the 99th percentile of the same",
				Limit: "of the same",
			})
	}
	return t.compare(ctx, 3, s.measureGatewaySales, s.measureBareSales, into...)
}

// latency returns the goal for the p99, which only sales have.
func latency(d operation) figures.Goal {
	if d.name == "create" {
		return figures.AtMost(2)
	}
	return figures.Goal{}
}

// salesFixture is a range behind the API, and a bare server.
type salesFixture struct {
	*counter
	bare       *bareCounter
	flushSizes *flushSizes
	saved      map[string]saving // operation → what the gateway saved for one
	answer     map[string]string // operation → its response
}

func openSalesFixture(ctx context.Context, t *trial, kind storeKind) (s *salesFixture, err error) {
	g, err := newGatewayOn(kind)
	if err != nil {
		return nil, err
	}
	s = &salesFixture{
		flushSizes: &flushSizes{Store: g.file.Store}, saved: map[string]saving{},
		answer: map[string]string{},
	}
	g.file.Store = s.flushSizes
	r, err := g.start(ctx, t.lanes(10_000), nil)
	if err == nil {
		err = linksUp(ctx, r)
	}
	if err == nil {
		s.counter, err = newCounter(r, g)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	if err = s.rehearse(); err == nil {
		s.bare, err = newBareCounter(kind, s.saved, s.answer)
	}
	if err != nil {
		return nil, errors.Join(err, s.counter.close(), g.close())
	}
	return s, nil
}

// rehearse does each operation once, to record what the gateway saves and responds.
func (s *salesFixture) rehearse() error {
	for _, d := range deeds {
		one := d.calls(s)
		one.Clients, one.Status, one.Paths = 1, d.status, one.Paths[:1]
		one.Bodies = one.Bodies[:min(1, len(one.Bodies))]
		s.flushSizes.empty()
		how, err := s.call(one)
		if err != nil {
			return err
		}
		s.saved[d.name], s.answer[d.name] = s.flushSizes.read(), how.Body
	}
	return nil
}

// measureGatewaySales sells a session on every lane, changes each, and stops it.
func (s *salesFixture) measureGatewaySales(context.Context) (had []float64, err error) {
	for _, d := range deeds {
		all := d.calls(s)
		all.Status = d.status
		how, err := s.call(all)
		if err != nil {
			return nil, err
		}
		had = append(had, how.PerSecond, how.P99)
	}
	return had, nil
}

// measureBareSales sends the same requests to a bare server.
func (s *salesFixture) measureBareSales(context.Context) (had []float64, err error) {
	for _, d := range deeds {
		all := d.calls(s)
		if len(all.Paths) == 0 { // no lane of the gateway has a session
			// Its records replace those of the same lanes, as the gateway's do.
			for _, place := range s.r.Layout().Lanes {
				all.Paths = append(all.Paths, pathOf(d.name, place.ID))
			}
		}
		all.Status = d.status
		how, err := s.send(s.bare.address, all)
		if err != nil {
			return nil, err
		}
		had = append(had, how.PerSecond, how.P99)
	}
	return had, nil
}

func (s *salesFixture) creates() calls {
	var all calls
	all.Method = http.MethodPost
	group := s.r.Layout().Groups[0].ID
	for _, place := range s.r.Layout().Lanes {
		all.Paths = append(all.Paths, prefix+"/sessions")
		all.Bodies = append(all.Bodies, saleOf(place.ID, group))
	}
	return all
}

func saleOf(lane, group uuid.UUID) string {
	return fmt.Sprintf(
		`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":60,"enable_purchasing":false,"auto_start":true}`, lane, group)
}

func (s *salesFixture) modifies() calls { return s.requestEach("modify") }
func (s *salesFixture) stops() calls    { return s.requestEach("stop") }

// requestEach returns a request to each present session.
func (s *salesFixture) requestEach(operation string) calls {
	all := calls{Method: http.MethodPost}
	for _, session := range s.r.Sessions() {
		all.Paths = append(all.Paths, pathOf(operation, session.ID))
	}
	return all
}

func pathOf(operation string, session uuid.UUID) string {
	path := prefix + "/sessions/" + session.String() + "/" + operation
	if operation == "modify" {
		path += "?time=15"
	}
	return path
}

func (s *salesFixture) close() error {
	return errors.Join(s.counter.close(), s.gateway.close(), s.bare.close())
}
