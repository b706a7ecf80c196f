package endpoint

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// Form is one form of the objects of a list: those with that word have the fields that Read reads from the object.
type Form[T any] struct {
	Word, Description string
	Read              func(*Input) T
}

// Objects reads a required list of 1 to most objects from the body. Each says by the field key which form it has. The
// fault of a field stands under its place: operations[3].duration.
func Objects[T any](in *Input, name string, most int, description, key string, example any,
	forms ...Form[T],
) (list []T) {
	if in.request == nil {
		in.fields = append(in.fields, field{
			place: inBody, name: name, description: description, required: true, example: example,
			schema: schemaOf(most, key, forms),
		})
		return nil
	}
	text, form, found := in.lookUp(inBody, name)
	var objects []map[string]json.RawMessage
	switch {
	case slices.Contains(in.broken, inBody):
		return nil
	case !found:
		in.fault(name, "is required")
		return nil
	case form != literal || json.Unmarshal([]byte(text), &objects) != nil || len(objects) == 0 || len(objects) > most:
		in.fault(name, fmt.Sprintf("must be a list of 1 to %d objects", most))
		return nil
	}
	for i, object := range objects {
		one := &Input{request: in.request, body: object}
		list = append(list, readForm(one, key, forms))
		for field, sentence := range one.faults {
			in.fault(fmt.Sprintf("%s[%d].%s", name, i, field), sentence)
		}
	}
	return list
}

// OptionalObject reads an object from the body that may be left out. The fault of a field stands under its place:
// open_end.up_to.
func OptionalObject[T any](in *Input, name, description string, read func(*Input) T) (v T, given bool) {
	if in.request == nil {
		recording := &Input{}
		read(recording)
		object, _ := objectOf(recording.fields)
		in.fields = append(in.fields, field{place: inBody, name: name, description: description, schema: object})
		return v, false
	}
	text, form, found := in.lookUp(inBody, name)
	var object map[string]json.RawMessage
	switch {
	case slices.Contains(in.broken, inBody) || !found:
		return v, false
	case form != literal || json.Unmarshal([]byte(text), &object) != nil:
		in.fault(name, "must be an object")
		return v, false
	}
	one := &Input{request: in.request, body: object}
	v = read(one)
	for field, sentence := range one.faults {
		in.fault(name+"."+field, sentence)
	}
	return v, true
}

func readForm[T any](in *Input, key string, forms []Form[T]) (v T) {
	word := in.OneOf(key, "", wordsOf(forms)...)
	for _, form := range forms {
		if form.Word == word {
			v = form.Read(in)
		}
	}
	return v
}

func wordsOf[T any](forms []Form[T]) (words []string) {
	for _, form := range forms {
		words = append(words, form.Word)
	}
	return words
}

func schemaOf[T any](most int, key string, forms []Form[T]) *openapi3.Schema {
	either := openapi3.NewSchema()
	for _, form := range forms {
		recording := &Input{}
		recording.OneOf(key, form.Description, form.Word)
		form.Read(recording)
		object, _ := objectOf(recording.fields)
		object.Title = form.Word
		either.OneOf = append(either.OneOf, object.NewRef())
	}
	return openapi3.NewArraySchema().WithItems(either).WithMinItems(1).WithMaxItems(int64(most))
}
