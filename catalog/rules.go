package catalog

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"github.com/shopspring/decimal"
)

const (
	maxLogged       = 20  // lines about the products of one answer: 1 MiB may hold a hundred thousand invalid ones
	maxID           = 255 // characters
	maxWholeDigits  = 18  // of a price, before the point
	maxDecimals     = 6   // of a price, as it is written
	maxPriceWritten = 64  // characters
)

// split returns the elements of a JSON array, without parsing them.
func split(body []byte) (elements []json.RawMessage, err error) {
	if json.Unmarshal(body, &elements) != nil || elements == nil {
		return nil, noArray
	}
	return elements, nil
}

// validProducts returns the first products that keep the rules, up to the type's limit, and logs the problems of the others.
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

// reading is one element of the array while it is read. Its methods return the value of a key, or note the problem with it.
type reading struct {
	keys      map[string]json.RawMessage // case-sensitive; the last one of two equal keys counts
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
	p.MaxQty = r.quantity("max_qty")
	if t == Time {
		p.MinQty = r.quantity("min_qty")
		p.IncrementBy = r.quantity("increment_by")
		if p.MaxQty > 0 && p.MaxQty < p.MinQty {
			r.note("max_qty must not be less than min_qty")
		}
	}
	r.checkID(t)
	r.readPicture("picture_url")
	return r
}

func (r *reading) note(problem string) { r.problems = append(r.problems, problem) }

// has is true if the key has a value; null counts as missing.
func (r *reading) has(name string) bool { return r.keys[name] != nil && string(r.keys[name]) != "null" }

// require notes a key that is missing.
func (r *reading) require(name string) bool {
	if !r.has(name) {
		r.note(name + " is missing")
	}
	return r.has(name)
}

// text returns a string that is not blank.
func (r *reading) text(name string) string {
	var text string
	switch {
	case !r.require(name):
	case json.Unmarshal(r.keys[name], &text) != nil:
		r.note(name + " must be a string")
	case strings.TrimSpace(text) == "":
		r.note(name + " is empty")
	default:
		return text
	}
	return ""
}

// quantity returns an integer of at least 1. 8.0 and "8" are none.
func (r *reading) quantity(name string) int {
	if !r.require(name) {
		return 0
	}
	n, err := strconv.Atoi(string(r.keys[name]))
	if err != nil || n < 1 {
		r.note(name + " must be an integer of at least 1")
		return 0
	}
	return n
}

// price returns a number as it is written. It checks the bounds without expanding the exponent, which may be huge.
func (r *reading) price(name string) json.Number {
	if !r.require(name) {
		return ""
	}
	written := json.Number(r.keys[name])
	if first := written[0]; first != '-' && (first < '0' || first > '9') {
		r.note(name + " must be a number")
		return ""
	}
	const bounds = " must have at most 18 digits before the point and 6 behind it"
	if len(written) > maxPriceWritten {
		r.note(name + bounds)
		return ""
	}
	amount, err := decimal.NewFromString(string(written))
	switch {
	case err != nil: // the exponent exceeds the range of decimals
		r.note(name + bounds)
	case amount.IsNegative():
		r.note(name + " must not be negative")
	case amount.Exponent() < -maxDecimals, int(amount.Exponent()) > maxWholeDigits,
		amount.NumDigits()+int(amount.Exponent()) > maxWholeDigits:
		r.note(name + bounds)
	}
	return written
}

// checkID reserves the id time for lane time, as its purchase extends the session.
func (r *reading) checkID(t Type) {
	id := r.product.ID
	switch {
	case id == "": // noted before
	case utf8.RuneCountInString(id) > maxID:
		r.note(fmt.Sprintf("id must not be longer than %d characters", maxID))
	case t == Time && id != timeID:
		r.note(fmt.Sprintf("id must be %q for lane time", timeID))
	case t != Time && id == timeID:
		r.note(fmt.Sprintf("id must not be %q for anything but lane time", timeID))
	}
}

// readPicture reads the address of the picture. Without one that can be shown the product is sold without a picture.
func (r *reading) readPicture(name string) {
	if !r.has(name) {
		return
	}
	var address string
	if json.Unmarshal(r.keys[name], &address) != nil {
		r.noPicture = name + " must be a string"
		return
	}
	if strings.TrimSpace(address) == "" {
		return
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		r.noPicture = name + " must be an absolute http or https URL"
		return
	}
	r.product.PictureURL = address
}
