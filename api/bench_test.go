package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// benchRange is a range with sessions only.
type benchRange struct {
	v2.Range
	sessions []*lanes.SessionView
}

func (r benchRange) Sessions() []*lanes.SessionView { return r.sessions }

func (r benchRange) Session(context.Context, uuid.UUID) (*lanes.SessionView, error) {
	return r.sessions[0], nil
}

func (r benchRange) Create(context.Context, uuid.UUID, lanes.Create, *lanes.Key) (*lanes.SessionView, error) {
	return r.sessions[0], nil
}

// BenchmarkAPI serves requests with the access log and the metrics, without a network or a lane.
func BenchmarkAPI(b *testing.B) {
	began := time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
	running := benchRange{}
	for range 1000 {
		running.sessions = append(running.sessions, &lanes.SessionView{
			ID: uuid.New(), Lane: uuid.New(), Group: uuid.New(), Minutes: 60,
			Began: &began, Created: began, Remaining: 59*time.Minute + 1234*time.Millisecond,
		})
	}
	id, token := uuid.New(), uuid.NewString()
	h := New(Settings{
		Credentials: Credentials{id: {{Digest: sha256.Sum256([]byte(token))}}},
		Range:       func(uuid.UUID) (v2.Range, error) { return running, nil },
		Limiters:    NewLimiters(),
		Traffic:     NewTraffic(prometheus.NewRegistry()), Log: zerolog.New(io.Discard).With().Timestamp().Logger(),
	})
	sale := fmt.Sprintf(`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":60}`, uuid.New(), uuid.New())
	for _, c := range []struct{ name, method, path, body string }{
		{"get one", http.MethodGet, "/sessions/" + running.sessions[0].ID.String(), ""},
		{"get 1000", http.MethodGet, "/sessions", ""},
		{"create", http.MethodPost, "/sessions", sale},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(c.method, prefix2+c.path, strings.NewReader(c.body))
				r.Header.Set("range-id", id.String())
				r.Header.Set("token", token)
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code >= 300 {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
