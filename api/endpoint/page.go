package endpoint

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// PageBytes is the size at which a page of records ends, whatever limit was asked for. The reader goes on
// from the page's cursor. A page has at least one record, however large that is.
const PageBytes = 1 << 20

// Paged is embedded in a response that is a page of records. Its request gets a PageRoom from API.ReservePage
// before anything is read for it.
type Paged struct{}

func (Paged) isPaged() {}

// isPaged reports whether the response is a page of records.
func isPaged[Out any]() bool {
	var out Out
	_, paged := any(out).(interface{ isPaged() })
	return paged
}

// PageRoom is what a page of records takes of a process. Each function may be called more than once.
type PageRoom struct {
	Encoded func() // called when the page is read and encoded: another one may be
	Written func() // called when the response is written or has failed: its memory is free
}

// reservePage waits for the room of a page. Without a limit, and for what is no page, there is always room.
func (a *API) reservePage(ctx context.Context, paged bool) (PageRoom, error) {
	if !paged || a.ReservePage == nil {
		return PageRoom{Encoded: func() {}, Written: func() {}}, nil
	}
	return a.ReservePage(ctx)
}

// PageSize counts the bytes of a page's records. The zero value is an empty page.
type PageSize struct{ bytes int }

// Add reports whether the page has room for one more record, and counts that. There is always room for the first one.
func (s *PageSize) Add(record any) bool {
	var counted countingWriter
	encoder := json.NewEncoder(&counted)
	encoder.SetEscapeHTML(false) // as in a response
	if encoder.Encode(record) != nil {
		return true // encoding the response panics on it
	}
	if s.bytes > 0 && s.bytes+int(counted) > PageBytes {
		return false
	}
	s.bytes += int(counted)
	return true
}

// Fit returns the first of the records that a page has room for.
func Fit[Record any](records []Record) []Record {
	var size PageSize
	for i := range records {
		if !size.Add(records[i]) {
			return records[:i]
		}
	}
	return records
}

// countingWriter counts what is written to it.
type countingWriter int

func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

const (
	pieceBytes   = 64 << 10         // of a body that are written at a time
	pieceTimeout = 10 * time.Second // for a client to accept a piece
)

// writePieces writes a body. The deadline moves with each piece: a client that goes on reading gets the whole
// body, however slow its network is, and one that stops reading loses its connection.
func writePieces(w http.ResponseWriter, body []byte) {
	if len(body) <= pieceBytes {
		_, _ = w.Write(body) // fails only if the client is gone
		return
	}
	connection := http.NewResponseController(w)
	for len(body) > 0 {
		piece := body[:min(pieceBytes, len(body))]
		_ = connection.SetWriteDeadline(time.Now().Add(pieceTimeout)) // a test's recorder has no deadline
		if _, err := w.Write(piece); err != nil {
			return
		}
		body = body[len(piece):]
	}
}
