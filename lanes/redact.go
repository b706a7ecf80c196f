package lanes

import "slices"

// Redacted stands in place of a text that is not shown.
const Redacted = "(redacted)"

func redact(text string) string {
	if text == "" {
		return ""
	}
	return Redacted
}

// WithoutNames returns the snapshot without what names a person, or may: the customer's name, what the POS knows the
// session by, and what the integrator has said to the customer.
func (s Snapshot) WithoutNames() Snapshot {
	if s.Session != nil {
		session := *s.Session
		session.Customer = redact(session.Customer)
		session.Correlation = session.Correlation.withoutNames()
		session.Purchase = session.Purchase.withoutNames()
		s.Session = &session
	}
	s.Open = slices.Clone(s.Open)
	for i, purchase := range s.Open {
		s.Open[i] = purchase.withoutNames()
	}
	return s
}

func (c *Correlation) withoutNames() *Correlation {
	if c == nil {
		return nil
	}
	hidden := &Correlation{ExternalID: redact(c.ExternalID)}
	if len(c.Metadata) > 0 {
		hidden.Metadata = map[string]string{Redacted: Redacted}
	}
	return hidden
}

func (p *Purchase) withoutNames() *Purchase {
	if p == nil {
		return nil
	}
	hidden := *p
	hidden.UserMessage = redact(p.UserMessage)
	return &hidden
}

// WithoutSecrets returns the snapshot without what the token of a reservation can be checked by.
func (s Snapshot) WithoutSecrets() Snapshot {
	if s.Reservation != nil {
		reservation := *s.Reservation
		reservation.Token, reservation.Holder = redact(reservation.Token), redact(reservation.Holder)
		s.Reservation = &reservation
	}
	return s
}
