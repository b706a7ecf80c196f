package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/webhook"
	"rangegate/webhook/egress"
)

// working is a range on a busy day: real links, API and screens served as a gateway does, and an integrator.
type working struct {
	*held
	*counter
	ctx        context.Context
	integrator *peer
	sessions   []uuid.UUID // on the lanes, the oldest first
	next       int         // lane to sell
}

// openWorking opens one with a session on most of its lanes.
func openWorking(ctx context.Context, laneCount int) (w *working, err error) {
	w = &working{ctx: ctx}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.integrator, err = newPeer("receiver"); err != nil {
		return nil, err
	}
	var where delivered
	if err := w.integrator.question(awaited{}, &where); err != nil {
		return nil, err
	}
	layout := layoutOf(laneCount)
	to, err := webhook.New(webhook.Settings{
		Range: layout.Range, URL: where.Address, Secrets: []string{webhookSecret}, Timeout: 10 * time.Second,
		Transport: egress.Transport(false, 16), Version: "bench", Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	if w.held, err = newHeld(ctx, layout, to); err != nil {
		return nil, err
	}
	if w.counter, err = newCounter(w.held.r, w.held.gateway); err != nil {
		return nil, err
	}
	for range laneCount * 8 / 10 {
		if err := w.sells(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// close closes everything that is open.
func (w *working) close() error {
	var errs []error
	if w.counter != nil {
		errs = append(errs, w.counter.close())
	}
	if w.held != nil {
		errs = append(errs, w.held.close())
	}
	if w.integrator != nil {
		errs = append(errs, w.integrator.close())
	}
	return errors.Join(errs...)
}

// work runs the script to its end.
func (w *working) work() error {
	begun := time.Now()
	for _, act := range script {
		if err := pause(w.ctx, time.Until(begun.Add(act.after))); err != nil {
			return err
		}
		if err := act.what(w); err != nil {
			return err
		}
	}
	return pause(w.ctx, time.Until(begun.Add(daySpan)))
}

// ask sends one request of the POS.
func (w *working) ask(method, path string, status int, bodies ...string) error {
	_, err := w.call(calls{Clients: 1, Method: method, Paths: []string{path}, Bodies: bodies, Status: status})
	return err
}

func (w *working) sells() error {
	layout := w.held.r.Layout()
	lane := layout.Lanes[w.next%len(layout.Lanes)].ID
	w.next++
	if err := w.ask(http.MethodPost, prefix+"/sessions", http.StatusCreated,
		saleOf(lane, layout.Groups[0].ID)); err != nil {
		return err
	}
	for _, status := range w.held.r.Lanes() {
		if status.ID == lane && status.Lane.Session != nil {
			w.sessions = append(w.sessions, status.Lane.Session.ID)
			return nil
		}
	}
	return fmt.Errorf("lane %s was sold, and has no session", lane)
}

func (w *working) lists() error {
	return w.ask(http.MethodGet, prefix+"/sessions", http.StatusOK)
}

func (w *working) changes() error {
	return w.ask(http.MethodPost, pathOf("modify", w.sessions[0]), http.StatusNoContent)
}

func (w *working) stops() error {
	first := w.sessions[0]
	w.sessions = w.sessions[1:]
	return w.ask(http.MethodPost, pathOf("stop", first), http.StatusNoContent)
}

func (w *working) holds() error {
	_, err := w.held.r.Hold(w.ctx, lanes.Scope{Kind: lanes.OverRange}, viewerName)
	return err
}

func (w *working) lifts() error {
	_, err := w.held.r.Lift(w.ctx, lanes.Scope{Kind: lanes.OverRange}, uuid.Nil, viewerName)
	return err
}
