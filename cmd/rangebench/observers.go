package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/actors"
	"rangegate/api"
	"rangegate/cmd/rangebench/figures"
)

// The observers of an experiment, each of which follows the table of all actors.
const (
	observerCount = 10
	observerToken = "observers"
)

var beingObserved = experiment{
	"observer",
	"ten observers follow all actors while 10,000 sessions end and 500 a second are sold: what does it cost?",
	measureObserved,
}

// measureObserved measures the same ends and sales with and without observers, by turns.
func measureObserved(ctx context.Context, t *trial) error {
	e := expiry{lanes: t.lanes(10_000), selling: true}
	late := []figures.Figure{
		{
			Name: "p99", Unit: "ms", Goal: figures.AtMost(1.1),
			What:  "from a session's deadline to the order to stop at the link, while ten observers follow all actors",
			Limit: "the same without observers",
		},
		{Name: "p99.9", Unit: "ms", What: "likewise", Limit: "likewise"},
	}
	core := figures.Figure{
		Name: "core", Unit: "% CPU", Goal: figures.Below(5), What: "of one core, for the ten observers",
	}
	for round := range t.rounds(4) {
		t.say("round %d of %d, with observers", round+1, t.rounds(4))
		with, err := t.ours(ctx, round, func(ctx context.Context) ([]float64, error) {
			return e.observed(ctx, t, true)
		})
		if err != nil {
			return err
		}
		t.say("round %d of %d, without", round+1, t.rounds(4))
		alone, err := e.observed(ctx, t, false)
		if err != nil {
			return err
		}
		for i := range late {
			late[i].Ours, late[i].Floor = append(late[i].Ours, with[i]), append(late[i].Floor, alone[i])
		}
		core.Ours = append(core.Ours, with[len(late)]-alone[len(late)])
	}
	t.note(append(late, core)...)
	return nil
}

// observed returns how late sessions end, and what share of a core this process takes meanwhile.
func (e expiry) observed(ctx context.Context, t *trial, observers bool) ([]float64, error) {
	var taken time.Duration
	tails, err := e.ours(ctx, t, func(g *gateway, r *actors.Range) (func() error, error) {
		open := nothingBeside
		if observers {
			open = openObservers
		}
		shut, err := open(g, r)
		if err != nil {
			return nil, err
		}
		begun := cpuTime()
		return func() error {
			taken = cpuTime() - begun
			return shut()
		}, nil
	})
	return append(tails, 100*taken.Seconds()/endsWithin.Seconds()), err
}

// openObservers serves the operations address of the range, and opens the observers in a process of their own.
// It fails at its end if they have seen nothing.
func openObservers(g *gateway, r *actors.Range) (end func() error, err error) {
	server, address, err := serve(operations(g, r))
	if err != nil {
		return nil, err
	}
	all, err := newPeer("observers")
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	end = func() error {
		var seen observersSeen
		err := all.question(observersAsked{}, &seen)
		if err == nil && seen.Bytes == 0 {
			err = errors.New("the observers have seen nothing")
		}
		return errors.Join(err, all.close(), server.Close())
	}
	var seen observersSeen
	if err = all.question(observersAsked{Address: address}, &seen); err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// operations is the operations address of a gateway with one range.
func operations(g *gateway, r *actors.Range) http.Handler {
	registry := prometheus.NewRegistry()
	return api.NewOperations(api.Operations{
		Ready: func() error { return nil }, Metrics: g.registry, KnownHost: func(string) bool { return true },
		Tokens:   api.OperationsTokens{"bench": sha256.Sum256([]byte(observerToken))},
		Limiters: api.NewLimiters(), Traffic: api.NewTraffic(registry),
		Range:   func(id uuid.UUID) (api.OperatedRange, error) { return g.Range(id) },
		Ranges:  func() []uuid.UUID { return []uuid.UUID{r.Layout().Range} },
		Waiting: g.Waiting, Log: g.log,
	})
}

// observers are in a process of their own. They begin at the first question, and tell how much they have received.
type observers struct{}

type observersAsked struct{ Address string } // empty: the observers are open

type observersSeen struct{ Bytes int64 }

// Run answers until the input ends.
func (observers) Run() error {
	var received atomic.Int64
	return answerAll(func(q observersAsked) (observersSeen, error) {
		if q.Address == "" {
			return observersSeen{received.Load()}, nil
		}
		for range observerCount {
			stream, err := openObserver(q.Address)
			if err != nil {
				return observersSeen{}, err
			}
			go func() { _, _ = io.Copy(countingWriter{&received}, stream) }()
		}
		return observersSeen{}, nil
	})
}

func openObserver(address string) (io.ReadCloser, error) {
	request, err := http.NewRequest(http.MethodGet, address+"/observer/actors/stream", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+observerToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("an observer was answered %s", response.Status), response.Body.Close())
	}
	return response.Body, nil
}

// countingWriter counts what is written.
type countingWriter struct{ bytes *atomic.Int64 }

func (w countingWriter) Write(p []byte) (int, error) {
	w.bytes.Add(int64(len(p)))
	return len(p), nil
}
