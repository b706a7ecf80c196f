// A till sells an hour, changes it, misses events and catches up, lets the shooter buy, and ends the session.
// It is a webhook receiver as well: start the playground with its address, as README.md says.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	rangeID = "11111111-1111-4111-8111-111111111111"
	token   = "22222222-2222-4222-8222-222222222222"
	secret  = "whsec_cmFuZ2VnYXRlIHBsYXlncm91bmQ6IG5vIHNlY3JldCBhdCBhbGw="
)

var (
	api    = cmp.Or(os.Getenv("API"), "http://127.0.0.1:8080/api/v2/pos")
	listen = cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:3000")
	lane   = uuid.MustParse("44444444-4444-4444-8444-000000000001")
	group  = uuid.MustParse("33333333-3333-4333-8333-000000000001")
)

func main() {
	if err := story(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func story(ctx context.Context) error {
	gateway, err := NewGateway(api, rangeID, token)
	if err != nil {
		return err
	}
	till := &till{known: map[string]bool{}, events: make(chan Body, 1000)}
	receipt := "receipt-" + rand.Text()[:8]
	order := PostSessionsJSONRequestBody{
		CustomerName: "Jo Smith", LaneId: lane, GroupId: group, Duration: 60, EnablePurchasing: new(true),
		ExternalId: &receipt,
	}
	if err := till.open(); err != nil {
		return err
	}
	sold, err := gateway.PostSessionsWithResponse(ctx, &PostSessionsParams{IdempotencyKey: &receipt}, order)
	if err != nil {
		return err
	}
	session := sold.JSON201.SessionId
	till.expect(session, "sessionCreated")
	till.expect(session, "sessionStarted")
	fmt.Println("sold: 60 minutes")
	_, err = gateway.PostSessionsWithResponse(ctx, &PostSessionsParams{IdempotencyKey: new(receipt + "-again")}, order)
	fmt.Println("sold again:", code(err))
	_, err = gateway.PostSessionsWithResponse(ctx, &PostSessionsParams{IdempotencyKey: new(receipt + "-third")}, order)
	fmt.Println("sold a third time:", code(err))
	_, err = gateway.PostSessionsWithResponse(ctx, &PostSessionsParams{IdempotencyKey: new(receipt + "-fourth")}, order)
	fmt.Println("sold a fourth time:", code(err))
	_, err = gateway.PostSessionsIdStopWithResponse(ctx, session,
		&PostSessionsIdStopParams{IdempotencyKey: new(receipt + "-passing")})
	fmt.Println("stopped in passing:", code(err))
	_, err = gateway.PostSessionsIdResumeWithResponse(ctx, session,
		&PostSessionsIdResumeParams{IdempotencyKey: new(receipt + "-early")})
	fmt.Println("resumed while it runs:", code(err))
	if _, err := gateway.PostSessionsIdPauseWithResponse(ctx, session,
		&PostSessionsIdPauseParams{IdempotencyKey: new(receipt + "-pause")}); err != nil {
		return err
	}
	till.expect(session, "sessionPaused")
	fmt.Println("paused")

	// The till has handled everything so far. It goes on from here.
	cursor, err := eachEvent(ctx, gateway, "0", func(Event) {})
	if err != nil {
		return err
	}

	till.close()
	extend := &PostSessionsIdModifyParams{Time: 15, IdempotencyKey: new(receipt + "-extend")}
	if _, err := gateway.PostSessionsIdModifyWithResponse(ctx, session, extend); err != nil {
		return err
	}
	if _, err := gateway.PostSessionsIdResumeWithResponse(ctx, session,
		&PostSessionsIdResumeParams{IdempotencyKey: new(receipt + "-resume")}); err != nil {
		return err
	}
	fmt.Println("down: extended, resumed")
	var missed []string
	if _, err := eachEvent(ctx, gateway, cursor, func(logged Event) {
		if till.take("msg_"+logged.Id.String(), logged.Payload) && logged.Payload.SessionId == session {
			missed = append(missed, logged.Payload.Event)
		}
	}); err != nil {
		return err
	}
	fmt.Println("caught up:", strings.Join(missed, ", "))
	till.expect(session, "sessionModified")
	till.expect(session, "sessionResumed")
	if err := till.open(); err != nil {
		return err
	}

	fmt.Println("waiting: buy time on lane 1")
	till.expect(session, "sessionModified")
	now, err := gateway.GetSessionsIdWithResponse(ctx, session)
	if err != nil {
		return err
	}
	if total := now.JSON200.Duration; total != 60+15+till.boughtMinutes() {
		return fmt.Errorf("the session has %d minutes", total)
	}
	if _, err := gateway.PostSessionsIdStopWithResponse(ctx, session,
		&PostSessionsIdStopParams{IdempotencyKey: new(receipt + "-stop")}); err != nil {
		return err
	}
	till.expect(session, "sessionStopped")
	fmt.Println("stopped")
	return nil
}

// eachEvent hands over every event behind the cursor, oldest first, and returns the cursor to go on from.
// With GetEventsParams.Wait it would wait for the next one. Where the cursor is of a log that is gone, as the
// gateway's store was replaced, it goes on from the oldest one that there is: the till leaves out what it knows.
func eachEvent(
	ctx context.Context, gateway *ClientWithResponses, cursor string, handle func(Event),
) (next string, err error) {
	for {
		page, err := gateway.GetEventsWithResponse(ctx, &GetEventsParams{After: &cursor})
		if refused := (*GatewayError)(nil); errors.As(err, &refused) && refused.Code == "cursor_gone" {
			cursor = refused.Oldest
			continue
		}
		if err != nil {
			return "", err
		}
		cursor = page.JSON200.Next
		if len(page.JSON200.Events) == 0 {
			return cursor, nil
		}
		for _, event := range page.JSON200.Events {
			handle(event)
		}
	}
}

// code returns the code with which the gateway refuses.
func code(err error) string {
	if refused := (*GatewayError)(nil); errors.As(err, &refused) {
		return refused.Code
	}
	return "no refusal"
}

// till is what a till knows: the events that it has, each once, and the minutes that shooters bought.
type till struct {
	server *http.Server
	events chan Body

	mu     sync.Mutex
	known  map[string]bool // in a real till: in the database, in the transaction that acts on the event
	bought int
}

// take takes an event, however it came. It returns false if the till has it already.
func (t *till) take(name string, event Body) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[name] {
		return false
	}
	t.known[name] = true
	t.events <- event
	return true
}

// expect waits for the session's next event of that kind. Others are left out: help, carrierHit, and what
// will be added one day.
func (t *till) expect(session uuid.UUID, kind string) {
	timeout := time.After(time.Minute)
	for {
		select {
		case event := <-t.events:
			if event.Event == kind && event.SessionId == session {
				return
			}
		case <-timeout:
			log.Fatalf("%s has not come", kind)
		}
	}
}

func (t *till) boughtMinutes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bought
}

// open opens the webhook.
func (t *till) open() error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	t.server = &http.Server{Handler: http.HandlerFunc(t.receive)}
	go func() { _ = t.server.Serve(listener) }()
	return nil
}

func (t *till) close() { _ = t.server.Close() }

func (t *till) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		return
	}
	event, err := Verify(r.Header, body, secret)
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if event.Event == "purchaseRequest" {
		t.decide(w, event)
		return
	}
	t.take(r.Header.Get("webhook-id"), event)
	w.WriteHeader(http.StatusNoContent)
}

// decide decides a purchase: the till sells time to the account of the session, and nothing else. The status
// is what counts.
func (t *till) decide(w http.ResponseWriter, purchase Body) {
	minutes := 0
	for _, item := range *purchase.Items {
		if item.Id != "time" {
			fmt.Printf("refused at the lane: %d x %s\n", item.Qty, item.Id)
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(map[string]string{
				"error":        "not on account",
				"user_message": "Please pay this at the counter.", "trace_id": "till-1",
			})
			return
		}
		minutes += item.Qty
	}
	t.mu.Lock()
	t.bought += minutes
	t.mu.Unlock()
	fmt.Printf("bought at the lane: %d minutes\n", minutes)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "trace_id": "till-1"})
}
