package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	wholegateway "rangegate/cmd/rangegate/gateway"
	"rangegate/config"
)

// stormGateway is a gateway as the command line starts it, in a process of its own.
type stormGateway struct{}

// stormServing is what it serves. Redis is empty for a SQLite file in Dir.
type stormServing struct {
	Dir, Redis, Webhook string
	Ranges, Lanes       int
}

// Run serves until the input ends.
func (stormGateway) Run() error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var serving errgroup.Group
	err := answerAll(func(s stormServing) (wholegateway.Addresses, error) {
		running, err := wholegateway.New(ctx, wholegateway.Settings{
			Config: s.config(), Version: "rangebench", Log: zerolog.New(io.Discard),
		})
		if err != nil {
			return wholegateway.Addresses{}, err
		}
		serving.Go(func() error { return errors.Join(running.Run(ctx), running.Close()) })
		return running.Addresses(), nil
	})
	stop()
	return errors.Join(err, serving.Wait())
}

// stormQueue is how many events may wait for the webhook: all of a storm. An event beyond the queue is sent by a retry,
// after newer ones of its lane, and the receiver could not tell it from one in the wrong order.
const stormQueue = 1_000_000

// config has the defaults of a gateway in everything else that a storm comes up against.
func (s stormServing) config() config.Config {
	c := config.Playground(1, s.Dir, "127.0.0.1:0", s.Webhook)
	c.Operations.Address = "127.0.0.1:0"
	c.Controllers = &config.Controllers{Address: "127.0.0.1:0", Admit: admitted}
	if s.Redis != "" {
		c.Store.SQLite, c.Store.Redis = "", config.Secret(s.Redis)
	}
	demo := c.Ranges[0]
	c.Ranges = nil
	for n := range s.Ranges {
		r := demo
		r.ID, r.Name = stormRange(n), fmt.Sprint("Range ", n)
		r.Tokens = []config.RangeToken{{Token: config.Secret(stormToken(n)), Scope: config.ScopeSell}}
		r.Products, r.Staff, r.Board = nil, nil, nil
		r.Groups = []config.Group{{ID: stormGroup(n), Name: "Public"}}
		hook := *demo.Webhook
		hook.Retry = &config.Retry{For: time.Hour}
		hook.Queue = stormQueue
		r.Webhook, r.Lanes = &hook, nil
		for i := range s.Lanes {
			lane := demo.Lanes[0]
			lane.ID, lane.Name, lane.ScreenKey = stormLane(n, i), fmt.Sprint("Lane ", i), ""
			lane.Link = config.Link{Driver: config.DriverIncoming, Key: redialKey}
			r.Lanes = append(r.Lanes, lane)
		}
		c.Ranges = append(c.Ranges, r)
	}
	return c
}

// stormSample is what the metrics say at a moment.
type stormSample struct {
	At        time.Duration
	Mailboxes float64 // messages that wait for their actors
	Unsaved   float64 // changes that are not durable
	Waiting   float64 // events that wait for their delivery
	Retrying  float64 // events that await their retry
	LinksUp   float64
	LinksLost float64 // since the start
	Dials     float64 // attempts of controllers since the start
	Memory    float64 // resident, in bytes
}

// sample reads the metrics as Prometheus does.
func (w *stormFixture) sample() (s stormSample, err error) {
	response, err := http.Get(w.at.Operations + "/metrics")
	if err != nil {
		return s, err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, number, _ := strings.Cut(lines.Text(), "} ")
		if !strings.Contains(lines.Text(), "}") {
			series, number, _ = strings.Cut(lines.Text(), " ")
		}
		name, labels, _ := strings.Cut(series, "{")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			continue // a comment
		}
		switch name {
		case "rangegate_actor_mailbox_messages":
			s.Mailboxes += value
		case "rangegate_store_writes_unsaved":
			s.Unsaved += value
		case "rangegate_events_waiting":
			s.Waiting += value
		case "rangegate_events_awaiting_retry":
			s.Retrying += value
		case "rangegate_links_incoming_total":
			s.Dials += value
		case "process_resident_memory_bytes":
			s.Memory = value
		case "rangegate_links":
			if strings.Contains(labels, `state="up"`) {
				s.LinksUp += value
			}
		case "rangegate_links_total":
			if strings.Contains(labels, `what="down"`) {
				s.LinksLost += value
			}
		}
	}
	return s, lines.Err()
}
