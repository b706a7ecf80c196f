package catalog

import (
	"encoding/json"
	"fmt"
	"math"
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
	var elements []json.RawMessage
	if json.Unmarshal(body, &elements) != nil || elements == nil { // nil: the answer is null
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
				c.logProduct(t, i, found).Strs("problems", found.problems).
					Msg("a product of the integrator is left out")
			}
			continue
		}
		if c.settings.SecureOnly && strings.HasPrefix(strings.ToLower(found.product.PictureURL), "http:") {
			found.product.PictureURL, found.noPicture = "", "picture_url must be an https URL in production"
		}
		if found.noPicture != "" {
			c.logProduct(t, i, found).Str("problem", found.noPicture).
				Msg("a product of the integrator is shown without its picture")
		}
		seen[found.product.ID] = true
		products = append(products, found.product)
	}
	if leftOut > maxLogged {
		c.settings.Log.Warn().Str("type", string(t)).Int("more", leftOut-maxLogged).
			Msg("more products of the integrator are left out")
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
	maxDecimals     = 6   // of a price
	maxPriceWritten = 400 // characters; any float64 of money is shorter
)

// reading is a parsed element of the array. Keys are case-sensitive; the last one of two equal keys counts;
// null counts as missing. The methods named after a type read one key, and note the problem with it.
type reading struct {
	keys      map[string]json.RawMessage
	product   Product
	problems  []string // why it cannot be sold, each with its key
	noPicture string   // why its picture is not shown, else empty
}

// read checks an element against the rules of its type (SPEC.md part 2; WIRE.md, Products).
func read(t Type, element json.RawMessage) reading {
	r := reading{product: Product{MinQty: 1, IncrementBy: 1}}
	if !utf8.Valid(element) {
		r.note("is not UTF-8")
		return r
	}
	if json.Unmarshal(element, &r.keys) != nil || r.keys == nil {
		r.note("is not an object")
		return r
	}
	p := &r.product
	p.ID = r.text("id")
	p.DisplayName = r.text("display_name")
	p.Price = r.price("price")
	p.MaxQty = r.integer("max_qty")
	if t == Time {
		p.MinQty = r.integer("min_qty")
		p.IncrementBy = r.integer("increment_by")
		if p.MaxQty > 0 && p.MaxQty < p.MinQty {
			r.note("max_qty must not be less than min_qty")
		}
	}
	r.note(idProblem(t, p.ID))
	p.PictureURL, r.noPicture = r.picture("picture_url")
	return r
}

// note notes a problem, unless it is empty.
func (r *reading) note(problem string) {
	if problem != "" {
		r.problems = append(r.problems, problem)
	}
}

func (r *reading) has(name string) bool { return r.keys[name] != nil && string(r.keys[name]) != "null" }

// text returns a string that is not blank.
func (r *reading) text(name string) (text string) {
	switch {
	case !r.has(name):
		r.note(name + " is missing")
	case json.Unmarshal(r.keys[name], &text) != nil:
		r.note(name + " must be a string")
	case blank(text):
		r.note(name + " is empty")
		return ""
	}
	return text
}

// integer returns an integer of at least 1, as JSON Schema has it: 8.0 is one, and "8" is none. Beyond 2^53
// the numbers of JSON are not interoperable (RFC 8259).
func (r *reading) integer(name string) int {
	n, err := strconv.ParseFloat(string(r.keys[name]), 64)
	switch {
	case !r.has(name):
		r.note(name + " is missing")
		return 0
	case err != nil || n < 1 || n != math.Trunc(n) || n > 1<<53:
		r.note(name + " must be an integer of at least 1")
		return 0
	}
	return int(n)
}

// price returns a number as it is written, rounded to maxDecimals: 0.1 + 0.2 is 0.30000000000000004 in most languages.
func (r *reading) price(name string) json.Number {
	if !r.has(name) {
		r.note(name + " is missing")
		return ""
	}
	written := string(r.keys[name])
	if first := written[0]; first != '-' && (first < '0' || first > '9') {
		r.note(name + " must be a number")
		return ""
	}
	price, problem := parsePrice(written)
	r.note(problem)
	return price
}

// picture returns an address, or "" without one that can be shown, and the problem with it.
func (r *reading) picture(name string) (address, problem string) {
	switch {
	case !r.has(name):
		return "", ""
	case json.Unmarshal(r.keys[name], &address) != nil:
		return "", name + " must be a string"
	case blank(address):
		return "", ""
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "", name + " must be an absolute http or https URL"
	}
	return address, ""
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

// parsePrice returns a JSON number as a price, or the problem with it. It does not expand an exponent, which
// may be huge.
func parsePrice(written string) (price json.Number, problem string) {
	const bounds = "price must have at most 18 digits before the point"
	if len(written) > maxPriceWritten {
		return "", fmt.Sprintf("price must have at most %d characters", maxPriceWritten)
	}
	amount, err := decimal.NewFromString(written)
	switch {
	case err != nil && strings.Contains(strings.ToLower(written), "e-"):
		return "0", ""
	case err != nil:
		return "", bounds // the exponent exceeds the range of decimals
	case amount.IsNegative():
		return "", "price must not be negative"
	case int(amount.Exponent()) > maxWholeDigits, amount.NumDigits()+int(amount.Exponent()) > maxWholeDigits:
		return "", bounds
	case amount.Exponent() >= -maxDecimals:
		return json.Number(written), ""
	case amount.Exponent() < -2*maxPriceWritten: // less than the smallest price, with as many digits as can be written
		return "0", ""
	}
	return json.Number(amount.Round(maxDecimals).String()), ""
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
