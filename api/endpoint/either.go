package endpoint

import (
	"encoding/json"
	"reflect"
)

// Either is the answer of an endpoint that has two shapes.
type Either[A, B any] struct{ is any }

// First answers with the one shape.
func First[A, B any](a A) Either[A, B] { return Either[A, B]{a} }

// Second answers with the other.
func Second[A, B any](b B) Either[A, B] { return Either[A, B]{b} }

// MarshalJSON is that of the shape it has.
func (e Either[A, B]) MarshalJSON() ([]byte, error) { return json.Marshal(e.is) }

func (Either[A, B]) shapes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[A](), reflect.TypeFor[B]()}
}

// alternatives are the shapes that an answer of the type may have.
func alternatives(t reflect.Type) []reflect.Type {
	if t.Kind() == reflect.Struct {
		if either, ok := reflect.Zero(t).Interface().(interface{ shapes() []reflect.Type }); ok {
			return either.shapes()
		}
	}
	return []reflect.Type{t}
}
