/*
 * Who owns a range, as a model that spin checks exhaustively: docs/ownership.md has the rules, and its promises are
 * the assertions here. model_test.go says which configurations are checked, replay_test.go replays traces of the
 * model against the program.
 *
 * What stands for what
 *
 *   server      what Redis has: of each range epoch, n, owner and data, and the leases. A step of the model that
 *               touches it is one script: claim.lua, flush.lua, owner.lua, lease.lua, confirm.lua.
 *   node        one process of the gateway. A restart has another run number, so that it is another owner.
 *   change      a sale that a client asks for, with its Idempotency-Key, at any node and as often as it likes. Saved,
 *               it is acknowledged, opens the fire line and sends its event, all in one step: each of the three
 *               follows the save alone, and none of them another.
 *   late copy   a claim or a flush that its sender has given up waiting for, and that reaches the server at any later
 *               time, or never.
 *   checkpoint  a flush without a change: the first of a stop, and what a node does that finds another server.
 *   fail-over   the server becomes what it was at an earlier moment, leases included.
 *
 * What is left out, and why
 *
 *   the clock   There are no durations. In the configurations without LEASES every node may do at any time what it
 *               may ever do. With LEASES a full TTL is a promise of those nodes that are not "slow": within it they
 *               have renewed, have noticed another server, and have saved to it. Of a slow node nothing is promised.
 *   routing     A request comes to any node. A wrong route is a request to a node that does not own the range.
 *   balance     A move for balance is that of GIVES, for another reason. Rendezvous hashing chooses the node of a
 *               claim: here it may be any, since safety does not rest on the choice.
 *   queues      One change is in a batch. Those behind it have not been sent: they are as if they had not come.
 *   controllers One for a range, which remembers the highest epoch that has spoken to it.
 *
 * Epochs are even numbers. After a fail-over that has rolled a claim back, the next one may be above it or, by one,
 * below: the number that a claim adds for its run, and the clocks of the nodes, decide that.
 */

#ifndef NODES
#define NODES 3
#endif
#ifndef RANGES
#define RANGES 1
#endif
#ifndef CHANGES
#define CHANGES 2    /* sales of a range */
#endif
#ifndef CLAIMS
#define CLAIMS 3     /* claims of a range that take effect, after that which all begins with */
#endif
#ifndef CRASHES
#define CRASHES 2    /* a node that has crashed starts again once, at any later time or never */
#endif
#ifndef LEASES
#define LEASES 0
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#ifndef FAILOVERS
#define FAILOVERS 0
#endif
#ifndef NETWORK
#define NETWORK 1    /* answers are lost, and requests are late */
#endif
#ifndef REFUSALS
#define REFUSALS 0   /* flushes that the server refuses: full, or read-only */
#endif
#ifndef SLOWED
#define SLOWED 1       /* nodes of which nothing is promised any more */
#endif
#ifndef DRAINS
#define DRAINS 1
#endif
#ifndef GIVES
#define GIVES 0      /* orders to a node to give one range away, which it obeys until it crashes */
#endif

#define ALL ((1 << CHANGES) - 1)
#define X (i * RANGES + r)                     /* node i and range r */
#define RUN(j) (1 + (j) + NODES * life[j])     /* 0 is nobody */
#define NODE(run) (((run) - 1) % NODES)
#define BIT(run) (1 << ((run) - 1))
#define ALIVE(run) (up[NODE(run)] && RUN(NODE(run)) == (run))

/* The server. */
byte storedEpoch[RANGES], storedN[RANGES], storedOwner[RANGES], storedData[RANGES];
#if LEASES
byte leases;                                   /* runs with a lease that has not ended */
byte draining;                                 /* runs whose lease says that they drain */
#endif
byte server;                                   /* which one it is, by fail-overs */

/* What a replica has. It takes the server's place at a fail-over. */
bool replica;
byte replicaEpoch[RANGES], replicaN[RANGES], replicaOwner[RANGES], replicaData[RANGES], replicaLeases, replicaDraining;

/* The nodes. */
bool up[NODES], life[NODES];
bool slow[NODES];                              /* nothing is promised of it */
bool renewed[NODES], held[NODES], gap[NODES], waited[NODES]; /* its lease: ever, now, ever lost, for a TTL without a gap */
bool drains[NODES];
byte seen[NODES];                              /* the server of its newest renewal */
bool others[NODES];                            /* a node that takes ranges had a lease at its newest renewal */

