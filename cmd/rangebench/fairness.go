package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	wholegateway "rangegate/cmd/rangegate/gateway"
	"rangegate/config"
)

// fairness measures what the clients of one range notice of a flood in another one, or of strangers: how long
// their reads take beside it, against a quiet gateway in the same run.
type fairness struct {
	Turns    int           `default:"7" help:"How often either is measured."`
	Turn     time.Duration `default:"3s" help:"How long each time."`
	Sessions int           `default:"2000" help:"How many ended sessions with 2 KB of metadata the flooding range has."`
	Only     string        `help:"One of the floods."`
}

// fairBound is how many times as long the 99th of 100 reads may take beside a flood.
const fairBound = 3

// Run prints how much longer reads take beside each flood.
func (f fairness) Run() (err error) {
	served, err := newPeer("fair-gateway")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.close()) }()
	var to fairAPI
	if err := served.question(struct{}{}, &to); err != nil {
		return err
	}
	if err := to.fill(f.Sessions); err != nil {
		return err
	}
	var beyond error
	for _, name := range floodNames {
		if f.Only != "" && f.Only != name {
			continue
		}
		var quiet, beside [][]time.Duration
		made := 0
		for range f.Turns {
			without, _, err := to.readBeside(nothing, f.Turn)
			if err != nil {
				return err
			}
			with, flooded, err := to.readBeside(name, f.Turn)
			if err != nil {
				return err
			}
			quiet, beside, made = append(quiet, without), append(beside, with), made+flooded
		}
		if made == 0 {
			return fmt.Errorf("the flood of %s has reached nothing", name)
		}
		without, with := slices.Concat(quiet...), slices.Concat(beside...)
		fmt.Printf("%s, %d in all: reads of B p50 %s, p99 %s; without them p50 %s, p99 %s\n",
			name, made, at(with, 50), at(with, 99), at(without, 50), at(without, 99))
		beyond = errors.Join(beyond, bound("p99 of B's reads, flood of "+name+" / none",
			ratio(beside, quiet, 99), fairBound))
	}
	return beyond
}

// The range that floods is A, and the one beside it B. Their credentials and layouts are those of the playground.
var (
	floodingRange = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	quietRange    = uuid.MustParse("11111111-1111-4111-8111-222222222222")
)

// fairAPI is the URL of the API of a fairGateway.
type fairAPI string

// fairGateway is a gateway with both ranges, in a process of its own.
type fairGateway struct{}

