// Package gateway is a whole gateway as it runs in one process: New starts it, Run serves, Reload puts a
// changed configuration in force, Close stops it. The command line, the tests and the benchmarks start the
// same one.
//
// New goes through named stages. Each needs those before it, and Close ends them in reverse order:
//
//	store, sign-ins       what was saved, and who is signed in
//	clock                 the machine's beside the store's
//	flight recorder       what the process did, for a stop that is late (flight.go); the runtime turns it on
//	nodes' address        bound before the others are told of it
//	actors                the actor system, without a range
//	ownership             which ranges run here: all, or those that this node owns among several
//	certificates          of every address that has TLS
//	runtime               all that depends on the configuration: handlers, credentials, clients of webhooks (runtime.go, handlers.go)
//	addresses             operations, API, controllers (listen.go); answers say "starting" until the ranges run
//	ranges                brought back from the store, or claimed one by one among several nodes
//
// A reload builds another runtime beside the one in force and replaces it at once. A request under way
// finishes with the runtime that it began with.
package gateway
