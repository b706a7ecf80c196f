// Package simulation runs a whole installation in one process, in virtual time, from a seed: gateways as the
// command line starts them, on machines that die, freeze and have clocks of their own; one store;
// controllers, a webhook receiver, POS clients, staff and operators. What the processes of test/cluster show in
// minutes, it shows in a second.
//
// A run (run.go) goes like this:
//
//	world       machines, network, store and controllers are made; every delay and fault is drawn from the seed
//	load        clients, staff and customers act on a few lanes, so that they collide, while faults come and go
//	            and operators restart lanes and gateways, and give ranges away; on two more lanes of each range relays are
//	            sold, begin together, run out, and play on in their graces, or with an open end, or go;
//	            checkouts reserve lanes, and sell them with the token
//	rest        the faults end; everything has to be ready, linked and delivered within a bound
//	judgement   what always holds (judge.go) was checked at every step; the histories are judged now, and every
//	            session that has ended is computed again from the event log
//
// A seed gives nearly the same run each time: the Go scheduler is not under the test's control. A run that
// fails is repeated, and prints what happened at each step.
package simulation