// Run serves until the input ends.
func (fairGateway) Run() error {
	dir, err := os.MkdirTemp("", "rangebench-fairness-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg := config.Playground(12, dir, "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address = "127.0.0.1:0"
	if cfg.HTTP.TLS, err = selfSigned(dir); err != nil {
		return err
	}
	a := cfg.Ranges[0]
	a.Webhook, a.Products, a.Purchasing = nil, nil, false
	b := a
	b.ID, b.Name, b.Lanes, b.Bays, b.Groups = quietRange, "B", nil, nil,
		[]config.Group{{ID: uuid.New(), Name: "Public"}}
	for i := range 12 {
		b.Lanes = append(b.Lanes, config.Lane{ID: uuid.New(), Name: fmt.Sprintf("Lane %d", i+1), Accessible: true})
	}
	cfg.Ranges = []config.Range{a, b}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	running, err := wholegateway.New(ctx, wholegateway.Settings{
		Config: cfg, Version: "rangebench",
		Log: zerolog.New(io.Discard),
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(running.Run(ctx), running.Close()) }()
	err = answerAll(func(struct{}) (fairAPI, error) { return fairAPI(running.Addresses().API), nil })
	stop()
	return errors.Join(err, <-ended)
}

// selfSigned writes a certificate of 127.0.0.1 and its key.
func selfSigned(dir string) (files config.TLS, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rangebench"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return files, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return files, err
	}
	files = config.TLS{Certificate: filepath.Join(dir, "certificate.pem"), Key: filepath.Join(dir, "key.pem")}
	return files, errors.Join(
		os.WriteFile(files.Certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600),
		os.WriteFile(files.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
}

// insecure trusts the certificate of fairGateway, which this program has made.
func insecure(protocols ...string) *tls.Config {
	//nolint:gosec // loopback alone
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protocols, MinVersion: tls.VersionTLS12}
}

func posRequest(ctx context.Context, method, url string, rangeID uuid.UUID, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("range-id", rangeID.String())
	r.Header.Set("token", posToken)
	r.Header.Set("Content-Type", "application/json")
	return r, nil
}

// do sends a request, and reads the answer whole.
func do(client *http.Client, r *http.Request) (answer []byte, err error) {
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	switch {
	case err == nil && response.StatusCode == http.StatusTooManyRequests:
		err = errTooMany
	case err == nil && response.StatusCode >= http.StatusBadRequest:
		err = fmt.Errorf("%s %s: %s: %s", r.Method, r.URL.Path, response.Status, answer)
	}
	return answer, err
}

// errTooMany is the refusal of a range's request as one too many in a second.
var errTooMany = errors.New("too many requests of the range")

// post sends a POS's command as that of A, again and again while it is one too many.
func (to fairAPI) post(client *http.Client, path string, body []byte) (answer []byte, err error) {
	for {
		r, err := posRequest(context.Background(), http.MethodPost, string(to)+prefix+path, floodingRange, body)
		if err != nil {
			return nil, err
		}
		if answer, err = do(client, r); !errors.Is(err, errTooMany) {
			return answer, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// fill sells and stops sessions in A, one after the other on each lane.
func (to fairAPI) fill(sessions int) error {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: insecure("http/1.1"), MaxIdleConnsPerHost: 12}}
	defer client.CloseIdleConnections()
	metadata := map[string]string{}
	for i := range 20 {
		metadata[fmt.Sprintf("k%02d", i)] = strings.Repeat("x", 99)
	}
	failed := make(chan error, 12)
	for lane := range 12 {
		go func() {
			failed <- func() error {
				for range sessions / 12 {
					body, err := json.Marshal(map[string]any{
						"customer_name": "Jo", "duration": 30, "metadata": metadata,
						"group_id": "33333333-3333-4333-8333-000000000001",
						"lane_id":  fmt.Sprintf("44444444-4444-4444-8444-%012d", lane+1),
					})
					if err != nil {
						return err
					}
					answer, err := to.post(client, "/sessions", body)
					var sold struct {
						ID string `json:"session_id"`
					}
					if err = errors.Join(err, json.Unmarshal(answer, &sold)); err != nil {
						return err
					}
					if _, err = to.post(client, "/sessions/"+sold.ID+"/stop", []byte("{}")); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	var err error
	for range 12 {
		err = errors.Join(err, <-failed)
	}
	return err
}

// B reads with so many clients, each of which pauses after a read.
const (
	readers   = 4
	readPause = 8 * time.Millisecond
)

// readBeside reads B's lanes beside that flood, and returns how long each read took, and how much the flood made.
func (to fairAPI) readBeside(kind string, during time.Duration) (took []time.Duration, made int, err error) {
	flooding, err := newPeer("flood", "--kind", kind, "--address", strings.TrimPrefix(string(to), "https://"))
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		_ = flooding.process.Process.Kill() // it does not end by itself
		_ = flooding.close()
		time.Sleep(time.Second) // what it has begun ends
	}()
	if err := flooding.question(struct{}{}, &made); err != nil { // it has begun
		return nil, 0, err
	}
	time.Sleep(time.Second) // it has risen
	took = to.read(during)
	err = flooding.question(struct{}{}, &made)
	return took, made, err
}

// read reads B's lanes for a while, and returns how long each read took. One that fails counts as long as the
// longest that there may be.
func (to fairAPI) read(during time.Duration) (took []time.Duration) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig:     insecure("http/1.1"),
		MaxIdleConnsPerHost: readers,
	}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var reading sync.WaitGroup
	end := time.Now().Add(during)
	for range readers {
		reading.Go(func() {
			for time.Now().Before(end) {
				r, err := posRequest(context.Background(), http.MethodGet, string(to)+prefix+"/lanes/status",
					quietRange, nil)
				began := time.Now()
				if err == nil {
					_, err = do(client, r)
				}
				one := time.Since(began)
				if err != nil {
					one = 5 * time.Second
				}
				mu.Lock()
				took = append(took, one)
				mu.Unlock()
				time.Sleep(readPause)
			}
		})
	}
	reading.Wait()
	return took
}

// flood floods a gateway until it is killed.
type flood struct{ Kind, Address string }

// floods are what clients send, and how many of them at a time.
var floods = map[string]struct {
	clients int
	client  func(flood) (once func(), err error)
}{
	"pages":  {300, flood.pages},
	"tables": {400, flood.tables},
	"resets": {resetClients, flood.resets},
	nothing:  {2, flood.nothing},
}

const (
	nothing      = "nothing"
	resetClients = 16
)

var floodNames = []string{"pages", "tables", "resets"}

// Run floods, and answers with how many answers it has left unread, or requests it has cancelled. It takes
// what the gateway and B leave of the processors, as if it came from other machines, and so does nothing,
// beside which the quiet half is measured.
func (f flood) Run() error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19); err != nil {
		return fmt.Errorf("lowering the priority: %w", err)
	}
	flooding, found := floods[f.Kind]
	if !found {
		return fmt.Errorf("no flood is called %q", f.Kind)
	}
	once, err := flooding.client(f)
	if err != nil {
		return err
	}
	for range flooding.clients {
		go func() {
			for {
				once()
			}
		}()
	}
	return answerAll(func(struct{}) (int, error) { return int(floodCount.Load()), nil })
}

// floodCount is how many answers this process has left unread, or requests it has cancelled.
var floodCount atomic.Int64

// nothing uses a processor, and the gateway not at all.
func (flood) nothing() (once func(), err error) {
	return func() { _ = sha256.Sum256(make([]byte, 1<<16)) }, nil
}

// fromElsewhere connects from another address of this machine than B does.
var fromElsewhere = net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: 5 * time.Second}

func transportFromElsewhere(protocols ...string) *http.Transport {
	return &http.Transport{
		TLSClientConfig: insecure(protocols...), DialContext: fromElsewhere.DialContext,
		ForceAttemptHTTP2: protocols[0] == "h2",
	}
}

// unreadFor is how long the clients of a flood leave an answer. The gateway ends the connection before that.
const unreadFor = 15 * time.Second

// leave sends a request over a connection of its own until it is not refused, reads the beginning of the
// answer, and leaves the rest.
func (f flood) leave(request string) {
	conn, err := tls.DialWithDialer(&fromElsewhere, "tcp", f.Address, insecure("http/1.1"))
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return
	}
	defer func() { _ = conn.Close() }()
	answers := bufio.NewReader(conn)
	for {
		_ = conn.SetDeadline(time.Now().Add(unreadFor))
		if _, err = io.WriteString(conn, request); err != nil {
			return
		}
		//nolint:bodyclose // a refusal is read to its end, and what is not refused stays unread
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			return
		}
		if response.StatusCode == http.StatusOK {
			floodCount.Add(1)
			time.Sleep(unreadFor)
			return
		}
		_, _ = io.Copy(io.Discard, response.Body)
		time.Sleep(100 * time.Millisecond)
	}
}

