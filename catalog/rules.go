package catalog

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

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
