// Package credit kills a gateway whose lanes buy time, again and again, at whatever step their purchases are, and
// compares what was credited with what the integrator accepted: each accepted minute is in its session once, or its
// purchase is listed as unresolved.
package credit

import (
	"fmt"

	"github.com/google/uuid"
)

// Sold is the minutes that each session begins with.
const Sold = 60

// The range of the test.
var (
	Range = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	Group = uuid.MustParse("33333333-3333-4333-8333-000000000001")
)

// Lanes are its lanes.
func Lanes() []uuid.UUID {
	all := make([]uuid.UUID, 10)
	for n := range all {
		all[n] = uuid.MustParse(fmt.Sprintf("44444444-4444-4444-8444-%012d", n))
	}
	return all
}

// Result is the state of the sessions in the end, as the gateway shows it.
type Result struct {
	Sessions   []Session
	Unresolved []uuid.UUID // the events of the purchases that wait for staff
}

// Session is how long a session is in all.
type Session struct {
	ID      uuid.UUID
	Minutes int
}
