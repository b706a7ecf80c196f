/*
 * Promise 6 of docs/ownership.md as a model: a range whose owner is lost is served again. spin checks that it cannot stay
 * unserved, whatever has happened before, once nothing more goes wrong.
 *
 * What stands for what
 *
 *   node      It renews its lease, saves a checkpoint if it runs the range, reads the range's record and does what the
 *             record asks for, again and again. The steps of the nodes mix in every way. A node that can go on does so
 *             some day (weak fairness).
 *   time      A node counts its renewals without a gap: two are a TTL. As many of its rounds are the time after which the
 *             next best node may take the range. How long three TTLs are is for test/cluster to say.
 *   epoch     Of a node that runs the range: lower than the stored one, the stored one, or higher, where a fail-over has
 *             rolled its claim back. No number is kept, so that there may be any number of claims.
 *   fault     Each kind happens a number of times, at any time. Then no more comes, as the promise says.
 *
 * What is left out: what is saved (ownership.pml has it), announcements (nothing rests on them), moves for balance.
 */

#define NODES 3
#define TTL 2
#define PATIENCE 1      /* rounds that a better node has, before the next best takes the range */
#define LONGEST 3
#ifndef CRASHES
#define CRASHES 1       /* a node that has crashed starts again as another run */
#endif
#ifndef LOST
#define LOST 1          /* renewals that fail, and claims without an answer */
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef SUSPENDED
#define SUSPENDED 1     /* leases that end while their node lives */
#endif
#ifndef DRAINS
#define DRAINS 1
#endif
#ifndef GIVES
#define GIVES 0         /* times that an operator has the node that serves the range give it away */
#endif
#ifndef BROKEN
#define BROKEN 1        /* nodes that hold their lease and can never load the range */
#endif

/* The server. An owner is a node + 1, 0 for nobody, or a run that has crashed. */
#define CRASHED 4
byte owner = 1;
bool lease[NODES], crashedLease, server;

/* The nodes. */
#define LOWER 0
#define STORED 1
#define HIGHER 2
bool up[NODES], runs[NODES], broken[NODES], drains[NODES];
byte epoch[NODES];
byte renewals[NODES];           /* without a gap, up to a TTL */
bool gap[NODES], seen[NODES];
#define NEVER_READ 5
byte known[NODES];              /* the owner as it was read */
bool dead[NODES];               /* that owner had no lease in an answer to a later question */
byte unowned[NODES];            /* rounds in which nobody had the range */
byte gave[NODES];               /* its place among those that have given the range away, from 1 on; 0: it has not */
bool waits[NODES];              /* it could not load the range, and tries again after six TTLs: by then another has it */

byte crashes, lost, failovers, suspended, drained, given, broke;
hidden byte k;

#define SERVED(i) (up[i] && runs[i] && epoch[i] == STORED)
#define served (SERVED(0) || SERVED(1) || SERVED(2))
ltl promise6 { [] <> served }

#define EACH(step) k = 0; do :: k < NODES -> step; k++ :: else -> break od; k = 0

inline stop(i) { runs[i] = false; epoch[i] = LOWER }

/* The stored epoch is i's from now on. */
inline raise(i) {
	EACH(if :: epoch[k] == STORED -> epoch[k] = LOWER :: else fi);
	epoch[i] = STORED
}

/* Node 0 is the best node for the range, and node 1 the next. Who has given it away comes behind all that have not. */
#define CANDIDATE(i) (lease[i] && !drains[i])
#define BEFORE(i, o) (CANDIDATE(o) && (gave[o] < gave[i] || gave[o] == gave[i] && o < i))
#define BETTER(i) (BEFORE(i, 0) + BEFORE(i, 1) + BEFORE(i, 2))
#define OTHERS(i) ((i != 0 && CANDIDATE(0)) || (i != 1 && CANDIDATE(1)) || (i != 2 && CANDIDATE(2)))
#ifdef ONLY_THE_BEST
#define TURN(i) (BETTER(i) == 0)
#else
#define TURN(i) (unowned[i] > BETTER(i) * PATIENCE)
#endif
#define LEAVES(i) (drains[i] && OTHERS(i) || gave[i] && BETTER(i))
#define MAY_CLAIM(i) (renewals[i] && (!gap[i] || renewals[i] == TTL))
#if defined(GIVEN_FOR_GOOD)
#define WANTS(i) (!gave[i] && (known[i] == i + 1 || known[i] == 0 && TURN(i) || dead[i] && renewals[i] == TTL && TURN(i)))
#elif defined(NOT_AGAIN)
#define WANTS(i) (known[i] == 0 && TURN(i) || dead[i] && renewals[i] == TTL && TURN(i))
#else
#define WANTS(i) (known[i] == i + 1 || known[i] == 0 && TURN(i) || dead[i] && renewals[i] == TTL && TURN(i))
#endif