/* A node and a range. */
#define ELSEWHERE 0
#define STARTS 1                               /* claimed, not loaded yet */
#define RUNS 2
#define STOPS 3                                /* its last flush is under way */
#define STOPPED 4                              /* not released yet */
byte phase[NODES * RANGES];
byte epoch[NODES * RANGES];                    /* in which it runs here */
byte lastN[NODES * RANGES];                    /* of its last durable flush */
byte memory[NODES * RANGES];                   /* changes that it knows */
#if LEASES
byte knownEpoch[NODES * RANGES], knownOwner[NODES * RANGES]; /* the record as it was read, of one that is elsewhere */
bool dead[NODES * RANGES];                     /* that owner had no lease in an answer to a later question */
bool failed[NODES * RANGES];                   /* it could not be started here */
bool gives[NODES * RANGES];                    /* it is ordered to give it away */
#define KNOWN_EPOCH knownEpoch[X]
#define KNOWN_OWNER knownOwner[X]
#else
/* A claim that rests on an older record comes to nothing, unless it is late. */
#define KNOWN_EPOCH storedEpoch[r]
#define KNOWN_OWNER storedOwner[r]
#endif
bool owed[NODES * RANGES];                     /* another server was found: a checkpoint is due */

/* The flush under way. */
#define IDLE 0
#define SENT 1
#define SAVED 2                                /* the answer is on its way */
byte flush[NODES * RANGES];
byte change[NODES * RANGES];                   /* as a bit; 0 in a checkpoint */
bool refill[NODES * RANGES], unknown[NODES * RANGES];

/* The answers to a flush. */
#define APPLIED 1
#define REPEATED 2
#define FENCED 3
#define ROLLED_BACK 4
hidden byte answer;

/* The late copy. */
#define NONE 0
#define A_FLUSH 1
#define A_CLAIM 2
byte late, lateRange, lateRun, lateEpoch, lateN, lateData, lateOwner, lateSeen;
bool lateRefill;

/* The hardware of a range. */
byte heard[RANGES];                            /* highest epoch whose hello it has got */

/* What is only looked at by the assertions. */
byte newest[RANGES];                           /* epoch of the last claim */
byte acknowledged[RANGES], sent[RANGES];
byte saved[RANGES];                            /* a flush of it was applied, ever */
byte excused[RANGES];                          /* a fail-over may lose these */
bool made[NODES * RANGES];                     /* the flush under way has taken effect */
bool lateDenied;                               /* the client was told that the late copy changes nothing */

/* What has happened. */
byte claims[RANGES], highest[RANGES], crashes, failovers, refusals, slowed, drained, givenAway, failures;
int odd[RANGES];                             /* odd epochs that were given, as bits */

/* No part of the state. */
hidden byte j, lost, given;
hidden byte continued;

/* ------------------------------------------------------------------------------------------------ the promises */

/* Node k has what the newest owner of range q has to know. */
#define HOLDS(k, q) (up[k] && (phase[(k) * RANGES + (q)] == RUNS || phase[(k) * RANGES + (q)] == STOPS) && \
	epoch[(k) * RANGES + (q)] == newest[q])

/*
 * Promise 1: what was acknowledged is in the store, or the newest owner knows it and will write it again. It is excused
 * where a fail-over has lost it, and its owner is lost too or has given the range away.
 */
inline checkAcknowledged(q) {
	lost = acknowledged[q] & ~(storedData[q] | excused[q]);
	j = 0;
	do
	:: lost && j < NODES ->
		if
		:: HOLDS(j, q) -> lost = lost & ~memory[j * RANGES + q]
		:: else
		fi;
		j++
	:: else -> break
	od;
	assert(!lost);                                  /* PROMISE 1 */
	lost = 0; j = 0
}

/* What only node k knows of the ranges that it owns is lost with it. */
inline excuseNode(k) {
	j = 0;
	do
	:: j < RANGES ->
		if
		:: HOLDS(k, j) ->
			lost = acknowledged[j];
			if
			:: flush[k * RANGES + j] == SAVED -> lost = lost | change[k * RANGES + j]
			:: else
			fi;
			excused[j] = excused[j] | (lost & ~storedData[j])
		:: else
		fi;
		j++
	:: else -> break
	od;
	j = 0; lost = 0
}

/* After a fail-over that has rolled back its successor's claim, an owner of before may serve on unaware. */
#ifdef STRICT
#define OF_BEFORE false
#else
#define OF_BEFORE (epoch[X] != newest[r] && slow[i])
#endif

inline acknowledge(what) {
	acknowledged[r] = acknowledged[r] | what;
	if                                              /* a fail-over has come before the answer */
	:: OF_BEFORE && failovers -> excused[r] = excused[r] | what
	:: !(OF_BEFORE && failovers) && slow[i] -> excused[r] = excused[r] | ((what) & ~storedData[r])
	:: else
	fi
}

