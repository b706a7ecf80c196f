package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/console"
	"rangegate/cmd/rangegate/gateway"
)

// top shows the actors of the gateway of this machine, those in trouble first.
type top struct {
	Once     bool      `help:"Print one table and end, as where standard input or output is no terminal. The exit code is 1 without an answer."`
	Sort     string    `enum:"trouble,backlog,age,restarts,lateness" default:"trouble" help:"What comes first: the most urgent trouble, the largest backlog, the longest in its state, the most restarts, or the latest timer (${enum})."`
	Range    uuid.UUID `placeholder:"ID" help:"Only the actors of that range."`
	Troubled bool      `name:"trouble" help:"Only the actors that are in trouble."`
	operator
}

// Help is shown below the flags.
func (top) Help() string {
	return "In a terminal the table is shown anew each second until q is pressed. Keys: q quits; t, b, a, r and " +
		"l sort by trouble, backlog, age, restarts and lateness; p pauses."
}

// What a table is asked for.
const (
	topEvery    = time.Second
	topSilence  = 3 * time.Second // until a request without an answer counts as no contact: a person watches
	topOnceRows = 100
	topMaxRows  = 500 // the gateway sends no more
)

// Run prints one table, or shows it until the user quits. It fails when the gateway refuses, and where it prints one
// table also when there is no answer.
func (c top) Run(t *terminal) error {
	client, err := c.connect(t.environ)
	if err != nil {
		return err
	}
	out, _ := t.out.(*os.File)
	if !c.Once && console.IsTerminal(os.Stdin) && console.IsTerminal(out) {
		w := topWatch{
			top: c, environ: t.environ, client: client, screen: &screen{in: os.Stdin, out: out},
			view: topView{order: c.Sort}, answered: time.Now(),
		}
		return w.run(t.ctx)
	}
	defer client.Close()
	picture, err := c.read(t.ctx, client, topQuery{c.Sort, topOnceRows})
	if err != nil {
		return err
	}
	head, rows := topRows(*picture, uncut)
	for _, line := range slices.Concat(topView{picture: picture}.head(uncut), []string{head}, rows) {
		t.printf("%s\n", line)
	}
	if left := picture.table.Total - len(picture.table.Actors); left > 0 {
		t.printf("and %d more\n", left)
	}
	return nil
}

// topQuery is what may be another for each table.
type topQuery struct {
	order string
	rows  int
}

// read asks for the sums and for the table.
func (c top) read(ctx context.Context, client *operationsClient, q topQuery) (*topPicture, error) {
	picture := &topPicture{of: q}
	of := url.Values{}
	if c.Range != uuid.Nil {
		of.Set("range", c.Range.String())
	}
	if err := client.ask(ctx, http.MethodGet, (&url.URL{Path: "/actors", RawQuery: of.Encode()}).String(), nil,
		&picture.overview); err != nil {
		return nil, c.explain(err)
	}
	of.Set("sort", q.order)
	of.Set("limit", strconv.Itoa(min(q.rows, topMaxRows)))
	if c.Troubled {
		of.Set("trouble", "true")
	}
	if err := client.ask(ctx, http.MethodGet, "/observer/actors?"+of.Encode(), nil, &picture.table); err != nil {
		return nil, c.explain(err)
	}
	picture.table.At = picture.table.At.Local()
	var err error
	picture.advisories, err = c.readAdvisories(ctx, client)
	return picture, err
}

// readAdvisories returns the open ones; none of a gateway of a version that has none.
func (c top) readAdvisories(ctx context.Context, client *operationsClient) ([]topAdvisory, error) {
	of := url.Values{"open": {"true"}}
	if c.Range != uuid.Nil {
		of.Set("range", c.Range.String())
	}
	var answer struct{ Advisories []topAdvisory }
	err := client.ask(ctx, http.MethodGet, "/advisories?"+of.Encode(), nil, &answer)
	if refused := (refusal{}); errors.As(err, &refused) && refused.code == "not_found" {
		return nil, nil
	}
	return answer.Advisories, err
}

// explain says what a path that is not found means.
func (c top) explain(err error) error {
	var refused refusal
	switch {
	case !errors.As(err, &refused) || refused.code != "not_found":
		return err
	case c.Range != uuid.Nil:
		return gateway.Misconfigured{Err: errors.New("--range: the gateway has no range with that id")}
	}
	return refusal{
		"the gateway of this machine is of a version that shows no table of its actors", refused.code,
		refused.status,
	}
}

// isPermanent is true for the refusal of a request that would be refused again.
func isPermanent(err error) bool {
	var refused refusal
	if errors.As(err, &refused) {
		return refused.status < http.StatusInternalServerError && refused.status != http.StatusTooManyRequests
	}
	return errors.As(err, &gateway.Misconfigured{})
}

// topWatch shows the table until the user quits. Its methods run on one goroutine, which alone writes to the terminal.
type topWatch struct {
	top
	screen  *screen
	environ []string
	client  *operationsClient
	view    topView

	waiting  bool      // for the answer to the newest request
	began    time.Time // of that request
	answered time.Time // when the gateway answered last, or when the command began
}

// topAnswer is what came of a request.
type topAnswer struct {
	picture *topPicture
	err     error
	crash   string // what the goroutine of the request panicked with
}

