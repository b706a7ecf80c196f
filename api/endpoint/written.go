package endpoint

import "reflect"

// Written is an answer that writes its own JSON, where encoding/json would take too long: it appends to a buffer what
// encoding/json, told to escape nothing for HTML, makes of a View, and the same to the byte. The document shows the View.
type Written[View any] func(to []byte) []byte

func (w Written[View]) write(to []byte) []byte { return w(to) }

func (Written[View]) view() reflect.Type { return reflect.TypeFor[View]() }

// answerOf is the type that the document shows of an answer.
func answerOf[Out any]() reflect.Type {
	var out Out
	if written, is := any(out).(interface{ view() reflect.Type }); is {
		return written.view()
	}
	return reflect.TypeFor[Out]()
}