/* A change is saved: it is acknowledged, opens the fire line, and its event is sent. */
inline finish() {
	assert((saved[r] & change[X]) == change[X]);    /* PROMISE 4: what opens is saved */
	acknowledge(change[X]);
	assert(!(sent[r] & change[X] & ~excused[r]));   /* PROMISE 3: it is sent once */
	sent[r] = sent[r] | change[X];
	if                                              /* the controller listens to nobody below the epoch it has heard */
#ifndef OBEYS_ANYBODY
	:: epoch[X] < heard[r]
#endif
	:: else ->
		assert(epoch[X] >= heard[r]);               /* PROMISE 4: the epochs in force never fall */
		heard[r] = epoch[X]
	fi
}

/* The client is told that nothing was changed. */
inline deny() {
	assert(!(change[X] && made[X]));                /* PROMISE 2 */
	if
	:: change[X] && late == A_FLUSH && lateRun == RUN(i) && lateRange == r && lateN == lastN[X] + 1 -> lateDenied = true
	:: else
	fi
}

/* ------------------------------------------------------------------------------------------------- the scripts */

/* flush.lua. written is the change, or all that the owner knows in a refill. */
inline apply(q, byEpoch, byN, written, refills) {
	if
#ifndef NO_FENCE
	:: byEpoch < storedEpoch[q] -> answer = FENCED
#endif
	:: byEpoch == storedEpoch[q] && storedN[q] >= byN -> answer = REPEATED
	:: else ->
		if
		:: !(refills) && !(byEpoch == storedEpoch[q] && storedN[q] + 1 == byN) -> answer = ROLLED_BACK
		:: else ->
			if
			:: refills -> storedData[q] = written
			:: else -> storedData[q] = storedData[q] | written
			fi;
			storedEpoch[q] = byEpoch;
			storedN[q] = byN;
			saved[q] = saved[q] | written;
			answer = APPLIED
		fi
	fi
}

/* The epoch of the next claim: the stored one + 1 or the time, if that is more, and what the run adds. */
inline giveEpoch(q) {
	if
#ifdef EPOCH_TWICE
	:: given = storedEpoch[q] + 2
#else
	:: given = highest[q] + 2
#if FAILOVERS
	:: storedEpoch[q] + 1 < highest[q] && storedEpoch[q] % 2 == 0 && !(odd[q] & (1 << (storedEpoch[q] + 1))) ->
		given = storedEpoch[q] + 1;
		odd[q] = odd[q] | (1 << given)
#endif
#endif
	fi;
	if
	:: given > highest[q] -> highest[q] = given
	:: else
	fi
}

#if LEASES
#define SEEN seen[i]
#else
#define SEEN server
#endif
#ifdef UNNOTICED
#define SEES(of) true
#else
#define SEES(of) ((of) == server)
#endif

/* claim.lua. given is the new epoch, or 0: the range is not as expected, or another server has answered the newest renewal. */
inline claim(q, byRun, ifEpoch, ifOwner, ifServer) {
	if
#ifndef UNNOTICED
	:: (ifServer) != server -> given = 0
#endif
#ifndef CLAIMS_UNSEEN
	:: !(storedEpoch[q] == (ifEpoch) && storedOwner[q] == (ifOwner)) && SEES(ifServer) -> given = 0
#endif
	:: else ->
#if LEASES
		j = 0;
		do
		:: j < NODES ->                             /* an owner that keeps its lease keeps its ranges */
			assert(failovers || RUN(j) == (byRun) || slow[j] || !HOLDS(j, q));   /* RULE */
			j++
		:: else -> break
		od;
		j = 0;
#endif
		giveEpoch(q);
		storedEpoch[q] = given;
#ifndef KEEPS_N
		storedN[q] = 0;
#endif
		storedOwner[q] = byRun;
		newest[q] = given;
		claims[q]++;
		checkAcknowledged(q)
	fi
}

/* owner.lua. */
inline setOwner(ifEpoch, ifOwner, to, result) {
	if
#ifndef RELEASES_OTHERS
	:: !(storedEpoch[r] == (ifEpoch) && storedOwner[r] == (ifOwner)) -> result = false
#endif
	:: else -> storedOwner[r] = to; result = true
	fi
}

/* -------------------------------------------------------------------------------------- a node and one range */

inline forget() {
	phase[X] = ELSEWHERE; epoch[X] = 0; lastN[X] = 0; memory[X] = 0; owed[X] = false;
	flush[X] = IDLE; change[X] = 0; refill[X] = false; unknown[X] = false; made[X] = false
}

/* Another node has claimed the range. */
inline drop() {
	assert(epoch[X] < storedEpoch[r]);              /* PROMISE 5: an owner drops no range of its own */
	forget()
}

