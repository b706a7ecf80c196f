package lanes

// Sale is what staff decided about offering a lane to the POS. It wins over the configuration until they clear it.
type Sale string

// What staff may decide.
const (
	AsConfigured Sale = ""
	OnSale       Sale = "open"
	OffSale      Sale = "closed"
)

// String is the word for it.
func (s Sale) String() string {
	if s == AsConfigured {
		return "configured"
	}
	return string(s)
}

// ForSale reports whether the POS may sell the lane.
func (l Lane) ForSale() bool {
	if l.Sale == AsConfigured {
		return l.Accessible
	}
	return l.Sale == OnSale
}

// Offer opens the lane for sale, closes it, or leaves that to the configuration again. A session on it is not touched.
type Offer struct{ Sale Sale }

// Name implements Command.
func (Offer) Name() string { return "offer" }

func (cmd Offer) decide(_ Instant, c *Change) error {
	c.Lane.Sale = cmd.Sale
	return nil
}
