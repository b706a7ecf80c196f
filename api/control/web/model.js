// The range as the stream reports it. The parts of the screen listen to its events:
//
//   picture     everything is new; detail.layout is true if bays, groups or lanes differ from before
//   lanes       detail.lanes have changed
//   holds       the holds have changed
//   unresolved  the number of purchases that wait for staff has changed
//   purchases   the list of them has been loaded
import { timeLeft } from "/screens/clock.js";
import { Hours } from "/screens/hours.js";
import { owedOf } from "/screens/openend.js";

export class Range extends EventTarget {
  info = null; // {id, name, purchasing}; null before the first picture
  who = "";
  releasesRange = false; // the user may end a ceasefire over the range
  bays = [];
  groups = [];
  lanes = new Map(); // in display order
  holds = [];
  unresolved = 0;
  hours = new Hours(); // in which it is open
  purchases = []; // that wait for staff, as the gateway lists them
  #layout = "";
  #wall = { at: 0, sentAt: 0 }; // the gateway's wall clock, as the latest message had it

  // receive applies a message of the stream, sent at that instant of now().
  receive(name, data, sentAt) {
    if (data.now) {
      this.#wall = { at: Date.parse(data.now), sentAt };
    }
    this.hours.receive(name, data, sentAt);
    switch (name) {
      case "picture":
        this.#picture(data, sentAt);
        break;
      case "change":
        this.#change(data, sentAt);
    }
  }

  // shiftSentAt corrects when the messages so far were sent. Countdowns read it from the lane.
  shiftSentAt(ms) {
    this.#wall.sentAt -= ms;
    this.hours.shiftSentAt(ms);
    for (const lane of this.lanes.values()) {
      lane.sentAt -= ms;
    }
  }

  setPurchases(purchases) {
    this.purchases = purchases;
    this.#dispatch("purchases");
  }

  // tick shows lanes as clear that count as clear from then on: the gateway sends nothing when a time goes by.
  tick(at) {
    const clear = [...this.lanes.values()].filter(({ uncleared, sentAt }) => uncleared && timeLeft(uncleared.left_ms, true, sentAt, at) <= 0);
    clear.forEach((lane) => this.lanes.set(lane.lane_id, { ...lane, uncleared: null }));
    if (clear.length > 0) {
      this.#dispatch("lanes", { lanes: clear.map(({ lane_id: id }) => this.lanes.get(id)) });
    }
  }

  // wallClock returns the gateway's wall clock at the instant `at`, in ms.
  wallClock(at) {
    return this.#wall.at + at - this.#wall.sentAt;
  }

  // forget clears the range when the session has ended.
  forget() {
    this.info = null;
    this.releasesRange = false;
    this.#layout = "";
    this.lanes = new Map();
    this.hours = new Hours();
    [this.who, this.bays, this.groups, this.holds, this.unresolved, this.purchases] = ["", [], [], [], 0, []];
  }