inline learn() {
#if LEASES
	if
	:: knownEpoch[X] != storedEpoch[r] || knownOwner[X] != storedOwner[r] ->
		knownEpoch[X] = storedEpoch[r]; knownOwner[X] = storedOwner[r]; dead[X] = false
	:: else
	fi
#else
	skip
#endif
}

/* A process that starts knows of no failed load, and of no order to the one before it. */
inline forgetAll() {
#if LEASES
	failed[X] = false; gives[X] = false
#else
	skip
#endif
}

inline unlearn() {
#if LEASES
	knownEpoch[X] = 0; knownOwner[X] = 0; dead[X] = false
#else
	skip
#endif
}

inline begin(what) {
	flush[X] = SENT; change[X] = what; refill[X] = false; unknown[X] = false; made[X] = false
}

/* actors/nodes/plan.go: what the node does next. Without LEASES it does at any time what it may ever do. */
#define MINE (KNOWN_OWNER == RUN(i))
#define LETS_GO (phase[X] == RUNS && storedEpoch[r] > epoch[X])
#define LACKS (storedEpoch[r] < epoch[X] || storedEpoch[r] == epoch[X] && storedN[r] < lastN[X])
#define NAMES (phase[X] == RUNS && storedEpoch[r] == epoch[X] && storedOwner[r] != RUN(i))
#define IDLE_HERE (up[i] && phase[X] == ELSEWHERE && KNOWN_EPOCH)
#if LEASES
#define MAY_CLAIM (held[i] && (!gap[i] || waited[i]))
#define TAKES (MAY_CLAIM && !drains[i] && !failed[X])
#ifdef TAKES_OVER_EARLY
#define TAKES_OVER (TAKES && waited[i])
#else
#define TAKES_OVER (TAKES && waited[i] && dead[X])
#endif
#define DISOWNS (IDLE_HERE && MINE && (drains[i] || failed[X]))
#define RELEASES (phase[X] == RUNS && (drains[i] || gives[X]) && others[i] && MAY_CLAIM)
#else
#define TAKES true
#define TAKES_OVER true
#define DISOWNS (IDLE_HERE && MINE)
#define RELEASES (phase[X] == RUNS)
#endif
#ifdef RELEASES_OTHERS
#undef DISOWNS
#define DISOWNS (IDLE_HERE && KNOWN_OWNER)
#endif
#define CLAIMS_AGAIN (IDLE_HERE && !DISOWNS && MINE && TAKES)
#define CLAIMS_UNOWNED (IDLE_HERE && !KNOWN_OWNER && TAKES)
#define CLAIMS_TAKE_OVER (IDLE_HERE && KNOWN_OWNER && !MINE && TAKES_OVER)

/* given is what the flush writes. */
inline content() {
	given = change[X];
	if
	:: refill[X] -> given = given | memory[X]
	:: else
	fi
}

inline sell() {
	printf("@ sell %d %d %d\n", i, r, change[X]);
#ifdef OPENS_UNSAVED
	finish();
#endif
#ifdef ANSWERS_UNSAVED
	acknowledged[r] = acknowledged[r] | change[X];
#endif
	skip
}

inline ofBefore() {
	assert(epoch[X] == newest[r] || OF_BEFORE);     /* PROMISE 4: nobody but the newest owner saves what opens */
	if
	:: epoch[X] != newest[r] ->
		excused[r] = excused[r] | change[X] | (acknowledged[r] & ~storedData[r])
	:: else
	fi
}

inline idle() {
	flush[X] = IDLE; change[X] = 0; refill[X] = false; unknown[X] = false; made[X] = false
}

/* The flush is known to be saved. */
inline settle() {
	lastN[X]++;
	memory[X] = memory[X] | change[X];
#ifndef OPENS_UNSAVED
	if
	:: change[X] -> finish()
	:: else
	fi;
#endif
	if
	:: phase[X] == STOPS -> phase[X] = STOPPED
	:: else
	fi;
	idle()
}

inline unanswered() {
	unknown[X] = true;
	flush[X] = SENT;
#if defined(FORGETS_UNANSWERED) || defined(DENIES_UNANSWERED)
#ifdef DENIES_UNANSWERED
	deny();
#endif
	idle()
#endif
}

#if defined(TRACE) && LEASES
hidden byte decided;
/* given and lost are the record as the node knows it: one that runs the range reads it where it matters. */
inline knows() {
	if
	:: LETS_GO || NAMES -> given = storedEpoch[r]; lost = storedOwner[r]
	:: phase[X] == RUNS && !LETS_GO && !NAMES -> given = epoch[X]; lost = RUN(i)
	:: else -> given = knownEpoch[X]; lost = knownOwner[X]
	fi
}
#endif

