package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// Settings is what a Client needs to know.
type Settings struct {
	URL       string            // of the products API, http or https, without the last path element "products"
	Timeout   time.Duration     // for a whole request, to the last byte of its answer; above zero
	Transport http.RoundTripper // nil: http.DefaultTransport
	UserAgent string
	Log       zerolog.Logger
	Metrics   *Metrics // shared by the clients of all ranges
}

// Client asks one integrator's products API. It keeps nothing of what it was answered: every call is a request.
type Client struct {
	settings Settings
	http     http.Client
}

// New is a client with these settings.
func New(s Settings) *Client {
	return &Client{settings: s, http: http.Client{Transport: s.Transport, CheckRedirect: follow}}
}

// Of is the products of one type, in the integrator's order, as the session's customer is offered them; an empty session
// is none. It never answers nil without an error. The error is a *Failed, which is logged, or context.Canceled when ctx was.
func (c *Client) Of(ctx context.Context, t Type, session string) (products []Product, err error) {
	begun := time.Now()
	defer func() {
		if defect := recover(); defect != nil { // All asks in goroutines, where nobody else would catch it
			c.settings.Metrics.asked(t, "defect", time.Since(begun))
			c.settings.Log.Error().Str("type", string(t)).Interface("panic", defect).Bytes("stack", debug.Stack()).
				Msg("a catalogue panicked")
			products, err = nil, &Failed{Type: t, Reason: "could not be asked: a defect of the gateway", outcome: "defect"}
		}
	}()
	body, err := c.fetch(ctx, t, session)
	if err == nil {
		var elements []json.RawMessage
		if elements, err = split(body); err == nil {
			c.settings.Metrics.asked(t, "ok", time.Since(begun))
			return c.forSale(t, elements), nil
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		c.settings.Metrics.asked(t, "abandoned", time.Since(begun))
		return nil, context.Canceled
	}
	took := time.Since(begun)
	failed := broken(err, took)
	failed.Type = t
	c.settings.Metrics.asked(t, failed.outcome, took)
	c.settings.Log.Warn().Str("type", string(t)).Str("outcome", failed.outcome).Msg(failed.Error())
	return nil, &failed
}

// All is the products of every type. The four requests run side by side; the first that fails is the error, as of Of.
func (c *Client) All(ctx context.Context, session string) (Catalogue, error) {
	var all Catalogue
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range Types {
		group.Go(func() (err error) {
			*all.of(t), err = c.Of(ctx, t, session)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Catalogue{}, err
	}
	return all, nil
}
