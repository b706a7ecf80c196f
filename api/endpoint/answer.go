package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
)

// Empty is the answer without a body, and the command that needs no input.
type Empty struct{}

// encode is how a value goes over the wire: nothing escaped for HTML, a newline at the end. Empty has no bytes at all,
// and a list without elements is [], never null. A value that JSON cannot hold is a defect, and panics.
func encode(v any) []byte {
	if v == (Empty{}) {
		return nil
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.IsNil() {
		return []byte("[]\n")
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Errorf("endpoint: answer %T: %w", v, err))
	}
	return out.Bytes()
}

func write(w http.ResponseWriter, status int, body []byte) {
	if len(body) > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client is gone
}