#define CLAIMS_IT ((CLAIMS_AGAIN || CLAIMS_UNOWNED || CLAIMS_TAKE_OVER) && claims[r] < CLAIMS)

proctype Range(byte i, r) {
	bool changed;
end:
	do
#if defined(TRACE) && LEASES
	/* What it decides, and what it knows: record, owner dead, in which epoch it runs here or 0, whether it is busy. */
	:: atomic { renewed[i] ->
		decided = (LETS_GO -> 1 : (NAMES -> 2 : (RELEASES -> 3 : (DISOWNS -> 4 : (CLAIMS_AGAIN -> 5 : (CLAIMS_UNOWNED -> 6 : (CLAIMS_TAKE_OVER -> 7 : 0)))))));
		knows();
		printf("@ decides %d %d = %d record %d %d %d here %d %d lease %d %d %d %d %d gives %d\n", i, r, decided, given, lost, dead[X],
			(phase[X] == RUNS -> epoch[X] : 0), phase[X] != RUNS && phase[X] != ELSEWHERE, drains[i], failed[X], others[i],
			MAY_CLAIM, held[i] && waited[i], gives[X]);
		decided = 0; given = 0; lost = 0
	}
#endif
#if LEASES
	/* It reads the range's record: a sweep, or what another node has announced. */
	:: atomic { renewed[i] && phase[X] == ELSEWHERE && (knownEpoch[X] != storedEpoch[r] || knownOwner[X] != storedOwner[r]) ->
		learn();
		printf("@ read %d %d = %d %d\n", i, r, storedEpoch[r], storedOwner[r])
	}
#endif
	/* It reads that another node has claimed the range, and lets go of it. */
	:: atomic { up[i] && LETS_GO ->
		printf("@ letgo %d %d = %d %d\n", i, r, storedEpoch[r], storedOwner[r]);
		drop()
	}
#ifdef DROPS_WITHOUT_LEASE
	:: atomic { up[i] && phase[X] == RUNS && !held[i] -> drop() }
#endif
	/* It reads that it is not named as the owner, and names itself. */
	:: atomic { up[i] && NAMES ->
		printf("@ name %d %d if %d %d\n", i, r, storedEpoch[r], storedOwner[r]);
		storedOwner[r] = RUN(i)
	}
	/* The range is its own, and it cannot run it. */
	:: atomic { DISOWNS ->
		setOwner(KNOWN_EPOCH, KNOWN_OWNER, 0, changed);
		printf("@ disown %d %d if %d %d = %d %d %d\n", i, r, KNOWN_EPOCH, RUN(i), changed, storedEpoch[r], storedOwner[r]);
		learn();
		changed = false
	}
	/* It claims the range. */
	:: atomic { CLAIMS_IT ->
		printf("@ claim %d %d if %d %d", i, r, KNOWN_EPOCH, KNOWN_OWNER);
		claim(r, RUN(i), KNOWN_EPOCH, KNOWN_OWNER, SEEN);
		printf(" = %d %d %d from %d\n", given, storedEpoch[r], storedOwner[r], SEEN);
		if
		:: given -> phase[X] = STARTS; epoch[X] = given; given = 0; unlearn()
		:: !given && SEES(SEEN) -> learn()
		:: else
		fi
	}
#if NETWORK
	/* The same, and there is no answer. */
	:: atomic { CLAIMS_IT ->
		printf("@ claim_lost %d %d if %d %d", i, r, KNOWN_EPOCH, KNOWN_OWNER);
		claim(r, RUN(i), KNOWN_EPOCH, KNOWN_OWNER, SEEN);
		printf(" = %d %d %d from %d\n", given, storedEpoch[r], storedOwner[r], SEEN);
		given = 0
	}
	/* The same, and it is late. */
	:: atomic { CLAIMS_IT && late == NONE ->
		printf("@ claim_late %d %d if %d %d\n", i, r, KNOWN_EPOCH, KNOWN_OWNER);
		late = A_CLAIM; lateRange = r; lateRun = RUN(i); lateEpoch = KNOWN_EPOCH; lateOwner = KNOWN_OWNER; lateSeen = SEEN
	}
#endif
	/* It loads the range that it has claimed: load.lua. */
	:: atomic { up[i] && phase[X] == STARTS && storedEpoch[r] == epoch[X] ->
		phase[X] = RUNS;
#ifndef LOADS_NO_MARKS
		memory[X] = storedData[r];
#endif
		owed[X] = FAILOVERS > 0;
		printf("@ load %d %d %d = %d\n", i, r, epoch[X], storedData[r]);
		checkAcknowledged(r)
	}
#if FAILURES
	/* It cannot load it, and releases it. */
	:: atomic { up[i] && phase[X] == STARTS && failures < FAILURES ->
		failures++; failed[X] = true;
		setOwner(epoch[X], RUN(i), 0, changed);
		printf("@ fail %d %d if %d %d = %d %d %d\n", i, r, epoch[X], RUN(i), changed, storedEpoch[r], storedOwner[r]);
		forget();
		changed = false
	}
#endif
#if LEASES && GIVES
	/* An operator has it give the range to another node. */
	:: atomic { renewed[i] && phase[X] == RUNS && !gives[X] && givenAway < GIVES ->
		printf("@ gives %d %d\n", i, r);
		givenAway++; gives[X] = true
	}
#endif
	/* It gives the range to another node: a last flush, then the release. */
	:: atomic { up[i] && RELEASES && flush[X] == IDLE ->
		printf("@ release %d %d\n", i, r);
		phase[X] = STOPS;
		begin(0)
	}
	:: atomic { up[i] && phase[X] == STOPPED ->
		setOwner(epoch[X], RUN(i), 0, changed);
		printf("@ released %d %d if %d %d = %d %d %d\n", i, r, epoch[X], RUN(i), changed, storedEpoch[r], storedOwner[r]);
		forget();
		changed = false
	}
#if NETWORK
	/* The same, and there is no answer. */
	:: atomic { up[i] && phase[X] == STOPPED ->
		printf("@ released_lost %d %d\n", i, r);
		forget()
	}
#endif
	/* A client sells. */
	:: atomic { up[i] && phase[X] == RUNS && flush[X] == IDLE && !(memory[X] & 1) ->
		begin(1);
		sell()
	}
#if CHANGES > 1
	:: atomic { up[i] && phase[X] == RUNS && flush[X] == IDLE && !(memory[X] & 2) ->
		begin(2);
		sell()
	}
#endif
	/* A client repeats what is saved, and gets the kept answer. */
	:: atomic { up[i] && phase[X] == RUNS && memory[X] & ~acknowledged[r] ->
		acknowledge(memory[X])
	}
	/* A client is refused for what is in memory: confirm.lua. While a change of the lane is saved, it waits. */
	:: atomic { up[i] && phase[X] == RUNS && flush[X] == IDLE ->
		printf("@ confirm %d %d %d %d = %d\n", i, r, epoch[X], lastN[X],
			(epoch[X] < storedEpoch[r] -> 1 : (LACKS -> 2 : 0)));
		if
#ifndef REFUSES_UNCONFIRMED
		:: epoch[X] < storedEpoch[r] -> drop()
		:: LACKS                                /* it is told that the store is away, and asks again */
#endif
		:: else -> assert(!(acknowledged[r] & ~(memory[X] | excused[r])) || OF_BEFORE) /* PROMISE 2 */
		fi
	}
	/* A checkpoint, since another server was found. */
	:: atomic { up[i] && phase[X] == RUNS && flush[X] == IDLE && owed[X] ->
		printf("@ checkpoint %d %d\n", i, r);
		begin(0)
	}
	/* The flush reaches the server. Its answer takes time where it has an effect. */
	:: atomic { up[i] && flush[X] == SENT ->
		content();
		apply(r, epoch[X], lastN[X] + 1, given, refill[X]);
		printf("@ flush %d %d %d %d %d %d = %d %d %d %d\n", i, r, epoch[X], lastN[X] + 1, given, refill[X],
			answer, storedEpoch[r], storedN[r], storedData[r]);
		given = 0;
		if
		:: answer == APPLIED ->
			flush[X] = SAVED; made[X] = true; owed[X] = false;
			ofBefore();
			checkAcknowledged(r)
		:: answer == REPEATED -> owed[X] = false; settle()
		:: answer == FENCED ->
			if
			:: !unknown[X] -> deny()
			:: else
			fi;
			drop()
		:: answer == ROLLED_BACK -> refill[X] = true
		fi;
		answer = 0
	}
#if REFUSALS
	/* The server refuses it. If that is its first try, nothing of it was written. */
	:: atomic { up[i] && flush[X] == SENT && refusals < REFUSALS ->
		printf("@ refused %d %d\n", i, r);
		refusals++;
		if
		:: !unknown[X] && phase[X] == RUNS -> deny(); idle()
		:: else
		fi
	}
#endif
	/* It is saved. */
	:: atomic { up[i] && flush[X] == SAVED ->
		printf("@ saved %d %d\n", i, r);
		settle()
	}
#if NETWORK
	/* It gets lost, or its answer does: it is repeated as it was. */
	:: atomic { up[i] && (flush[X] == SENT && !unknown[X] || flush[X] == SAVED) -> unanswered() }
	/* It is late, and the repeat may be faster. */
	:: atomic { up[i] && flush[X] == SENT && late == NONE ->
		printf("@ flush_late %d %d\n", i, r);
		content();
		late = A_FLUSH; lateRange = r; lateRun = RUN(i); lateEpoch = epoch[X]; lateN = lastN[X] + 1; lateRefill = refill[X];
		lateData = given; given = 0;
		unanswered()
	}
#endif
	/* Another node has claimed the range since, or a fail-over has lost the claim: it cannot be loaded. */
	:: atomic { up[i] && phase[X] == STARTS && storedEpoch[r] != epoch[X] ->
		printf("@ load_refused %d %d %d = %d\n", i, r, epoch[X], epoch[X] < storedEpoch[r]);
		forget()
	}
	od
}

