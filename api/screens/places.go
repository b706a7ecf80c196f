package screens

// Places bounds how many may be in at a time.
type Places chan struct{}

// Enter takes a place, if there is one; who is in leaves.
func (p Places) Enter() (leave func(), in bool) {
	select {
	case p <- struct{}{}:
		return func() { <-p }, true
	default:
		return nil, false
	}
}

// Full is the refusal of one too many.
type Full struct{ What string }

func (f Full) Error() string { return "too many " + f.What }

// Code is overloaded.
func (Full) Code() string { return "overloaded" }
