package control

import (
	"strconv"
	"sync"
)

// walkIns names the customers of one range who give no name: by a word and the lowest number that nobody on a
// lane has. Its methods are safe for concurrent use: two sales at one time get two names.
type walkIns struct {
	mu    sync.Mutex
	given map[string]bool // to sales that are under way
}

// give returns a name, and the function that is called once the sale has an outcome: the board has the name then.
func (w *walkIns) give(r Range, word string) (name string, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := map[string]bool{}
	statuses, _, _ := r.Changes(0)
	for _, status := range statuses {
		if session := status.Lane.Session; session != nil {
			taken[session.Customer] = true
		}
	}
	for n := 1; ; n++ {
		name = word + " " + strconv.Itoa(n)
		if !taken[name] && !w.given[name] {
			break
		}
	}
	if w.given == nil {
		w.given = map[string]bool{}
	}
	w.given[name] = true
	return name, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.given, name)
	}
}
