package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
)

// bareCounter is the minimal server for the same requests: it decodes the body, saves records of the same
// sizes in a group commit of the same database, and writes the same bytes. It checks nothing.
type bareCounter struct {
	disk    *disk
	kept    bareStore
	commit  *groupCommit
	server  *http.Server
	address string
	cursor  atomic.Uint64
}

// saleBody is the body of a POS's request.
type saleBody struct {
	Customer   string    `json:"customer_name"`
	Lane       uuid.UUID `json:"lane_id"`
	Group      uuid.UUID `json:"group_id"`
	Minutes    int       `json:"duration"`
	Purchasing bool      `json:"enable_purchasing"`
	AutoStart  bool      `json:"auto_start"`
}

func newBareCounter(kind storeKind, saved map[string]saving, answers map[string]string) (b *bareCounter, err error) {
	b = &bareCounter{}
	if b.disk, err = newDisk(kind); err != nil {
		return nil, err
	}
	if b.kept, err = b.disk.bare(); err != nil {
		return nil, errors.Join(err, b.disk.remove())
	}
	b.commit = newGroupCommit(b.kept)
	r := chi.NewRouter()
	r.Post(prefix+"/sessions", func(w http.ResponseWriter, r *http.Request) {
		var sale saleBody
		if json.NewDecoder(r.Body).Decode(&sale) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		b.save(w, sale.Lane, saved["create"], http.StatusCreated, []byte(answers["create"]))
	})
	for _, name := range []string{"modify", "stop"} {
		r.Post(prefix+"/sessions/{id}/"+name, func(w http.ResponseWriter, r *http.Request) {
			session, err := uuid.Parse(chi.URLParam(r, "id"))
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			b.save(w, session, saved[name], http.StatusNoContent, []byte(answers[name]))
		})
	}
	b.server, b.address, err = serve(r)
	return b, err
}

// save commits records of those sizes, and writes the response.
func (b *bareCounter) save(w http.ResponseWriter, lane uuid.UUID, sizes saving, status int, body []byte) {
	records := make([]entry, 0, len(sizes))
	for _, s := range sizes {
		r := entry{bucket: s.bucket, key: lane[:], value: filler[:s.bytes]}
		if s.bucket != "lanes" {
			r.key = binary.BigEndian.AppendUint64(nil, b.cursor.Add(1))
		}
		records = append(records, r)
	}
	if err := b.commit.save(records...); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	say(w, status, body)
}

// filler is the content of the records.
var filler = make([]byte, 64<<10)

// say writes the response.
func say(w http.ResponseWriter, status int, body []byte) {
	if len(body) > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (b *bareCounter) close() error {
	err := b.server.Close()
	b.commit.close()
	return errors.Join(err, b.kept.close(), b.disk.remove())
}