/* --------------------------------------------------------------------------------------------- a node, its lease */

inline forgetNode() {
#if LEASES
	slow[i] = false; renewed[i] = false; held[i] = false; gap[i] = false; waited[i] = false; drains[i] = false;
	others[i] = false; seen[i] = 0;
#endif
	r = 0;
	do
	:: r < RANGES -> forget(); unlearn(); forgetAll(); r++
	:: else -> break
	od;
	r = 0
}

#if LEASES
#ifdef IGNORES_SERVER
#define OTHER_SERVER false
#else
#define OTHER_SERVER (seen[i] != server)
#endif

/* lease.lua, and actors/nodes/lease.go. */
inline renew() {
	continued = (leases & BIT(RUN(i))) != 0;
	if
	:: renewed[i] && (!held[i] || !continued || OTHER_SERVER) -> gap[i] = true; waited[i] = false
#ifndef FRESH
	:: !renewed[i] && server -> gap[i] = true       /* the server has had the leases for less than a TTL, for all that it says */
#endif
	:: else
	fi;
	leases = leases | BIT(RUN(i));
	if
	:: drains[i] -> draining = draining | BIT(RUN(i))
	:: else
	fi;
	others[i] = (leases & ~draining & ~BIT(RUN(i))) != 0;
	r = 0;
	do
	:: r < RANGES ->
		if
		:: renewed[i] && seen[i] != server && phase[X] == RUNS -> owed[X] = true
		:: else
		fi;
		dead[X] = knownOwner[X] && !(leases & BIT(knownOwner[X]));
		r++
	:: else -> break
	od;
	r = 0;
	renewed[i] = true; held[i] = true; seen[i] = server;
	printf("@ renew %d = %d %d %d %d %d\n", i, server, leases, draining, continued, gap[i]);
	continued = false
}

