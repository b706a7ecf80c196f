package catalog

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/rs/zerolog"
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
