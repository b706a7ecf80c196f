package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/preflight"
	"rangegate/config"
)

// bundle packs what support has to know about a gateway into one file, which may leave the house.
type bundle struct {
	operator
	Out string `required:"" placeholder:"FILE" help:"The .tar.gz to write. It must not exist."`
	Log string `placeholder:"FILE" help:"The gateway's log, of which the newest 20 MB are packed; - is standard input."`
}

// Help is shown below the flags.
func (bundle) Help() string {
	return `Packs the configuration, the pre-flight of "rangegate check", and what the gateway of this machine says about itself at its operations address: health, metrics, actors and what holds them up, advisories, nodes, goroutines, the newest dump of the flight recorder. With the log, where journald keeps it:

  journalctl -u rangegate -o cat | rangegate bundle --config FILE --out bundle.tar.gz --log -

It has no secrets, no names of customers and none of staff. What could not be had, as of a gateway that does not answer, its README names. It takes a minute at most and changes nothing.`
}

const (
	maxLog   = 20 << 20 // bytes of the log that are packed
	maxPart  = 64 << 20 // bytes of one answer of the gateway
	maxLines = 1 << 20  // bytes of one line of the log
)

// Run writes the bundle.
func (b bundle) Run(t *terminal) error {
	cfg, err := config.Load(b.Config, t.environ)
	if err != nil {
		return gateway.Misconfigured{Err: err}
	}
	file, err := os.OpenFile(b.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return gateway.Misconfigured{Err: fmt.Errorf("--out: %w", err)}
	}
	if err := errors.Join(b.pack(t, cfg, file), file.Close()); err != nil {
		return errors.Join(err, os.Remove(b.Out))
	}
	t.printf("%s is written; look into it before you send it on\n", b.Out)
	return nil
}

func (b bundle) pack(t *terminal, cfg config.Config, to io.Writer) error {
	p := &parts{hidden: newHidden(cfg)}
	b.addConfiguration(p, cfg)
	b.addPreflight(t, p, cfg)
	b.addGateway(t, p)
	b.addLog(p)
	now := time.Now().UTC()
	p.add("README.txt", []byte(p.readme(now)))
	return p.write(to, now)
}

func (b bundle) addConfiguration(p *parts, cfg config.Config) {
	shown, err := config.YAML(p.hidden.configuration(cfg))
	p.put("configuration.yaml", shown, err)
}

func (b bundle) addPreflight(t *terminal, p *parts, cfg config.Config) {
	var table bytes.Buffer
	found := preflight.Run(t.ctx, preflight.Settings{
		File: b.Config, Config: cfg, Places: config.PlacesIn(b.Config, t.environ), Trust: gateway.TrustOf,
		UserAgent: gateway.UserAgent(buildVersion()),
		Collector: gateway.ProbeCollector,
	})
	err := preflight.Write(&table, found)
	p.put("preflight.txt", table.Bytes(), err)
}

// addGateway adds what the gateway says about itself.
func (b bundle) addGateway(t *terminal, p *parts) {
	client, err := b.connect(t.environ)
	if err != nil {
		p.put("gateway", nil, err)
		return
	}
	defer client.Close()
	// absent is the code by which the gateway says that it has no such thing, which is in order.
	for _, part := range []struct{ name, path, absent string }{
		{"readyz.txt", "/readyz", ""},
		{"metrics.txt", "/metrics", ""},
		{"actors.json", "/actors", ""},
		{"observer.json", "/observer/actors?limit=500", ""},
		{"advisories.json", "/advisories", ""},
		{"nodes.json", "/nodes", "not_found"},
		{"log-level.json", "/log-level", ""},
		{"goroutines.txt", "/debug/pprof/goroutine?debug=1", ""},
		{"flight.trace", "/debug/flight/newest", "no_dump"},
	} {
		content, err := client.read(t.ctx, part.path)
		if refused := (refusal{}); errors.As(err, &refused) && refused.code == part.absent && part.absent != "" {
			continue
		}
		p.put("gateway/"+part.name, content, err)
	}
}

// read returns the answer at that path as it is, whatever its status if it is not the gateway's own refusal.
func (c *operationsClient) read(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	response, err := c.send(ctx, "GET", path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxPart))
	if err != nil {
		return nil, err
	}
	var failure struct{ Error, Code string }
	if response.StatusCode >= 400 && json.Unmarshal(content, &failure) == nil && failure.Code != "" {
		return nil, refusal{failure.Error, failure.Code, response.StatusCode}
	}
	return content, nil
}

// addLog adds the newest part of the log without what stands at level debug.
func (b bundle) addLog(p *parts) {
	if b.Log == "" {
		p.put("log.jsonl", nil, errors.New("no --log was given"))
		return
	}
	from := io.ReadCloser(os.Stdin)
	if b.Log != "-" {
		file, err := os.Open(b.Log)
		if err != nil {
			p.put("log.jsonl", nil, err)
			return
		}
		from = file
	}
	content, err := newestLog(from, maxLog)
	p.put("log.jsonl", content, errors.Join(err, from.Close()))
}

// newestLog returns the newest lines, whole ones of at most so many bytes together, of those that are not at level
// debug. Lines that are no JSON, as the stacks of a crash, are part of it.
func newestLog(from io.Reader, most int) ([]byte, error) {
	var kept []byte
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLines)
	for lines.Scan() {
		var line struct{ Level string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && (line.Level == "debug" || line.Level == "trace") {
			continue
		}
		kept = append(append(kept, lines.Bytes()...), '\n')
		if len(kept) > 2*most {
			kept = cutLines(kept, most)
		}
	}
	return cutLines(kept, most), lines.Err()
}

