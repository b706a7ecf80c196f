// Package memory is a snapshot store in the memory of this process, for tests in virtual time: nothing of it
// waits for a file or a socket.
//
// A Server has what is stored, as a Redis server has. Each gateway opens a Store on it, and with several
// gateways its Nodes. Every call takes effect at one instant, whole or not at all; delays and faults are put
// before and behind it by whoever simulates them. Copy and Restore are a fail-over: what was written between
// the two is lost.
//
// It passes the suite storetest, and gives what a Redis gives for the same calls (redis_test.go).
package memory
