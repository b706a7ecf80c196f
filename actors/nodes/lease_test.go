package nodes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
)

// Another server has the leases. Owners have a TTL from when it has answered: what the renewal waited for, such as an
// answer of the Sentinels, may have been before it was the master.
func TestOwnersHaveATTLFromTheAnswerOfAnotherServer(t *testing.T) {
	var l lease
	l.renewed(start.Add(-ttl), start.Add(-ttl), store.Lease{}, store.Leases{Server: "before"})
	sent, answered := start, start.Add(2*ttl/renewals)
	l.renewed(sent, answered, store.Lease{}, store.Leases{Server: "after", Continued: true})
	until := answered.Add(ttl)
	for at := answered; at.Before(until); at = at.Add(ttl / renewals) {
		l.renewed(at, at, store.Lease{}, store.Leases{Server: "after", Continued: true})
		require.False(t, l.mayTakeOver(at, ttl), at.Sub(answered))
	}
	l.renewed(until, until, store.Lease{}, store.Leases{Server: "after", Continued: true})
	require.True(t, l.mayTakeOver(until, ttl))
}
