// The range as the stream tells it. Whoever shows a part of it listens:
//
//   picture     everything is new: detail.layout says whether bays, groups or lanes are others than before
//   lanes       detail.lanes are those that changed
//   holds       what lies over the range, its bays and lanes
//   unresolved  how many purchases wait for staff
import { leftAt } from "/screens/clock.js";

export class Range extends EventTarget {
  info = null; // {id, name, purchasing}; null before the first picture
  who = "";
  bays = [];
  groups = [];
  lanes = new Map(); // in display order
  holds = [];
  unresolved = 0;
  #layout = "";

  // heard takes a message of the stream, sent at that instant of this device's clock.
  heard(name, data, sentAt) {
    switch (name) {
      case "picture":
        this.#picture(data, sentAt);
        break;
      case "change":
        this.#change(data, sentAt);
    }
  }

  // earlier takes in that what was heard was sent so much earlier. Whoever counts down does so from the lane itself.
  earlier(ms) {
    for (const lane of this.lanes.values()) {
      lane.sentAt -= ms;
    }
  }

  // forget is for a session that has ended: nothing of the range stays on the screen.
  forget() {
    this.info = null;
    this.#layout = "";
    this.lanes = new Map();
    [this.who, this.bays, this.groups, this.holds, this.unresolved] = ["", [], [], [], 0];
  }

  #picture(data, sentAt) {
    this.info = data.range;
    this.who = data.who;
    this.bays = data.bays;
    this.groups = data.groups;
    this.holds = data.holds;
    this.unresolved = data.unresolved;
    this.lanes = new Map(data.lanes.map((lane) => [lane.lane_id, asOf(lane, sentAt)]));
    this.#heed();
    const layout = JSON.stringify([data.range, data.bays, data.groups, data.lanes.map((l) => [l.lane_id, l.bay_id, l.name])]);
    const changed = layout !== this.#layout;
    this.#layout = layout;
    this.#tell("picture", { layout: changed });
    this.#tell("lanes", { lanes: [...this.lanes.values()] });
    this.#tell("holds");
    this.#tell("unresolved");
  }

  #change(data, sentAt) {
    const other = new Set();
    for (const lane of (data.lanes ?? []).filter(({ lane_id: id }) => this.lanes.has(id))) {
      this.lanes.set(lane.lane_id, asOf(lane, sentAt));
      other.add(lane.lane_id);
    }
    this.holds = data.holds ?? this.holds;
    this.#heed().forEach((id) => other.add(id));
    if (other.size > 0) {
      this.#tell("lanes", { lanes: [...other].map((id) => this.lanes.get(id)) });
    }
    if (data.holds) {
      this.#tell("holds");
    }
    if (data.unresolved !== undefined && data.unresolved !== this.unresolved) {
      this.unresolved = data.unresolved;
      this.#tell("unresolved");
    }
  }

  // reached takes in how far a hold has come by the answer to it: for a screen whose stream is lost meanwhile.
  reached(over, answer) {
    const locked = new Set(answer.confirmed);
    for (const id of [...answer.confirmed, ...answer.sent, ...answer.not_reached]) {
      const lane = this.lanes.get(id);
      if (lane) {
        this.lanes.set(id, { ...lane, held: true, heeds: true, locked: locked.has(id) });
      }
    }
    if (!this.holdOver(over.scope, over.id)) {
      this.holds = [...this.holds, { ...over, who: this.who, since: new Date().toISOString() }];
    }
    this.#tell("lanes", { lanes: [...this.lanes.values()] });
    this.#tell("holds");
  }

  // heed has every lane held that a hold lies over. A lane says so itself only when that is saved, and until then its
  // silence would look as if nothing were left to lock. It answers which lanes are others by that.
  #heed() {
    const over = (lane) => this.holds.some(({ scope, id }) => scope === "range" || id === (scope === "bay" ? lane.bay_id : lane.lane_id));
    const other = [];
    for (const [id, lane] of this.lanes) {
      const held = lane.heeds || over(lane);
      if (held !== lane.held) {
        this.lanes.set(id, { ...lane, held });
        other.push(id);
      }
    }
    return other;
  }

  holdOver(scope, id) {
    return this.holds.find((hold) => hold.scope === scope && (hold.id ?? null) === (id ?? null));
  }

  bayOf(lane) {
    return this.bays.find((bay) => bay.id === lane.bay_id);
  }

  groupName(id) {
    return this.groups.find((group) => group.id === id)?.name ?? "";
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

// asOf is a lane as it was at an instant, with whether it heeds a hold by its own word. A link that has not come up yet since
// the gateway started is down.
function asOf(lane, sentAt) {
  return { ...lane, heeds: lane.held, link: lane.link || "down", sentAt };
}

// left is the time left of the lane's session at the instant `at`, in milliseconds; negative when its time is over.
export function left(lane, at) {
  return leftAt(lane.session.left_ms, lane.phase === "running", lane.sentAt, at);
}
