// Package pulling has programs that read events by their cursor, as a till without an address does. They are
// killed, and so is the gateway: what they have written down in the end is what happened, each event once.
package pulling

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"rangegate/test/support"
)

// readerVariable of the environment makes the test's own binary a reader: the address of the API, how it
// reads, and its file.
const readerVariable = "PULLING_READER"

// event is the part of an event that a reader writes down.
type event struct {
	Cursor string `json:"cursor"`
	ID     string `json:"id"`
}

// reader writes down every event, one a line. The line is what it does about the event and its cursor at
// once, so that it may be killed at any instant.
type reader struct {
	client support.Client
	file   *os.File
	cursor string // of the last event that is written down
}

// runReader reads until the process is killed.
func runReader(setting string) {
	var s struct{ API, Mode, File string }
	if err := json.Unmarshal([]byte(setting), &s); err != nil {
		panic(err)
	}
	r, err := openReader(s.API, s.File)
	if err != nil {
		panic(err)
	}
	for {
		if s.Mode == "stream" {
			err = r.stream()
		} else {
			err = r.poll()
		}
		var refused refusal
		switch {
		case errors.As(err, &refused) && refused.status < 500:
			panic(err) // what is wrong with the request stays wrong
		case err != nil:
			time.Sleep(5 * time.Millisecond) // the gateway is away
		}
	}
}

// openReader goes on where the file ends. A line that was not written to its end was not written.
func openReader(api, path string) (*reader, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	whole := int64(bytes.LastIndexByte(text, '\n') + 1)
	r := &reader{support.Client{API: api + support.V2, Range: support.RangeID, Token: support.Token}, file, "0"}
	if lines := strings.Fields(string(text[:whole])); len(lines) > 0 {
		r.cursor, _, _ = strings.Cut(lines[len(lines)-1], ",")
	}
	_, err = file.Seek(whole, io.SeekStart)
	return r, errors.Join(err, file.Truncate(whole))
}

// write writes events down.
func (r *reader) write(events ...event) {
	var lines strings.Builder
	for _, e := range events {
		fmt.Fprintf(&lines, "%s,%s\n", e.Cursor, e.ID)
		r.cursor = e.Cursor
	}
	if _, err := r.file.WriteString(lines.String()); err != nil {
		panic(err)
	}
}

// refusal is an answer other than 200.
type refusal struct {
	status int
	body   string
}

func (r refusal) Error() string { return fmt.Sprint(r.status, " ", r.body) }

// poll reads one page.
func (r *reader) poll() error {
	answer, err := r.client.Do("GET", "/events?wait=60&limit=7&after="+r.cursor, "")
	if err != nil {
		return err
	}
	if answer.Status != http.StatusOK {
		return refusal{answer.Status, answer.Body}
	}
	var page struct{ Events []event }
	if err := json.Unmarshal([]byte(answer.Body), &page); err != nil {
		return err
	}
	r.write(page.Events...)
	return nil
}

// stream reads one stream to its end.
func (r *reader) stream() error {
	request, err := http.NewRequest("GET", r.client.API+"/events/stream", nil)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"range-id": r.client.Range, "token": r.client.Token,
		"Last-Event-ID": r.cursor,
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return refusal{response.StatusCode, string(text)}
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	id, data := "", ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if data != "" { // a message that has come to its end
				var e event
				if err := json.Unmarshal([]byte(data), &e); err != nil || e.Cursor != id {
					panic(fmt.Sprint("not an event: ", id, " ", data, err))
				}
				r.write(e)
			}
			id, data = "", ""
		}
	}
	return lines.Err()
}
