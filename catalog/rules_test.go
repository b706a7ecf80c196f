package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// with changes some keys of the product. A key whose value is nil is removed.
func with(base string, changes map[string]any) string {
	var keys map[string]any
	decoder := json.NewDecoder(strings.NewReader(base))
	decoder.UseNumber()
	if err := decoder.Decode(&keys); err != nil {
		panic(err)
	}
	for key, value := range changes {
		if keys[key] = value; value == nil {
			delete(keys, key)
		}
	}
	encoded, err := json.Marshal(keys)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

type change = map[string]any

func raw(written string) json.RawMessage { return json.RawMessage(written) }

// problemsOf returns the reasons for which the one product is left out, none if it is not.
func problemsOf(t *testing.T, kind Type, element string) []string {
	products, log, err := check(kind, "["+element+"]")
	require.NoError(t, err)
	if len(products) == 1 {
		return nil
	}
	require.Len(t, log, 1, "one line a product")
	var line struct {
		Level    string
		Type     Type
		Position int
		Problems []string
		Message  string
	}
	require.NoError(t, json.Unmarshal([]byte(log[0]), &line))
	require.Equal(t, "warn", line.Level)
	require.Equal(t, kind, line.Type)
	require.Equal(t, 1, line.Position)
	require.Equal(t, "a product of the integrator is left out", line.Message)
	require.NotEmpty(t, line.Problems)
	return line.Problems
}

const (
	badInteger = " must be an integer of at least 1"
	badPrice   = "price must have at most 18 digits before the point"
	longPrice  = "price must have at most 400 characters"
)

func TestTheRulesOfAProduct(t *testing.T) {
	for _, c := range []struct {
		kind    Type
		element string
		want    []string
	}{
		{Ammo, aBox, nil},
		{Time, aTime, nil},
		{Ammo, "7", []string{"is not an object"}},
		{Ammo, "null", []string{"is not an object"}},
		{Ammo, "[" + aBox + "]", []string{"is not an object"}},
		{Ammo, `"` + "\xff" + `"`, []string{"is not UTF-8"}},
		{Ammo, "{}", []string{"id is missing", "display_name is missing", "price is missing", "max_qty is missing"}},
		{Time, `{"id":null,"ID":"time"}`, []string{
			"id is missing", "display_name is missing", "price is missing", "max_qty is missing",
			"min_qty is missing", "increment_by is missing",
		}},
		{
			Ammo, with(aBox, change{"id": 9, "display_name": raw(`{}`)}),
			[]string{"id must be a string", "display_name must be a string"},
		},
		{Ammo, with(aBox, change{"id": "", "display_name": " \t"}), []string{"id is empty", "display_name is empty"}},
		{Ammo, with(aBox, change{"id": strings.Repeat("ü", 255)}), nil},
		{
			Ammo, with(aBox, change{"id": strings.Repeat("ü", 256)}),
			[]string{"id must not be longer than 255 characters"},
		},
		{Ammo, with(aBox, change{"id": "time"}), []string{`id must not be "time" for anything but lane time`}},
		{Time, with(aTime, change{"id": "lane-time"}), []string{`id must be "time" for lane time`}},
		{Ammo, with(aBox, change{"max_qty": 1}), nil},
		{Ammo, with(aBox, change{"max_qty": 0}), []string{"max_qty" + badInteger}},
		{Ammo, with(aBox, change{"max_qty": -1}), []string{"max_qty" + badInteger}},
		{Ammo, with(aBox, change{"max_qty": raw("8.0")}), nil},
		{Ammo, with(aBox, change{"max_qty": raw("8e0")}), nil},
		{Time, with(aTime, change{"min_qty": raw("15.0"), "increment_by": raw("15.00"), "max_qty": raw("6e1")}), nil},
		{Ammo, with(aBox, change{"max_qty": raw("8.5")}), []string{"max_qty" + badInteger}},
		{Ammo, with(aBox, change{"max_qty": raw("0.5")}), []string{"max_qty" + badInteger}},
		{Ammo, with(aBox, change{"max_qty": "8.0"}), []string{"max_qty" + badInteger}},
		{Ammo, with(aBox, change{"max_qty": "8"}), []string{"max_qty" + badInteger}},
		{Ammo, with(aBox, change{"max_qty": true}), []string{"max_qty" + badInteger}},
		{Ammo, with(aBox, change{"max_qty": raw("99999999999999999999")}), []string{"max_qty" + badInteger}},
		{Ammo, with(aBox, change{"max_qty": raw("9007199254740992")}), nil}, // 2^53
		{Ammo, with(aBox, change{"max_qty": raw("9007199254740994")}), []string{"max_qty" + badInteger}},
		{Ammo, with(aBox, change{"min_qty": -5, "increment_by": "x"}), nil}, // assumed to be 1
		{Time, with(aTime, change{"min_qty": 0}), []string{"min_qty" + badInteger}},
		{Time, with(aTime, change{"increment_by": 0}), []string{"increment_by" + badInteger}},
		{Time, with(aTime, change{"max_qty": 14}), []string{"max_qty must not be less than min_qty"}},
		{Time, with(aTime, change{"max_qty": 15}), nil},
		{Time, with(aTime, change{"max_qty": 0}), []string{"max_qty" + badInteger}}, // which is said once
		{
			Time, with(aTime, change{"max_qty": 0, "min_qty": 0}),
			[]string{"max_qty" + badInteger, "min_qty" + badInteger},
		},
		{Ammo, with(aBox, change{"unheard_of": change{"a": 1}}), nil},
		{Ammo, `{"id":"x","max_qty":0,` + aBox[1:], nil}, // of a key given twice the last one counts
	} {
		require.Equal(t, c.want, problemsOf(t, c.kind, c.element), "%s %.80s", c.kind, c.element)
	}
}

func TestThePriceIsANumberWithinBounds(t *testing.T) {
	for written, want := range map[string]string{
		"0": "", "12.50": "", "-0": "", "1e2": "", "1E-6": "", "0.000001": "",
		"999999999999999999.999999": "", "1e17": "",
		// 400 characters, and 401
		"1e" + strings.Repeat("0", 397) + "2": "", "1e" + strings.Repeat("0", 398) + "2": longPrice,
		"0.0000001": "", "1.0000000": "", "1000000000000000000": badPrice, "1e18": badPrice, "1e999999999": badPrice,
		"1e99999999999999999999": badPrice, "0e999999999": badPrice, "1e-999999999": "", "-1e999999999": badPrice,
		"0." + strings.Repeat("0", 1000): longPrice, strings.Repeat("9", 100_000): longPrice,
		"-0.01": "price must not be negative", `"12.50"`: "price must be a number", "[]": "price must be a number",
		"false": "price must be a number",
		"null":  "price is missing",
	} {
		problems := problemsOf(t, Ammo, with(aBox, change{"price": raw(written)}))
		if want == "" {
			require.Empty(t, problems, written)
		} else {
			require.Equal(t, []string{want}, problems, "%.40s", written)
		}
	}
}

// A price with more digits than there is money for is rounded, and no reason to leave a product out.
func TestAPriceIsRounded(t *testing.T) {
	for written, price := range map[string]string{
		"0.30000000000000004": "0.3", "24.990000000000002": "24.99", "1.0000000": "1", "0.0000005": "0.000001",
		"0.0000004":  "0",
		"12.3456785": "12.345679", "1e-999999999": "0", "0." + strings.Repeat("0", 397) + "1": "0",
		"12.500000":  "12.500000",
		"9.99999999": "10",
	} {
		products, _, err := check(Ammo, "["+with(aBox, change{"price": raw(written)})+"]")
		require.NoError(t, err)
		require.Len(t, products, 1, written)
		require.Equal(t, price, products[0].Price.String(), "%.40s", written)
	}
}

func TestAPriceKeepsTheDigitsItCameWith(t *testing.T) {
	for written, amount := range map[string]string{
		"12.50": "12.5", "0.10": "0.1", "1e2": "100", "999999999999999999.999999": "999999999999999999.999999",
		"0.300000": "0.3",
	} {
		products, _, err := check(Ammo, "["+with(aBox, change{"price": raw(written)})+"]")
		require.NoError(t, err)
		encoded, err := json.Marshal(products)
		require.NoError(t, err)
		require.Contains(t, string(encoded), `"price":`+written+`,`)
		require.Equal(t, amount, products[0].Amount().String())
	}
	require.True(t, Product{Price: "dear"}.Amount().IsZero())
}

// A customer reads a price with the zeros that the integrator wrote, and never an exponent.
func TestAPriceAsItIsShown(t *testing.T) {
	for written, shown := range map[string]string{
		"24.50": "24.50", "24.5": "24.5", "24": "24", "0.10": "0.10", "1e2": "100", "2.5e1": "25",
		"0": "0", "dear": "0",
	} {
		require.Equal(t, shown, Product{Price: json.Number(written)}.PriceText(), written)
	}
}

func TestAPictureIsShownOrDroppedButNeverCostsTheProduct(t *testing.T) {
	for _, c := range []struct {
		sent any
		want string
		log  string
	}{
		{nil, "", ""},
		{raw("null"), "", ""},
		{"", "", ""},
		{"https://pos.example.com/a.jpg?x=1", "https://pos.example.com/a.jpg?x=1", ""},
		{"http://127.0.0.1:8090/a.jpg", "http://127.0.0.1:8090/a.jpg", ""},
		{"/a.jpg", "", "picture_url must be an absolute http or https URL"},
		{"javascript:alert(1)", "", "picture_url must be an absolute http or https URL"},
		{"https://", "", "picture_url must be an absolute http or https URL"},
		{"https://a b/", "", "picture_url must be an absolute http or https URL"},
		{7, "", "picture_url must be a string"},
	} {
		products, log, err := check(Ammo, "["+with(aBox, change{"picture_url": c.sent})+"]")
		require.NoError(t, err)
		require.Equal(t, c.want, products[0].PictureURL)
		want := ""
		if c.log != "" {
			want = fmt.Sprintf(`{"level":"warn","type":"ammo","position":1,"product":"9mm","problem":%q,`+
				`"message":"a product of the integrator is shown without its picture"}`, c.log)
		}
		require.Equal(t, []string{want}, log)
	}
}

func TestProductionShowsNoPictureWithoutTLS(t *testing.T) {
	for sent, want := range map[string]string{
		"https://pos.example/a.jpg": "https://pos.example/a.jpg",
		"HTTPS://pos.example/a.jpg": "HTTPS://pos.example/a.jpg",
		"http://pos.example/a.jpg":  "", "HTTP://pos.example/a.jpg": "", "": "",
	} {
		elements, err := split([]byte("[" + with(aBox, change{"picture_url": sent}) + "]"))
		require.NoError(t, err)
		log := &logLines{}
		products := New(Settings{Log: zerolog.New(log), SecureOnly: true}).validProducts(Ammo, elements)
		require.Len(t, products, 1)
		require.Equal(t, want, products[0].PictureURL)
		require.Equal(t, sent != "" && want == "",
			strings.Contains(log.lines()[0], "picture_url must be an https URL in production"), sent)
	}
}

func TestOfProductsWithTheSameIDTheFirstCounts(t *testing.T) {
	products, log, err := check(Ammo, "["+with(aBox, change{"price": -1})+","+aBox+","+
		with(aBox, change{"price": 1})+"]")
	require.NoError(t, err)
	require.Len(t, products, 1)
	require.Equal(t, "24.50", products[0].Price.String())
	require.Equal(t, []string{
		`{"level":"warn","type":"ammo","position":1,"product":"9mm","problems":["price must not be negative"],"message":"a product of the integrator is left out"}`,
		`{"level":"warn","type":"ammo","position":3,"product":"9mm","problems":["an earlier product has the same id"],"message":"a product of the integrator is left out"}`,
	}, log)
}

func TestBeyondTheLimitTheRestIsIgnored(t *testing.T) {
	boxes := make([]string, 0, 20)
	for i := range 10 {
		boxes = append(boxes, `{"price":"broken"}`, with(aBox, change{"id": fmt.Sprint("box-", i)}))
	}
	for _, kind := range []Type{Targets, Ammo, Rentals} {
		products, log, err := check(kind, "["+strings.Join(boxes, ",")+"]")
		require.NoError(t, err)
		require.Len(t, products, 8, "counted without the broken ones")
		require.Equal(t, "box-7", products[7].ID)
		require.Len(t, log, 9, "of those that are ignored nothing else is said")
		require.Equal(t, fmt.Sprintf(`{"level":"debug","type":%q,"ignored":4,`+
			`"message":"the integrator has more products of the type than can be shown"}`, kind), log[8])
	}
	products, _, err := check(Time, "["+aTime+","+aTime+"]")
	require.NoError(t, err)
	require.Len(t, products, 1)
}

func TestOneAnswerCannotFloodTheLog(t *testing.T) {
	products, log, err := check(Ammo, "["+strings.Repeat("0,", 5000)+aBox+"]")
	require.NoError(t, err)
	require.Len(t, products, 1)
	require.Len(t, log, 21)
	require.Equal(t,
		`{"level":"warn","type":"ammo","more":4980,"message":"more products of the integrator are left out"}`, log[20])

	_, log, err = check(Ammo, "["+strings.Repeat("0,", 19)+"0]")
	require.NoError(t, err)
	require.Len(t, log, 20, "each has its line, and there are no more")
}

// A line of the log names the product as the integrator does, unless it has no name or one of whatever length.
func TestALineOfTheLogNamesTheProduct(t *testing.T) {
	for id, named := range map[string]string{
		"9mm":                    `"product":"9mm",`,
		"":                       "",
		strings.Repeat("ü", 255): `"product":"` + strings.Repeat("ü", 255) + `",`,
		strings.Repeat("ü", 256): "",
	} {
		_, log, err := check(Ammo, "["+with(aBox, change{"id": id, "price": nil})+"]")
		require.NoError(t, err)
		require.Len(t, log, 1)
		require.Contains(t, log[0], `"position":1,`+named+`"problems"`)
	}
}
