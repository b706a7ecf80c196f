// Command shooters is a gateway whose simulated lanes buy time as fast as they can, for the test of what
// kills do to that. It buys until its input ends; then it waits until every purchase has ended and prints the
// state of the sessions.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/actors/delivery"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
	"rangegate/test/chaos/credit"
	"rangegate/webhook"
	"rangegate/webhook/egress"
)

func main() {
	path := flag.String("store", "", "the SQLite file")
	url := flag.String("webhook", "", "the integrator's")
	flag.Parse()
	if err := run(*path, *url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path, url string) error {
	clock, err := clock.NewSystem()
	if err != nil {
		return err
	}
	file, err := sqlite.Open(path, store.Retention{
		Events: time.Hour, History: time.Hour, Names: time.Hour,
		Cap: 1_000_000,
	})
	if err != nil {
		return err
	}
	receiver, err := webhook.New(webhook.Settings{
		Range: credit.Range, URL: url, Timeout: 300 * time.Millisecond, Transport: egress.Transport(false, 64),
		Now: time.Now,
	})
	if err != nil {
		return err
	}
	log := zerolog.New(os.Stderr).Level(zerolog.FatalLevel)
	hardware := sim.New(clock.Now)
	gateway := actors.NewGateway(clock, file, metrics.New(prometheus.NewRegistry()), log)
	layout := lanes.Layout{
		Range: credit.Range, Name: "Range", Purchasing: true, Groups: []lanes.Group{{ID: credit.Group, Name: "Public"}},
	}
	for _, id := range credit.Lanes() {
		layout.Lanes = append(layout.Lanes, lanes.Place{ID: id, Name: "Lane", Accessible: true})
	}
	ctx := context.Background()
	err = gateway.StartRange(ctx, actors.Settings{
		Layout: layout, Grace: time.Minute, Driver: hardware,
		Receivers: []delivery.Receiver{{Webhook: receiver, Purchases: true, Slots: 16, Queue: 10_000}},
	})
	if err != nil {
		return err
	}
	for !gateway.Ready(1) {
		time.Sleep(time.Millisecond)
	}
	r, _ := gateway.Range(credit.Range)
	if err := sell(ctx, r); err != nil {
		return err
	}

	closing := make(chan struct{})
	var shooting sync.WaitGroup
	for _, id := range credit.Lanes() {
		shooting.Go(func() { shoot(hardware.Controller(id), closing) })
	}
	_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
	close(closing)
	shooting.Wait()
	for hasPending(r) { // a controller may not know yet what its lane has had since the life before
		time.Sleep(time.Millisecond)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result(r)); err != nil {
		return err
	}
	stopping, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return errors.Join(gateway.Stop(stopping), file.Close())
}

// sell puts a session on every lane that has none.
func sell(ctx context.Context, r *actors.Range) error {
	taken := map[uuid.UUID]bool{}
	for _, session := range r.Sessions() {
		taken[session.Lane] = true
	}
	for _, lane := range credit.Lanes() {
		if taken[lane] {
			continue
		}
		sale := lanes.Create{
			Session: uuid.New(), Group: credit.Group, Customer: "Jo Smith", Minutes: credit.Sold, Purchasing: true,
			AutoStart: true,
		}
		_, err := r.Create(ctx, lane, sale, nil)
		for ; errors.Is(err, lanes.ErrStoreUnavailable); _, err = r.Create(ctx, lane, sale, nil) {
			time.Sleep(100 * time.Millisecond) // the store of a busy machine takes its time
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shoot buys time, one purchase after the other, until closing; then it waits for the last one's end.
func shoot(lane *sim.Controller, closing chan struct{}) {
	for {
		if latest := lane.Shown().Purchase; latest != nil && latest.Phase == lanes.Pending {
			time.Sleep(time.Millisecond)
			continue
		}
		select {
		case <-closing:
			if lane.Unacked() == 0 {
				return
			}
		default:
			if lane.Unacked() == 0 {
				_ = lane.Buy(uuid.New(), lanes.Item{ID: lanes.TimeItem, Qty: 1 + rand.IntN(2)})
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// hasPending reports whether a purchase has not come to its end.
func hasPending(r *actors.Range) bool {
	return slices.ContainsFunc(r.Lanes(), func(status lanes.LaneStatus) bool {
		return slices.ContainsFunc(status.Lane.Purchases(), func(p *lanes.Purchase) bool {
			return p.Phase == lanes.Pending
		})
	})
}

// result is the state of the sessions, and what waits for staff.
func result(r *actors.Range) (s credit.Result) {
	for _, session := range r.Sessions() {
		s.Sessions = append(s.Sessions, credit.Session{ID: session.ID, Minutes: session.Minutes})
	}
	for _, open := range r.Unresolved() {
		s.Unresolved = append(s.Unresolved, open.Event)
	}
	return s
}
