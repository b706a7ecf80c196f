package catalog

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/rs/zerolog"
)

// maxLogged is how many products of one answer get a log line of their own: an answer within 1 MiB could hold some
// hundred thousand broken ones.
const maxLogged = 20

// split takes the array apart, and looks into none of its elements.
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

// forSale is the products among the elements that keep the rules, the first ones up to the type's limit. The others are
// left out and logged, with everything that is wrong with them.
func (c *Client) forSale(t Type, elements []json.RawMessage) []Product {
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
				c.about(t, i, found).Strs("problems", found.problems).Msg("a product of the integrator is left out")
			}
			continue
		}
		if found.noPicture != "" {
			c.about(t, i, found).Str("problem", found.noPicture).Msg("a product of the integrator is shown without its picture")
		}
		seen[found.product.ID] = true
		products = append(products, found.product)
	}
	if leftOut > maxLogged {
		c.settings.Log.Warn().Str("type", string(t)).Int("more", leftOut-maxLogged).Msg("more products of the integrator are left out")
	}
	return products
}

// about begins a line on the element with that index. position counts from 1.
func (c *Client) about(t Type, index int, found reading) *zerolog.Event {
	line := c.settings.Log.Warn().Str("type", string(t)).Int("position", index+1)
	if id := found.product.ID; id != "" && utf8.RuneCountInString(id) <= maxID {
		line.Str("product", id)
	}
	return line
}
