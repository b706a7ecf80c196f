package store

import (
	"errors"
	"time"

	"github.com/google/uuid"
)

// Node is one run of the gateway among several that share a store. A range's own record says which one owns it.
type Node struct {
	Run     uuid.UUID // another one at each start; uuid.Nil: no node
	Name    string
	Address string // host:port at which the other nodes reach it
}

// Ownership is what a range's own record says of its owner.
type Ownership struct {
	Range uuid.UUID
	Epoch uint64 // 0: it was never claimed
	Owner Node   // zero: nobody owns it
}

// Lease is a node that is alive, as it describes itself. It ends unless the node renews it.
type Lease struct {
	Node
	Version     string    // of the gateway
	Digest      string    // of the ranges in its configuration
	DigestSince time.Time // when it first had this digest, by the clock of the store
	Draining    bool      // it gives its ranges away
	Refusing    string    // why it takes no ranges; empty: it takes them
	Drained     []Drained // ranges that it has given to another node, until it is started again
}

// Drained is a range that a node has given away, as an operator wanted it.
type Drained struct {
	Range uuid.UUID `json:"range"`
	Epoch uint64    `json:"epoch"` // that it had then: of several nodes that have given it away the last one has the highest
}

// Leases are all that have not ended.
type Leases struct {
	Live []Lease
	// Continued is false when the node's own lease had ended before, or was never held: the others may have
	// counted it as dead.
	Continued bool
	// Server names the server that has the leases. Another one than before may have lost what nodes that live
	// have renewed.
	Server string
	// ServerIsNew is true for a TTL since that server has had them in place of another one: nodes that live may
	// not have renewed theirs, nor saved what it lacks.
	ServerIsNew bool
}

// Claimant is a node that claims ranges.
type Claimant struct {
	Node
	Now time.Time // by its clock
	// Server has answered the node's newest renewal. Another one refuses the claim with ErrAnotherServer. Empty:
	// any server may carry it out.
	Server string
}

// ErrAnotherServer means that another server has answered the node's newest renewal than was asked to claim a range:
// what the node knows of leases and owners is of before a fail-over. Nothing was claimed.
var ErrAnotherServer = errors.New("another server has the leases than at this node's newest renewal")

// Claimed is the outcome of a claim for a node. Where the range was taken, Ownership says by whom, or that it
// had another epoch.
type Claimed struct {
	Ownership
	Taken   bool // not claimed: epoch or owner were not the expected ones
	Running int  // sessions whose time runs, of a range that was claimed
	Err     error
}
