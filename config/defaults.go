package config

import (
	"cmp"
	"time"
)

const day = 24 * time.Hour

// complete sets the default of every setting that was left out. Zero means left out: no duration and no number of this
// configuration may be 0, except a Limit, which is a pointer.
func (c *Config) complete() {
	c.Environment = cmp.Or(c.Environment, InProduction)
	c.HTTP.Address = cmp.Or(c.HTTP.Address, "127.0.0.1:8080")
	c.Operations.Address = cmp.Or(c.Operations.Address, "127.0.0.1:9090")
	c.Log.Level = cmp.Or(c.Log.Level, Info)
	c.HTTP.Limits.complete()
	c.Store.complete()
	for i := range c.Ranges {
		c.Ranges[i].complete()
	}
}

func (l *Limits) complete() {
	l.Requests = cmp.Or(l.Requests, ptr(1000))
	l.Burst = cmp.Or(l.Burst, ptr(2**l.Requests))
	l.Failures = cmp.Or(l.Failures, ptr(60))
}

func ptr(l Limit) *Limit { return &l }

// complete keeps records for a shorter time on Redis, where they occupy memory.
func (s *Store) complete() {
	events, history := 3*day, 30*day
	if s.Redis == "" {
		s.SQLite = cmp.Or(s.SQLite, "data/rangegate.db")
		events, history = 30*day, 90*day
	}
	s.Retention.Events = cmp.Or(s.Retention.Events, events)
	s.Retention.History = cmp.Or(s.Retention.History, history)
	s.Retention.Names = cmp.Or(s.Retention.Names, 30*day)
	s.Retention.Cap = cmp.Or(s.Retention.Cap, 1_000_000)
}

func (r *Range) complete() {
	if r.Token != "" {
		r.Tokens, r.Token = append(r.Tokens, r.Token), ""
	}
	r.OnLinkLoss = cmp.Or(r.OnLinkLoss, RunOut)
	r.LinkGrace = cmp.Or(r.LinkGrace, 30*time.Second)
	if w := r.Webhook; w != nil {
		w.Timeout = cmp.Or(w.Timeout, 10*time.Second)
		w.Concurrency = cmp.Or(w.Concurrency, 16)
		w.Queue = cmp.Or(w.Queue, 10_000)
	}
	if p := r.Products; p != nil {
		p.Timeout = cmp.Or(p.Timeout, 5*time.Second)
	}
	for i := range r.Lanes {
		link := &r.Lanes[i].Link
		link.Driver = cmp.Or(link.Driver, DriverSim)
	}
}