proctype Node(byte i) {
	do
	:: atomic { !up[i] -> up[i] = true; gap[i] = server }      /* after a fail-over it too waits for a TTL */
	:: atomic { up[i] ->
		if                                              /* It renews its lease. */
		:: lost < LOST -> lost++; renewals[i] = 0; gap[i] = true
		:: true ->
			if
			:: renewals[i] && (!lease[i] || seen[i] != server) -> renewals[i] = 0; gap[i] = true
			:: else
			fi;
			if
			:: renewals[i] < TTL -> renewals[i]++
			:: else
			fi;
			lease[i] = true; seen[i] = server;
			dead[i] = known[i] == CRASHED && !crashedLease || known[i] >= 1 && known[i] <= NODES && !lease[known[i] - 1]
		fi;
		if                                              /* It saves a checkpoint. */
		:: runs[i] && epoch[i] == HIGHER -> raise(i)
		:: runs[i] && epoch[i] == LOWER -> stop(i)
		:: else
		fi;
		if                                              /* It reads the record. */
#ifdef READS_ONCE
		:: known[i] == NEVER_READ -> known[i] = owner
		:: known[i] == i + 1 && owner != i + 1 -> known[i] = owner
#else
		:: known[i] != owner -> known[i] = owner; dead[i] = false
#endif
		:: else
		fi;
		if
		:: known[i] && !dead[i] -> unowned[i] = 0
		:: !(known[i] && !dead[i]) && unowned[i] < LONGEST -> unowned[i]++
		:: else
		fi;
		if                                              /* It does what follows. */
		:: known[i] != owner                            /* taken */
		:: known[i] == owner && runs[i] && owner != i + 1 -> owner = i + 1
		:: known[i] == owner && runs[i] && owner == i + 1 && LEAVES(i) && MAY_CLAIM(i) -> stop(i); owner = 0
		:: known[i] == owner && !runs[i] && owner == i + 1 && (drains[i] || waits[i]) -> owner = 0
		:: known[i] == owner && !runs[i] && WANTS(i) && MAY_CLAIM(i) && !drains[i] && !waits[i] ->
			raise(i);
			owner = i + 1; unowned[i] = 0;
			if
			:: lost < LOST -> lost++; stop(i)
			:: broken[i] -> owner = 0; waits[i] = true; stop(i)
			:: !broken[i] -> runs[i] = true
			fi;
			known[i] = owner; dead[i] = false
		:: else
		fi
	}
	od
}

/* The lease of a run that has crashed ends. */
proctype Clock() {
	do
	:: crashedLease -> crashedLease = false
	od
}

proctype Fault(byte i) {
	do
	:: atomic { up[i] && crashes < CRASHES ->
		crashes++;
		EACH(if :: known[k] == i + 1 -> known[k] = CRASHED :: else fi);
		if
		:: owner == i + 1 -> owner = CRASHED
		:: else
		fi;
		crashedLease = crashedLease || lease[i];
		up[i] = false; lease[i] = false; drains[i] = false; gave[i] = 0; renewals[i] = 0; gap[i] = false; seen[i] = server;
		known[i] = NEVER_READ; dead[i] = false; unowned[i] = 0; waits[i] = false;
		stop(i)
	}
	:: atomic { lease[i] && suspended < SUSPENDED -> suspended++; lease[i] = false }
	:: atomic { lease[i] && drained < DRAINS -> drained++; drains[i] = true }
	:: atomic { lease[i] && runs[i] && given < GIVES -> given++; gave[i] = given }
	:: atomic { broke < BROKEN && !runs[i] -> broke++; broken[i] = true }
	/* A fail-over: the claim of i is lost, or only who owns the range. It names another one, and leases are lost. */
	:: atomic { failovers < FAILOVERS ->
		failovers++; server = !server;
		if
		:: epoch[i] == STORED && runs[i] ->
			epoch[i] = HIGHER;
			if                                          /* an owner of before, which does not know, has the stored epoch again */
			:: runs[(i + 1) % NODES] && epoch[(i + 1) % NODES] == LOWER -> epoch[(i + 1) % NODES] = STORED
			:: runs[(i + 2) % NODES] && epoch[(i + 2) % NODES] == LOWER -> epoch[(i + 2) % NODES] = STORED
			:: true
			fi
		:: true
		fi;
		if
		:: owner = 0
		:: owner = CRASHED; crashedLease = true
		:: owner = (i + 1) % NODES + 1
		:: true
		fi;
		if
		:: lease[i] = false
		:: true
		fi
	}
	od
}

init {
	atomic {
		up[0] = true; up[1] = true; up[2] = true;
		known[0] = NEVER_READ; known[1] = NEVER_READ; known[2] = NEVER_READ;
		runs[0] = true; epoch[0] = STORED; lease[0] = true; renewals[0] = TTL;
		run Node(0); run Node(1); run Node(2);
		run Clock();
		run Fault(0); run Fault(1); run Fault(2)
	}
}
