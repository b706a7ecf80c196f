package catalog

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Whatever body comes: what is for sale keeps every rule and its digits, and checking it again changes nothing.
func FuzzProducts(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "[null]", "[[]]", "[{}]", `["\xff"]`, "[" + aBox + "]", "[" + aTime + "," + aBox + "]",
		strings.Replace(aBox, "24.50", "1e999999999", 1), "[" + strings.Replace(aBox, "24.50", "-0.0e-3", 1) + "]",
		"[" + strings.Replace(aBox, "24.50", `"24.50"`, 1) + "]", "[" + strings.Replace(aBox, "10", "1e1", 1) + "]",
		`[{"id":"\ud800","display_name":"\u0000","price":0,"max_qty":9223372036854775807,"picture_url":"http://\u007f"}]`,
		"[" + aBox + "," + aBox + "]", strings.Repeat("[", 20000), " [ " + aTime + " , 7 ] ",
	} {
		for i := range Types {
			f.Add(uint8(i), seed)
		}
	}
	f.Fuzz(func(t *testing.T, number uint8, body string) {
		kind := Types[int(number)%len(Types)]
		products, _, err := check(kind, body)
		var array []json.RawMessage
		isArray := json.Unmarshal([]byte(body), &array) == nil && array != nil
		require.Equal(t, isArray, err == nil)
		if err != nil {
			return
		}
		require.NotNil(t, products)
		require.LessOrEqual(t, len(products), kind.limit())
		for _, p := range products {
			require.NotEmpty(t, p.ID)
			require.LessOrEqual(t, utf8.RuneCountInString(p.ID), maxID)
			require.Equal(t, kind == Time, p.ID == "time")
			require.NotEmpty(t, p.DisplayName)
			require.Contains(t, body, p.Price.String())
			require.False(t, p.Amount().IsNegative())
			require.LessOrEqual(t, len(p.Amount().String()), maxWholeDigits+1+maxDecimals+len("-"))
			require.GreaterOrEqual(t, p.MinQty, 1)
			require.GreaterOrEqual(t, p.IncrementBy, 1)
			require.GreaterOrEqual(t, p.MaxQty, p.MinQty)
			require.Empty(t, p.Refusal(p.MinQty))
			require.NotEmpty(t, p.Refusal(0))
		}
		encoded, err := json.Marshal(products)
		require.NoError(t, err)
		again, _, err := check(kind, string(encoded))
		require.NoError(t, err)
		require.Equal(t, products, again)
	})
}