  #picture(data, sentAt) {
    this.info = data.range;
    this.who = data.who;
    this.releasesRange = data.releases_range;
    this.bays = data.bays;
    this.groups = data.groups;
    this.holds = data.holds;
    this.unresolved = data.unresolved;
    this.lanes = new Map(data.lanes.map((lane) => [lane.lane_id, received(lane, sentAt)]));
    this.#applyHolds();
    const layout = JSON.stringify([data.range, data.bays, data.groups, data.lanes.map((l) => [l.lane_id, l.bay_id, l.name])]);
    const changed = layout !== this.#layout;
    this.#layout = layout;
    this.#dispatch("picture", { layout: changed });
    this.#dispatch("lanes", { lanes: [...this.lanes.values()] });
    this.#dispatch("holds");
    this.#dispatch("unresolved");
  }

  #change(data, sentAt) {
    const changed = new Set();
    for (const lane of (data.lanes ?? []).filter(({ lane_id: id }) => this.lanes.has(id))) {
      this.lanes.set(lane.lane_id, received(lane, sentAt));
      changed.add(lane.lane_id);
    }
    this.holds = data.holds ?? this.holds;
    this.#applyHolds().forEach((id) => changed.add(id));
    if (changed.size > 0) {
      this.#dispatch("lanes", { lanes: [...changed].map((id) => this.lanes.get(id)) });
    }
    if (data.holds) {
      this.#dispatch("holds");
    }
    if (data.unresolved !== undefined && data.unresolved !== this.unresolved) {
      this.unresolved = data.unresolved;
      this.#dispatch("unresolved");
    }
  }

  // applyProgress applies the response to a hold, for a screen whose stream is lost.
  applyProgress(hold, reply) {
    const locked = new Set(reply.confirmed);
    for (const id of [...reply.confirmed, ...reply.sent, ...reply.not_reached]) {
      const lane = this.lanes.get(id);
      if (lane) {
        this.lanes.set(id, { ...lane, held: true, reportedHeld: true, locked: locked.has(id) });
      }
    }
    if (!this.findHold(hold.scope, hold.id)) {
      this.holds = [...this.holds, { ...hold, who: this.who, since: new Date().toISOString(), unconfirmed: true }];
    }
    this.#dispatch("lanes", { lanes: [...this.lanes.values()] });
    this.#dispatch("holds");
  }

  // applyHolds marks every lane in the scope of a hold as held. The lane itself reports that only once it is saved; until then
  // the screen would not show that it must be locked. It returns the ids of the changed lanes.
  #applyHolds() {
    const inScope = (lane) => this.holds.some((hold) => isUnder(lane, hold));
    const changed = [];
    for (const [id, lane] of this.lanes) {
      const held = lane.reportedHeld || inScope(lane);
      if (held !== lane.held) {
        this.lanes.set(id, { ...lane, held });
        changed.push(id);
      }
    }
    return changed;
  }

  findHold(scope, id) {
    return this.holds.find((hold) => hold.scope === scope && (hold.id ?? null) === (id ?? null));
  }

  // lanesUnder returns the lanes in the scope of a hold.
  lanesUnder(hold) {
    return [...this.lanes.values()].filter((lane) => isUnder(lane, hold));
  }

  bayOf(lane) {
    return this.bays.find((bay) => bay.id === lane.bay_id);
  }

  groupName(id) {
    return this.groups.find((group) => group.id === id)?.name ?? "";
  }

  #dispatch(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

// isUnder is true if the lane is in the scope of the hold.
function isUnder(lane, { scope, id }) {
  return scope === "range" || id === (scope === "bay" ? lane.bay_id : lane.lane_id);
}

// received returns a lane of a message with the time of sending, and with whether the lane itself reported that it is held. A
// link that has never been up is down.
function received(lane, sentAt) {
  return { ...lane, reportedHeld: lane.held, link: lane.link || "down", sentAt };
}

// laneTimeLeft returns the time left of the lane's session at the instant `at`, in ms; negative after its end.
export function laneTimeLeft(lane, at) {
  return timeLeft(lane.session.left_ms, lane.phase === "running", lane.sentAt, at);
}

// laneReservedFor returns how long the lane stays reserved at the instant `at`, in ms.
export function laneReservedFor(lane, at) {
  return Math.max(0, timeLeft(lane.reserved.left_ms, true, lane.sentAt, at));
}

// laneGraceLeft returns how long the lane's session is in its grace from the instant `at` on, in ms; null if it is in none.
export function laneGraceLeft(lane, at) {
  const graceMs = lane.session?.grace_ms;
  return graceMs === undefined ? null : Math.max(0, timeLeft(graceMs, true, lane.sentAt, at));
}

// laneOwed returns what the lane's session owes at the instant `at`, in ms; null if it does not go on beyond what was sold.
export function laneOwed(lane, at) {
  return lane.session ? owedOf(lane.session, lane.phase === "running", lane.sentAt, at) : null;
}

// laneEndsIn returns how long the lane's session can still run at the instant `at`, in ms: with its open end, if it has one.
export function laneEndsIn(lane, at) {
  return timeLeft(lane.session.open_end?.bound_ms ?? lane.session.left_ms, lane.phase === "running", lane.sentAt, at);
}

// laneStartsIn returns how long it is at the instant `at` until the lane's session begins together with others, in ms; null if it does not.
export function laneStartsIn(lane, at) {
  const startsMs = lane.session?.starts_ms;
  return startsMs === undefined ? null : Math.max(0, timeLeft(startsMs, true, lane.sentAt, at));
}