/* A lease ends. Its node, if it lives, knows that by its own clock. */
inline endLease(x) {
	printf("@ ended %d\n", x);
	leases = leases & ~BIT(x); draining = draining & ~BIT(x);
	if
	:: RUN(i) == x -> held[i] = false
	:: else
	fi
}

/* Every node that is not slow has renewed its lease, has noticed the server, has saved to it, and has loaded what it claimed. */
#define RENEWED(k) (k == i || !up[k] || slow[k] || (leases & BIT(RUN(k)) && seen[k] == server && !OWES(k)))
#define BUSY(x) (owed[x] || phase[x] == STARTS || phase[x] == STOPS)
#if RANGES == 1
#define OWES(k) BUSY(k)
#else
#define OWES(k) (BUSY((k) * 2) || BUSY((k) * 2 + 1))
#endif
#if NODES == 2
#define ALL_RENEWED (RENEWED(0) && RENEWED(1))
#else
#define ALL_RENEWED (RENEWED(0) && RENEWED(1) && RENEWED(2))
#endif
#endif

proctype Node(byte i) {
	byte r;
end:
	do
#if LEASES
	/* It renews its lease. */
	:: atomic { up[i] -> renew() }
	/* It drains. */
	:: atomic { renewed[i] && !drains[i] && drained < DRAINS ->
		drained++; drains[i] = true;
		renew()
	}
	/* A renewal fails. */
	:: atomic { up[i] && held[i] && slow[i] ->
		printf("@ renewal_fails %d\n", i);
		held[i] = false; waited[i] = false; gap[i] = true
	}
	/* Nothing is promised of it from now on. */
	:: atomic { renewed[i] && !slow[i] && slowed < SLOWED ->
		printf("@ slow %d\n", i);
		slowed++;
		excuseNode(i);
		slow[i] = true
	}
	/* The lease of a node ends that is slow, or has crashed. */
	:: atomic { (!up[i] || slow[i]) && leases & BIT(RUN(i)) -> endLease(RUN(i)) }
	:: atomic { life[i] && leases & BIT(i + 1) -> endLease(i + 1) }
	/* A TTL has gone by without a gap. */
	:: atomic { up[i] && held[i] && !waited[i] && seen[i] == server && ALL_RENEWED ->
		printf("@ ttl %d\n", i);
		waited[i] = true
	}
#endif
	/* It crashes. */
	:: atomic { up[i] && crashes < CRASHES ->
		printf("@ crash %d\n", i);
		crashes++;
		excuseNode(i);
		up[i] = false;
		forgetNode()
	}
	/* It starts again. */
	:: atomic { !up[i] && !life[i] ->
		printf("@ start %d\n", i);
		up[i] = true; life[i] = true
	}
	od
}

