package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"rangegate/api/request"
	"rangegate/api/screens"
	"rangegate/lanes"
)

// csvHeader names the columns of the history as a table.
var csvHeader = []string{
	"ended_at", "end_reason", "lane", "group", "customer", "created_at", "began_at",
	"minutes_sold", "minutes_used", "minutes_paused", "session_id", "external_id", "metadata",
	"minutes_turn", "minutes_beyond", "minutes_beyond_settled",
}

const (
	byteOrderMark   = "\ufeff" // tells spreadsheets that the file is UTF-8
	csvWriteTimeout = 30 * time.Second
)

// historyCSV sends the matching ended sessions, newest first, as a table (RFC 4180) in parts. If a read
// fails, it aborts the connection, so that an incomplete table never looks complete.
func (c *screen) historyCSV(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	running, err := c.rangeOf(ctx)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	tables := c.tables.Of(request.RangeID(ctx))
	if !tables.AcquireWithin(ctx, tableWait) {
		c.Refused.Inc()
		c.fail(w, r, screens.Overloaded("tables of this range are being sent"))
		return
	}
	defer tables.Release()
	h := historyOf(running)
	matches, err := h.matcher(r.URL.Query().Get("search"), r.URL.Query().Get("until"))
	if err != nil {
		c.fail(w, r, err)
		return
	}
	log := h.log(ctx)
	part := bytes.NewBufferString(byteOrderMark + strings.Join(csvHeader, ",") + "\r\n")
	next, err := c.appendRows(ctx, part, h, log, 0, matches)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="sessions-`+
		running.Now().Wall.UTC().Format(time.DateOnly)+`.csv"`)
	connection := http.NewResponseController(w)
	for {
		_ = connection.SetWriteDeadline(time.Now().Add(csvWriteTimeout)) // a test's recorder has no deadline
		_, err = part.WriteTo(w)
		if next == 0 && err == nil {
			return
		}
		if err == nil {
			next, err = c.appendRows(ctx, part, h, log, next, matches)
		}
		if err != nil {
			request.Log(ctx).Warn().Err(err).Msg("the table of ended sessions broke off")
			panic(http.ErrAbortHandler)
		}
	}
}

// appendRows appends the rows of up to readSize ended sessions before the cursor, and returns the cursor to
// go on before; 0 at the oldest one.
func (c *screen) appendRows(
	ctx context.Context, part *bytes.Buffer, h rangeHistory, l log[lanes.Ended], before uint64,
	matches func(lanes.Ended) bool,
) (next uint64, err error) {
	done, err := c.Turn(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	found, next, err := l.readBackwards(ctx, before, readSize, matches)
	for _, ended := range found {
		writeRow(part, h.view(ended).row())
	}
	return next, err
}

func (e endedView) row() []string {
	began := ""
	if e.BeganAt != nil {
		began = *e.BeganAt
	}
	metadata := ""
	if len(e.Metadata) > 0 {
		text, _ := json.Marshal(e.Metadata) // texts are always encoded
		metadata = formula.ReplaceAllStringFunc(string(text), func(found string) string {
			sign, size := utf8.DecodeLastRuneInString(found)
			return found[:len(found)-size] + fmt.Sprintf(`\u%04x`, sign) // the same text to whoever parses it
		})
	}
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	optional := func(n *float64) string {
		if n == nil {
			return ""
		}
		return number(*n)
	}
	return []string{
		e.EndedAt, e.Reason, escapeFormulas(e.LaneName), escapeFormulas(e.GroupName), escapeFormulas(e.Customer),
		e.CreatedAt, began,
		strconv.Itoa(e.Duration), number(e.Used), number(e.Paused), e.ID.String(),
		escapeFormulas(e.ExternalID), metadata, optional(e.Turn), optional(e.Beyond), optional(e.Settled),
	}
}

// writeRow writes a row (RFC 4180). Every field is in quotes, so that no text in it is taken for the end of the field.
func writeRow(w io.Writer, fields []string) {
	for i, field := range fields {
		if i > 0 {
			_, _ = io.WriteString(w, ",")
		}
		_, _ = io.WriteString(w, `"`+strings.ReplaceAll(field, `"`, `""`)+`"`)
	}
	_, _ = io.WriteString(w, "\r\n")
}

// formula finds where a spreadsheet may begin a formula: a sign at the start of a text, or behind a separator that some
// country or setting has. Some spreadsheets ignore leading blanks. The last four signs are the wide ones of East Asia.
var formula = regexp.MustCompile(`(^|[;|:,"'\t\r\n])([\s\p{Z}]*[=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}])`)

// escapeFormulas puts an apostrophe before each place where a spreadsheet may begin a formula.
func escapeFormulas(text string) string { return formula.ReplaceAllString(text, "$1'$2") }
