package actors

import (
	"math"
	"sync"
)

// words gives the few words that come again and again numbers. 0 is no word, and one too many.
type words struct {
	mu      sync.RWMutex
	numbers map[string]word
	all     []string
}

type word uint16

func (w *words) number(text string) word {
	if text == "" {
		return 0
	}
	w.mu.RLock()
	known, there := w.numbers[text]
	w.mu.RUnlock()
	if there {
		return known
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, there := w.numbers[text]; there {
		return known
	}
	if len(w.all) == 0 {
		w.numbers, w.all = map[string]word{}, []string{""}
	}
	if len(w.all) > math.MaxUint16 {
		return 0
	}
	w.numbers[text] = word(len(w.all))
	w.all = append(w.all, text)
	return w.numbers[text]
}

func (w *words) word(n word) string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if int(n) >= len(w.all) {
		return ""
	}
	return w.all[n]
}