// cutLines returns whole lines at the end of the text, of at most so many bytes.
func cutLines(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	return bytes.Clone(text[bytes.IndexByte(text, '\n')+1:])
}

// parts are the files of a bundle.
type parts struct {
	hidden  hidden
	files   []part
	missing []string // with the reason
}

type part struct {
	name    string
	content []byte
}

// put adds a file, or names it as missing.
func (p *parts) put(name string, content []byte, err error) {
	if err != nil {
		p.missing = append(p.missing, string(p.hidden.from([]byte(name+": "+err.Error()))))
	}
	if len(content) > 0 {
		p.add(name, content)
	}
}

func (p *parts) add(name string, content []byte) {
	p.files = append(p.files, part{name, p.hidden.from(content)})
}

func (p *parts) readme(now time.Time) string {
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "rangegate %s, %s/%s, packed at %s.\n\nSecrets are ***, staff are numbered, of "+
		"webhooks and products only the host is shown, and no customer is named.\n\nIn it:\n", buildVersion(),
		runtime.GOOS, runtime.GOARCH, now.Format(time.RFC3339))
	for _, file := range p.files {
		_, _ = fmt.Fprintf(&text, "  %s\n", file.name)
	}
	if len(p.missing) > 0 {
		text.WriteString("\nNot in it:\n")
		for _, why := range p.missing {
			_, _ = fmt.Fprintf(&text, "  %s\n", why)
		}
	}
	return text.String()
}

// write writes the files as a compressed archive of one folder.
func (p *parts) write(to io.Writer, now time.Time) error {
	packed := gzip.NewWriter(to)
	archive := tar.NewWriter(packed)
	folder := "rangegate-" + now.Format("20060102-150405") + "/"
	for _, file := range p.files {
		header := &tar.Header{
			Name: folder + file.name, Mode: 0o600, Size: int64(len(file.content)), ModTime: now,
			Typeflag: tar.TypeReg,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(file.content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

// hidden is what a bundle must not have.
type hidden struct {
	secrets []string          // the longest first
	staff   map[string]string // name → what is shown instead
}

// minSecret is the length from which a secret is looked for in every text. A shorter one, which production does not
// accept, may be a word of any sentence.
const minSecret = 12

func newHidden(cfg config.Config) hidden {
	h := hidden{staff: map[string]string{}}
	h.collect(reflect.ValueOf(cfg))
	for _, r := range cfg.Ranges {
		for _, member := range r.Staff {
			if h.staff[member.Name] == "" {
				h.staff[member.Name] = fmt.Sprintf("staff %d", len(h.staff)+1)
			}
		}
		for _, to := range r.Receivers() {
			h.hidePath(to.URL)
		}
		if r.Products != nil {
			h.hidePath(r.Products.URL)
		}
	}
	slices.SortFunc(h.secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return h
}

// collect finds every config.Secret of the value, and the password of one that is a URL.
func (h *hidden) collect(v reflect.Value) {
	if secret, ok := v.Interface().(config.Secret); ok {
		h.hide(secret.Reveal())
		if address, err := url.Parse(secret.Reveal()); err == nil && address.User != nil {
			password, _ := address.User.Password()
			h.hide(password)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				h.collect(v.Field(i))
			}
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			h.collect(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			h.collect(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			h.collect(v.MapIndex(key))
		}
	}
}

// hidePath hides what stands behind the host: receivers have tokens there.
func (h *hidden) hidePath(address string) {
	if parsed, err := url.Parse(address); err == nil {
		h.hide(parsed.RequestURI())
	}
}

func (h *hidden) hide(secret string) {
	if len(secret) >= minSecret {
		h.secrets = append(h.secrets, secret)
	}
}

// configuration returns the configuration without the names of staff, and of webhooks and products only the host.
func (h hidden) configuration(cfg config.Config) config.Config {
	cfg.Ranges = slices.Clone(cfg.Ranges)
	for i := range cfg.Ranges {
		r := &cfg.Ranges[i]
		r.Staff = slices.Clone(r.Staff)
		for j := range r.Staff {
			r.Staff[j].Name = h.staff[r.Staff[j].Name]
		}
		if r.Webhook != nil {
			only := *r.Webhook
			only.URL, r.Webhook = hostOnly(only.URL), &only
		}
		r.Webhooks = slices.Clone(r.Webhooks)
		for j := range r.Webhooks {
			r.Webhooks[j].URL = hostOnly(r.Webhooks[j].URL)
		}
		if r.Products != nil {
			only := *r.Products
			only.URL, r.Products = hostOnly(only.URL), &only
		}
	}
	return cfg
}

func hostOnly(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return "***"
	}
	return parsed.Scheme + "://" + parsed.Host + "/***"
}

// byName finds who did something, in a line of the log and in an answer.
var byName = regexp.MustCompile(`"(who|name)":"([^"\\]*)"`)

// from returns the text without what is hidden.
func (h hidden) from(text []byte) []byte {
	for _, secret := range h.secrets {
		text = bytes.ReplaceAll(text, []byte(secret), []byte("***"))
	}
	return byName.ReplaceAllFunc(text, func(member []byte) []byte {
		found := byName.FindSubmatch(member)
		if shown := h.staff[string(found[2])]; shown != "" {
			return fmt.Appendf(nil, `"%s":"%s"`, found[1], shown)
		}
		return member
	})
}
