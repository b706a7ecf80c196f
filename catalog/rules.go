package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"github.com/shopspring/decimal"
)

// maxLogged bounds the log lines about the products of one answer: 1 MiB may hold a hundred thousand invalid ones.
const maxLogged = 20

// split returns the elements of a JSON array, without parsing them.
func split(body []byte) ([]json.RawMessage, error) {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '[' {
		return nil, &noArray
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(body, &elements); err != nil {
		return nil, &noArray
	}
	return elements, nil
}

// validProducts returns the first products that keep the rules, up to the type's limit. It logs the others with all of
// their problems.
func (c *Client) validProducts(t Type, elements []json.RawMessage) []Product {
	products, leftOut := []Product{}, 0
	seen := map[string]bool{}
	for i, element := range elements {
		if len(products) == t.limit() {
			c.settings.Log.Debug().Str("type", string(t)).Int("ignored", len(elements)-i).
				Msg("the integrator has more products of the type than can be shown")
			break
		}
		found := read(t, element)
		if seen[found.product.ID] {
			found.problems = append(found.problems, "an earlier product has the same id")
		}
		if len(found.problems) > 0 {
			if leftOut++; leftOut <= maxLogged {
				c.logProduct(t, i, found).Strs("problems", found.problems).Msg("a product of the integrator is left out")
			}
			continue
		}
		if found.noPicture != "" {
			c.logProduct(t, i, found).Str("problem", found.noPicture).Msg("a product of the integrator is shown without its picture")
		}
		seen[found.product.ID] = true
		products = append(products, found.product)
	}
	if leftOut > maxLogged {
		c.settings.Log.Warn().Str("type", string(t)).Int("more", leftOut-maxLogged).Msg("more products of the integrator are left out")
	}
	return products
}

// logProduct begins a log line about the element with that index. The logged position counts from 1.
func (c *Client) logProduct(t Type, index int, found reading) *zerolog.Event {
	line := c.settings.Log.Warn().Str("type", string(t)).Int("position", index+1)
	if id := found.product.ID; id != "" && utf8.RuneCountInString(id) <= maxID {
		line.Str("product", id)
	}
	return line
}

const (
	maxID           = 255 // characters
	maxWholeDigits  = 18  // of a price, before the point
	maxDecimals     = 6   // of a price, as it is written
	maxPriceWritten = 64  // characters
)

// reading is a parsed element of the array.
type reading struct {
	product   Product
	problems  []string // why it cannot be sold, each with its key
	noPicture string   // why its picture is not shown, else empty
}

// read checks an element against the rules of its type (SPEC.md part 2; WIRE.md, Products).
func read(t Type, element json.RawMessage) reading {
	keys, problem := parseKeys(element)
	if problem != "" {
		return reading{problems: []string{problem}}
	}
	r := reading{product: Product{MinQty: 1, IncrementBy: 1}}
	p := &r.product
	p.ID = r.note(keys.text("id"))
	p.DisplayName = r.note(keys.text("display_name"))
	price, problem := keys.price("price")
	p.Price = json.Number(r.note(price, problem))
	p.MaxQty = r.integer(keys, "max_qty")
	if t == Time {
		p.MinQty = r.integer(keys, "min_qty")
		p.IncrementBy = r.integer(keys, "increment_by")
		if p.MaxQty > 0 && p.MaxQty < p.MinQty {
			r.problems = append(r.problems, "max_qty must not be less than min_qty")
		}
	}
	r.note("", idProblem(t, p.ID))
	p.PictureURL, r.noPicture = keys.picture("picture_url")
	return r
}

// note appends the problem unless it is empty, and returns the value.
func (r *reading) note(value, problem string) string {
	if problem != "" {
		r.problems = append(r.problems, problem)
	}
	return value
}

// integer returns an integer of at least 1, or notes the problem and returns 0.
func (r *reading) integer(keys keys, name string) int {
	n, problem := keys.integer(name)
	r.note("", problem)
	return n
}

// idProblem reserves the id time for lane time, as its purchase extends the session.
func idProblem(t Type, id string) string {
	switch {
	case id == "":
		return "" // noted before
	case utf8.RuneCountInString(id) > maxID:
		return fmt.Sprintf("id must not be longer than %d characters", maxID)
	case t == Time && id != timeID:
		return fmt.Sprintf("id must be %q for lane time", timeID)
	case t != Time && id == timeID:
		return fmt.Sprintf("id must not be %q for anything but lane time", timeID)
	}
	return ""
}

// priceProblem checks the bounds of a JSON number without expanding its exponent, which may be huge.
func priceProblem(written string) string {
	const bounds = "price must have at most 18 digits before the point and 6 behind it"
	if len(written) > maxPriceWritten {
		return bounds
	}
	amount, err := decimal.NewFromString(written)
	switch {
	case err != nil:
		return bounds // the exponent exceeds the range of decimals
	case amount.IsNegative():
		return "price must not be negative"
	case amount.Exponent() < -maxDecimals, int(amount.Exponent()) > maxWholeDigits,
		amount.NumDigits()+int(amount.Exponent()) > maxWholeDigits:
		return bounds
	}
	return ""
}

func pictureProblem(address string) string {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "picture_url must be an absolute http or https URL"
	}
	return ""
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// keys is a JSON object. Its keys are case-sensitive; the last one of two equal keys counts; null counts as missing. The
// methods named after a type return the value and the problem with it, or "".
type keys map[string]json.RawMessage

// parseKeys parses one element of the array, so that an invalid one does not affect the others.
func parseKeys(element json.RawMessage) (keys, string) {
	if !utf8.Valid(element) {
		return nil, "is not UTF-8"
	}
	var found keys
	if err := json.Unmarshal(element, &found); err != nil || found == nil {
		return nil, "is not an object"
	}
	return found, ""
}

func (k keys) has(name string) bool { return k[name] != nil && string(k[name]) != "null" }

// text returns a string that is not blank.
func (k keys) text(name string) (string, string) {
	if !k.has(name) {
		return "", name + " is missing"
	}
	var text string
	if err := json.Unmarshal(k[name], &text); err != nil {
		return "", name + " must be a string"
	}
	if blank(text) {
		return "", name + " is empty"
	}
	return text, ""
}

// integer returns an integer of at least 1. 8.0 and "8" are none.
func (k keys) integer(name string) (int, string) {
	if !k.has(name) {
		return 0, name + " is missing"
	}
	n, err := strconv.Atoi(string(k[name]))
	if err != nil || n < 1 {
		return 0, name + " must be an integer of at least 1"
	}
	return n, ""
}

// price returns a number as it is written.
func (k keys) price(name string) (string, string) {
	if !k.has(name) {
		return "", name + " is missing"
	}
	written := string(k[name])
	if first := written[0]; first != '-' && (first < '0' || first > '9') {
		return "", name + " must be a number"
	}
	if problem := priceProblem(written); problem != "" {
		return "", problem
	}
	return written, ""
}

// picture returns an address, or "" without one that can be shown.
func (k keys) picture(name string) (string, string) {
	if !k.has(name) {
		return "", ""
	}
	var address string
	if err := json.Unmarshal(k[name], &address); err != nil {
		return "", name + " must be a string"
	}
	if blank(address) {
		return "", ""
	}
	if problem := pictureProblem(address); problem != "" {
		return "", problem
	}
	return address, ""
}