/* ------------------------------------------------------------------------------------------ what befalls the server */

inline noLate() {
	late = NONE; lateRange = 0; lateRun = 0; lateEpoch = 0; lateN = 0; lateData = 0; lateRefill = false; lateOwner = 0; lateSeen = 0;
	lateDenied = false
}

#if NETWORK || FAILOVERS
proctype Server() {
	byte r;
end:
	do
#if NETWORK
	/* The late copy arrives. */
	:: atomic { late == A_FLUSH ->
		apply(lateRange, lateEpoch, lateN, lateData, lateRefill);
		printf("@ late_flush %d %d %d %d %d %d = %d %d %d %d\n", lateRange, lateRun, lateEpoch, lateN, lateData, lateRefill,
			answer, storedEpoch[lateRange], storedN[lateRange], storedData[lateRange]);
		assert(!(answer == APPLIED && lateDenied));   /* PROMISE 2 */
		answer = 0;
		noLate()
	}
	:: atomic { late == A_CLAIM && claims[lateRange] < CLAIMS ->
		printf("@ late_claim %d %d if %d %d", lateRange, lateRun, lateEpoch, lateOwner);
		claim(lateRange, lateRun, lateEpoch, lateOwner, lateSeen);
		printf(" = %d %d %d from %d\n", given, storedEpoch[lateRange], storedOwner[lateRange], lateSeen);
		given = 0;
		noLate()
	}
	/* It never does. */
	:: atomic { late -> noLate() }
#endif
#if FAILOVERS
	/* A replica has what the server has. */
	:: atomic { !replica && failovers < FAILOVERS ->
		printf("@ replica\n");
		replica = true;
		replicaLeases = leases; replicaDraining = draining;
		do
		:: r < RANGES ->
			replicaEpoch[r] = storedEpoch[r]; replicaN[r] = storedN[r]; replicaOwner[r] = storedOwner[r];
			replicaData[r] = storedData[r]; r++
		:: else -> break
		od;
		r = 0
	}
	/* It takes the server's place. */
	:: atomic { replica ->
		printf("@ failover\n");
		failovers++; server++; replica = false;
		leases = replicaLeases; draining = replicaDraining;
		replicaLeases = 0; replicaDraining = 0;
		do
		:: r < RANGES ->
			storedEpoch[r] = replicaEpoch[r]; storedN[r] = replicaN[r]; storedOwner[r] = replicaOwner[r];
			storedData[r] = replicaData[r];
			replicaEpoch[r] = 0; replicaN[r] = 0; replicaOwner[r] = 0; replicaData[r] = 0;
			/* Excused is what no node has that lives in time, and still owns the range. */
			lost = acknowledged[r] & ~storedData[r];
			j = 0;
			do
			:: j < NODES ->
				if
				:: flush[j * RANGES + r] == SAVED && (slow[j] || !HOLDS(j, r)) ->
					excused[r] = excused[r] | (change[j * RANGES + r] & ~storedData[r])
				:: HOLDS(j, r) && !slow[j] && !(phase[j * RANGES + r] == STOPS && flush[j * RANGES + r] == SAVED) -> lost = lost & ~memory[j * RANGES + r]
				:: else
				fi;
				j++
			:: else -> break
			od;
			j = 0;
			excused[r] = excused[r] | lost;
			lost = 0;
			checkAcknowledged(r);
			r++
		:: else -> break
		od;
		r = 0
	}
#endif
	od
}
#endif

init {
	byte k, q;
	atomic {
		do
		:: k < NODES -> up[k] = true; run Node(k); k++
		:: else -> break
		od;
		/* Node 0 owns all, and runs it. */
		do
		:: q < RANGES ->
			storedEpoch[q] = 2; storedOwner[q] = 1; newest[q] = 2; highest[q] = 2;
			phase[q] = RUNS; epoch[q] = 2;
			k = 0;
			do
			:: k < NODES -> run Range(k, q); k++
			:: else -> break
			od;
			q++
		:: else -> break
		od;
#if LEASES
		leases = 1; renewed[0] = true; held[0] = true; waited[0] = true;
#endif
#if NETWORK || FAILOVERS
		run Server();
#endif
		k = 0; q = 0
	}
}
