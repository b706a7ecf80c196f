package linear

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// History is everything that clients have asked of one lane. Its methods are safe for concurrent use.
type History struct {
	mu         sync.Mutex
	operations []porcupine.Operation
}

// Span is what is known of an instant: not before Lo, not after Hi, on one clock.
type Span struct{ Lo, Hi time.Duration }

// Forever is the end of an operation that may still happen.
const Forever = 1 << 62

// Record records a request of a client, from its beginning to its answer.
func (h *History) Record(client int, asked Call, got Reply, at Span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: client, Input: asked, Call: int64(at.Lo), Output: got, Return: int64(at.Hi),
	})
}

// Count returns how many requests there were, by kind and outcome.
func (h *History) Count() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counted := map[string]int{}
	for _, o := range h.operations {
		counted[o.Input.(Call).Kind+" "+string(o.Output.(Reply).Outcome)]++
	}
	return counted
}

// Judge returns "" if one order of the requests explains every answer, or else the end of the history.
func (h *History) Judge() (unexplained string) {
	h.mu.Lock()
	history := slices.Clone(h.operations)
	h.mu.Unlock()
	verdict := porcupine.CheckOperationsTimeout(laneModel, history, time.Minute)
	if verdict == porcupine.Ok {
		return ""
	}
	return fmt.Sprintf("%v:\n%s", verdict, describe(history))
}

// describe is the end of a history, in the order of the answers, up to what cannot be explained. What was
// asked by then and answered later may have happened.
func describe(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	bad := len(history)
	for n := 1; n <= len(history); n++ {
		prefix := slices.Clone(history[:n])
		for _, o := range history[n:] {
			if answer := o.Output.(Reply); o.Call <= history[n-1].Return && answer.Outcome != Refused && o.Input.(Call).
				Kind != "read" {
				o.Return = Forever
				if answer.Outcome == Done {
					answer.Outcome = Maybe
				}
				o.Output = answer
				prefix = append(prefix, o)
			}
		}
		if porcupine.CheckOperationsTimeout(laneModel, prefix, 10*time.Second) != porcupine.Ok {
			bad = n
			break
		}
	}
	var text strings.Builder
	for _, o := range history[max(0, bad-20):bad] {
		end := fmt.Sprint(time.Duration(o.Return))
		if o.Return == Forever {
			end = "?"
		}
		fmt.Fprintf(&text, "  %v to %s, client %d: %+v: %+v\n", time.Duration(o.Call), end, o.ClientId,
			o.Input, o.Output)
	}
	return text.String()
}
