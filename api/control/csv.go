package control

import (
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// heading names the columns of the history as a table.
var heading = []string{
	"ended_at", "end_reason", "lane", "group", "customer", "created_at", "began_at",
	"minutes_sold", "minutes_used", "minutes_paused", "session_id",
}

const (
	byteOrderMark = "\ufeff" // by which spreadsheets know UTF-8
	pagePatience  = 30 * time.Second
)

// historyCSV is every ended session that is looked for, newest first, as a table (RFC 4180). It is read and sent piece by
// piece. What breaks off breaks the download off: a table that looks whole is whole.
func (c *screen) historyCSV(w http.ResponseWriter, r *http.Request) {
	running, _, err := c.staffed(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	book, wanted := bookOf(running), r.URL.Query().Get("search")
	records := book.records(r.Context())
	found, next, err := records.backwards(r.Context(), 0, atATime, book.wanted(wanted))
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
	_ = table.Write(heading) // its error is told by Error below
	for {
		_ = connection.SetWriteDeadline(time.Now().Add(pagePatience)) // a writer that has none is a test's
		for _, each := range found {
			_ = table.Write(book.view(each).row())
		}
		table.Flush()
		if next == 0 && table.Error() == nil {
			return
		}
		if err = table.Error(); err == nil {
			found, next, err = records.backwards(r.Context(), next, atATime, book.wanted(wanted))
		}
		if err != nil {
			c.Log(r.Context()).Warn().Err(err).Msg("the table of ended sessions broke off")
			panic(http.ErrAbortHandler)
		}
	}
}

func (e endedView) row() []string {
	began := ""
	if e.BeganAt != nil {
		began = *e.BeganAt
	}
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	return []string{
		e.EndedAt, e.Reason, harmless(e.LaneName), harmless(e.GroupName), harmless(e.Customer), e.CreatedAt, began,
		strconv.Itoa(e.Duration), number(e.Used), number(e.Paused), e.ID.String(),
	}
}

// harmless is a text that no spreadsheet takes for a formula. Some look behind blanks in front of it.
func harmless(text string) string {
	begins := strings.TrimSpace(text)
	if begins != "" && strings.ContainsAny(begins[:1], "=+-@") {
		return "'" + text
	}
	return text
}
