package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The types and the client are generated from the gateway's own document. This file adds what no document
// says: when a request is sent again, and whether a request to the webhook is the gateway's.
//
//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.json

// NewGateway returns a client of the API for one range. Its methods return a *GatewayError for every answer
// that is no success, and repeat a request as docs/integrators.md says; a POST without an IdempotencyKey is
// never repeated. Goroutines may share it.
func NewGateway(url, rangeID, token string) (*ClientWithResponses, error) {
	return NewClientWithResponses(url, WithHTTPClient(repeating{patience: 2 * time.Minute}),
		WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("range-id", rangeID)
			r.Header.Set("token", token)
			return nil
		}))
}

// GatewayError is an answer that is no success. With Status 0 there was none: nobody knows whether it was
// done, and the same key may try again. So it is with the code not_the_gateway: something in between has
// answered, a sign-in page of a network say.
type GatewayError struct {
	Status  int               `json:"-"`
	Code    string            `json:"code"`
	Message string            `json:"error"`
	Fields  map[string]string `json:"fields"`   // by name, what is wrong with each
	TraceID string            `json:"trace_id"` // quote it when you ask the operator
	Oldest  string            `json:"oldest"`   // of cursor_gone: the cursor to go on from
}

func (e *GatewayError) Error() string { return e.Code + ": " + e.Message }

// repeating sends the requests of the generated client. It reads every answer to its end, so it is not for
// GET /events/stream.
type repeating struct {
	patience time.Duration // after it a request is not repeated any more
}

// Do returns an answer that is a success, or a *GatewayError.
func (c repeating) Do(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	end := time.Now().Add(c.patience)
	for tries, defects := 1, 0; ; tries++ {
		response, body, err := send(request)
		if err == nil && response.StatusCode < 300 {
			if !isOfGateway(request, response.StatusCode, body) {
				return nil, &GatewayError{
					Status: response.StatusCode, Code: "not_the_gateway",
					Message: "the answer is not one of the gateway",
				}
			}
			response.Body = io.NopCloser(bytes.NewReader(body))
			return response, nil
		}
		refused := refusal(response, body, err)
		if refused.Status == http.StatusInternalServerError {
			defects++
		}
		pause, repeat := pauseAfter(refused.Status, response, tries, defects)
		if !repeat || request.Method == http.MethodPost && request.Header.Get("Idempotency-Key") == "" || time.Now().
			Add(pause).After(end) {
			return nil, refused
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// isOfGateway tells a success of the gateway from what something in between has answered. A sale is 201 with
// the session and any other change never 200, with which the sign-in page of a network answers; what is read is
// 200 with JSON.
func isOfGateway(request *http.Request, status int, body []byte) bool {
	if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/sessions") {
		var sold struct {
			ID string `json:"session_id"`
		}
		return status == http.StatusCreated && json.Unmarshal(body, &sold) == nil && sold.ID != ""
	}
	return (status == http.StatusOK) == (request.Method == http.MethodGet) && (len(body) == 0 || json.Valid(body))
}

// client follows no redirect: the gateway redirects nobody, and the token is for no other host.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// send makes one try, with the same body as every other one.
func send(request *http.Request) (*http.Response, []byte, error) {
	wait, _ := strconv.Atoi(request.URL.Query().Get("wait")) // of GET /events, in seconds; 0 without one
	ctx, cancel := context.WithTimeout(request.Context(), 10*time.Second+time.Duration(wait)*time.Second)
	defer cancel()
	try := request.Clone(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, nil, err
		}
		try.Body = body
	}
	response, err := client.Do(try)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response, body, err
}

func refusal(response *http.Response, body []byte, err error) *GatewayError {
	if err != nil {
		return &GatewayError{Code: "no_answer", Message: err.Error()}
	}
	refused := &GatewayError{Status: response.StatusCode}
	if json.Unmarshal(body, refused) != nil || refused.Code == "" { // of a proxy in between
		refused.Code, refused.Message = fmt.Sprintf("status_%d", response.StatusCode),
			"the answer is not one of the gateway"
	}
	return refused
}

// pauseAfter returns how long to wait before the same request is sent again; repeat is false where the answer
// would be the same. No two tills wait equally long, so that they do not all come back at once.
func pauseAfter(status int, response *http.Response, tries, defects int) (pause time.Duration, repeat bool) {
	backoff := min(time.Second<<min(tries-1, 5), 30*time.Second)
	backoff += rand.N(backoff / 2)
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			return time.Duration(seconds)*time.Second + rand.N(time.Second), true
		}
		return backoff, true
	case 0, http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout:
		return backoff, true
	case http.StatusInternalServerError:
		return backoff, defects == 1
	}
	return 0, false
}

// Verify returns the event of a request to the webhook, of which body is the bytes as they came in, or an
// error: answer 401. secrets are the operator's whsec_… text, or the old and the new one while it is being
// replaced.
func Verify(header http.Header, body []byte, secrets ...string) (event Body, err error) {
	err = errors.New("no secret")
	for _, secret := range secrets {
		var verifier *standardwebhooks.Webhook
		if verifier, err = standardwebhooks.NewWebhook(secret); err != nil {
			return Body{}, err
		}
		if err = verifier.Verify(body, header); err == nil {
			return event, json.Unmarshal(body, &event)
		}
	}
	return Body{}, err
}
