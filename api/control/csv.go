package control

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rangegate/api/request"
)

// csvHeader names the columns of the history as a table.
var csvHeader = []string{
	"ended_at", "end_reason", "lane", "group", "customer", "created_at", "began_at",
	"minutes_sold", "minutes_used", "minutes_paused", "session_id", "external_id", "metadata",
}

const (
	byteOrderMark   = "\ufeff" // tells spreadsheets that the file is UTF-8
	csvWriteTimeout = 30 * time.Second
)

// historyCSV sends the matching ended sessions, newest first, as a table (RFC 4180) in pieces. If a read fails, it aborts
// the connection, so that an incomplete table never looks complete.
func (c *screen) historyCSV(w http.ResponseWriter, r *http.Request) {
	running, err := c.rangeOf(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	h := historyOf(running)
	matches, err := h.matcher(r.URL.Query().Get("search"), r.URL.Query().Get("until"))
	if err != nil {
		c.fail(w, r, err)
		return
	}
	log := h.log(r.Context())
	found, next, err := log.readBackwards(r.Context(), 0, readSize, matches)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="sessions-`+running.Now().Wall.UTC().Format(time.DateOnly)+`.csv"`)
	connection := http.NewResponseController(w)
	_, _ = w.Write([]byte(byteOrderMark))
	table := csv.NewWriter(w)
	table.UseCRLF = true
	_ = table.Write(csvHeader) // table.Error below returns its error
	for {
		_ = connection.SetWriteDeadline(time.Now().Add(csvWriteTimeout)) // a test's recorder has no deadline
		for _, ended := range found {
			_ = table.Write(h.view(ended).row())
		}
		table.Flush()
		if next == 0 && table.Error() == nil {
			return
		}
		if err = table.Error(); err == nil {
			found, next, err = log.readBackwards(r.Context(), next, readSize, matches)
		}
		if err != nil {
			request.Log(r.Context()).Warn().Err(err).Msg("the table of ended sessions broke off")
			panic(http.ErrAbortHandler)
		}
	}
}

func (e endedView) row() []string {
	began := ""
	if e.BeganAt != nil {
		began = *e.BeganAt
	}
	metadata := ""
	if len(e.Metadata) > 0 {
		text, _ := json.Marshal(e.Metadata) // texts are always encoded
		metadata = string(text)             // it begins with a bracket: no formula
	}
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	return []string{
		e.EndedAt, e.Reason, escapeFormula(e.LaneName), escapeFormula(e.GroupName), escapeFormula(e.Customer), e.CreatedAt, began,
		strconv.Itoa(e.Duration), number(e.Used), number(e.Paused), e.ID.String(),
		escapeFormula(e.ExternalID), metadata,
	}
}

// escapeFormula returns a text that no spreadsheet treats as a formula. Some spreadsheets ignore leading blanks.
func escapeFormula(text string) string {
	trimmed := strings.TrimSpace(text)
	if trimmed != "" && strings.ContainsAny(trimmed[:1], "=+-@") {
		return "'" + text
	}
	return text
}