// run returns when the user quits, when ctx ends, or with the refusal of the first request. The terminal is restored
// then, also after a panic.
func (w *topWatch) run(ctx context.Context) (err error) {
	defer func() { w.client.Close() }()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	defer func() { err = errors.Join(err, w.screen.leave()) }()
	if err := w.screen.enter(); err != nil {
		return err
	}
	keys := readKeys(ctx, w.screen.in)
	answers := make(chan topAnswer, 1) // there is one request at a time
	next := time.NewTicker(topEvery)
	defer next.Stop()
	w.ask(ctx, answers)
	for {
		if err := w.draw(time.Now()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case key := <-keys:
			if quit, err := w.press(key); quit || err != nil {
				return err
			}
			w.askIfOutdated(ctx, answers) // while the user has paused, too
		case <-resized:
			w.askIfOutdated(ctx, answers)
		case <-next.C:
			if err := w.screen.enter(); err != nil { // after it was suspended
				return err
			}
			if !w.view.paused {
				w.ask(ctx, answers)
			}
		case answer := <-answers:
			if answer.crash != "" {
				panic(answer.crash)
			}
			if w.view.picture == nil && isPermanent(answer.err) {
				return answer.err
			}
			w.accept(answer, time.Now())
			w.askIfOutdated(ctx, answers)
		}
	}
}

// query is what the next table is asked for.
func (w *topWatch) query() topQuery {
	_, height := w.screen.size()
	return topQuery{w.view.order, topFits(height)}
}

// askIfOutdated asks at once where a key, or another size of the terminal, wants another table than the one in view.
func (w *topWatch) askIfOutdated(ctx context.Context, answers chan<- topAnswer) {
	if w.view.picture != nil && w.view.lostAt.IsZero() && w.view.picture.of != w.query() {
		w.ask(ctx, answers)
	}
}

// ask sends a request in the background, unless one is under way.
func (w *topWatch) ask(ctx context.Context, answers chan<- topAnswer) {
	if w.waiting {
		return
	}
	if !w.view.lostAt.IsZero() { // perhaps as the token, the address or the certificate is another one now
		if again, err := w.connect(w.environ); err == nil {
			w.client.Close()
			w.client = again
		}
	}
	client, query := w.client, w.query()
	w.waiting, w.began = true, time.Now()
	go func() {
		var answer topAnswer
		defer func() {
			if caught := recover(); caught != nil { // here it would end the process before the terminal is restored
				answer.crash = fmt.Sprintf("%v\n%s", caught, debug.Stack())
			}
			answers <- answer
		}()
		answer.picture, answer.err = w.read(ctx, client, query)
	}()
}

// accept shows an answer, or that there is none.
func (w *topWatch) accept(answer topAnswer, now time.Time) {
	w.waiting = false
	if answer.err == nil {
		w.view.picture, w.view.lostAt, w.answered = answer.picture, time.Time{}, now
		return
	}
	reason := answer.err
	if failed := (&url.Error{}); errors.As(reason, &failed) {
		reason = failed.Err // without the address, which the user has not typed
	}
	w.lose(reason.Error(), errors.As(answer.err, &refusal{}))
}

// lose keeps what is shown, and says since when it is not known to be so.
func (w *topWatch) lose(reason string, refused bool) {
	w.view.lostAt, w.view.reason, w.view.refused = w.answered, reason, refused
}

// press does what a key is for. It returns true for the one that quits.
func (w *topWatch) press(key byte) (quit bool, err error) {
	switch key {
	case 'q':
		return true, nil
	case 'p':
		w.view.paused = !w.view.paused
	case suspendKey:
		return false, w.screen.suspend()
	}
	for _, o := range topOrders {
		if o.key == key {
			w.view.order = o.order
		}
	}
	return false, nil
}

// draw shows the view.
func (w *topWatch) draw(now time.Time) error {
	if w.waiting && now.Sub(w.began) >= topSilence {
		w.lose("the gateway of this machine has not answered yet", false)
	}
	width, height := w.screen.size()
	highlighted := []int{len(w.view.head(width))} // the head of the table
	if !w.view.lostAt.IsZero() {
		highlighted = append(highlighted, 0)
	}
	return w.screen.draw(w.view.frame(width, height), width, highlighted...)
}

// readKeys returns the keys that are pressed. Its goroutine ends with the process, as a read of a terminal cannot be
// given up.
func readKeys(ctx context.Context, in *os.File) <-chan byte {
	keys := make(chan byte)
	go func() {
		buffer := make([]byte, 64)
		for {
			n, err := in.Read(buffer)
			if n == 0 || err != nil {
				return
			}
			for _, key := range characters(buffer[:n]) {
				select {
				case keys <- key:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return keys
}

// characters returns what was typed without keys that have no character, such as an arrow: escape, [ or O, parameters,
// and a letter. Such a sequence is read in one piece; an escape at the end is the key of that name.
func characters(typed []byte) (keys []byte) {
	for i := 0; i < len(typed); i++ {
		if typed[i] != escape {
			keys = append(keys, typed[i])
			continue
		}
		if i++; i < len(typed) && (typed[i] == '[' || typed[i] == 'O') {
			for i++; i < len(typed) && (typed[i] < '@' || typed[i] > '~'); {
				i++
			}
		}
	}
	return keys
}
