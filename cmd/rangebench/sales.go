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

// salesOn is what 64 clients of a POS can do at once, everything durable before it is answered.
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

// deed is one of the things that a POS does to a session.
type deed struct {
	name   string
	status int
	calls  func(s *shop) calls
}

var deeds = []deed{
	{"create", http.StatusCreated, (*shop).creates},
	{"modify", http.StatusNoContent, (*shop).modifies},
	{"stop", http.StatusNoContent, (*shop).stops},
}

func measureSales(ctx context.Context, t *trial, kind storeKind) (err error) {
	s, err := openShop(ctx, t, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var into []figures.Figure
	for _, d := range deeds {
		into = append(into,
			figures.Figure{
				Name: d.name, Unit: "1/s", Goal: figures.AtLeast(0.7),
				What: "requests a second with 64 clients", Limit: "a bare chi handler that decodes the same body and commits records of the same size in groups",
			},
			figures.Figure{Name: d.name + " p99", Unit: "ms", Goal: latency(d), What: "the 99th percentile of the same", Limit: "of the same"})
	}
	return t.compare(ctx, 3, s.gatewaySells, s.bareSells, into...)
}

// latency: a p99 is promised of sales alone.
func latency(d deed) figures.Goal {
	if d.name == "create" {
		return figures.AtMost(2)
	}
	return figures.Goal{}
}

// shop is a range that sells, and a bare server beside it.
type shop struct {
	*counter
	bare   *bareCounter
	scales *scales
	saved  map[string]saving // deed → what the gateway saved for one
	answer map[string]string // deed → what it answered
}

func openShop(ctx context.Context, t *trial, kind storeKind) (s *shop, err error) {
	g, err := newGatewayOn(kind)
	if err != nil {
		return nil, err
	}
	s = &shop{scales: &scales{Store: g.file.Store}, saved: map[string]saving{}, answer: map[string]string{}}
	g.file.Store = s.scales
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

// rehearse does each deed once, to see what the gateway saves for it and answers.
func (s *shop) rehearse() error {
	for _, d := range deeds {
		one := d.calls(s)
		one.Clients, one.Status, one.Paths = 1, d.status, one.Paths[:1]
		one.Bodies = one.Bodies[:min(1, len(one.Bodies))]
		s.scales.empty()
		how, err := s.call(one)
		if err != nil {
			return err
		}
		s.saved[d.name], s.answer[d.name] = s.scales.read(), how.Body
	}
	return nil
}

// gatewaySells sells a session on every lane, changes each, and stops it.
func (s *shop) gatewaySells(context.Context) (had []float64, err error) {
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

// bareSells sends a bare server the same.
func (s *shop) bareSells(context.Context) (had []float64, err error) {
	for _, d := range deeds {
		all := d.calls(s)
		if len(all.Paths) == 0 { // nothing is on a lane of the gateway any more
			for _, place := range s.r.Layout().Lanes { // its records take the place of the same lanes', as ours do
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

func (s *shop) creates() calls {
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

func (s *shop) modifies() calls { return s.toEach("modify") }
func (s *shop) stops() calls    { return s.toEach("stop") }

// toEach is a request to each session that is on a lane now.
func (s *shop) toEach(deed string) calls {
	all := calls{Method: http.MethodPost}
	for _, session := range s.r.Sessions() {
		all.Paths = append(all.Paths, pathOf(deed, session.ID))
	}
	return all
}

func pathOf(deed string, session uuid.UUID) string {
	path := prefix + "/sessions/" + session.String() + "/" + deed
	if deed == "modify" {
		path += "?time=15"
	}
	return path
}

func (s *shop) close() error {
	return errors.Join(s.counter.close(), s.gateway.close(), s.bare.close())
}