// pages asks for the longest pages of the history, and leaves them.
func (f flood) pages() (once func(), err error) {
	request := "GET " + prefix + "/history?limit=1000 HTTP/1.1\r\nHost: " + f.Address + "\r\nrange-id: " +
		floodingRange.String() +
		"\r\ntoken: " + posToken + "\r\n\r\n"
	return func() { f.leave(request) }, nil
}

// tables asks for staff's table of the history, and leaves it. All clients have the cookie of one sign-in.
func (f flood) tables() (once func(), err error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Jar: jar, Transport: transportFromElsewhere("http/1.1")}
	body := fmt.Sprintf(`{"range_id":%q,"name":%q,"pin":%q}`, floodingRange, config.PlaygroundStaff,
		config.PlaygroundPIN)
	r, err := http.NewRequest(http.MethodPost, "https://"+f.Address+"/control/sign-in", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if _, err := do(client, r); err != nil {
		return nil, err
	}
	var cookies []string
	for _, c := range jar.Cookies(r.URL.ResolveReference(&url.URL{Path: tablePath})) {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	request := "GET " + tablePath + " HTTP/1.1\r\nHost: " + f.Address + "\r\nCookie: " +
		strings.Join(cookies, "; ") + "\r\n\r\n"
	return func() { f.leave(request) }, nil
}

const tablePath = "/control/history.csv"

// resets begins requests of HTTP/2 and cancels them at once, each client on a connection of its own. It needs
// no credentials.
func (f flood) resets() (once func(), err error) {
	clients := make(chan *http.Client, resetClients)
	for range cap(clients) {
		clients <- &http.Client{Transport: transportFromElsewhere("h2")}
	}
	return func() {
		client := <-clients
		defer func() { clients <- client }()
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+f.Address+prefix+"/lanes", http.NoBody)
		if err != nil {
			return
		}
		if _, err := do(client, r); errors.Is(err, context.DeadlineExceeded) {
			floodCount.Add(1)
		}
	}, nil
}
