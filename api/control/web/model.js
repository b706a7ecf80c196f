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
    const layout = JSON.stringify([data.range, data.bays, data.groups, data.lanes.map((l) => [l.lane_id, l.bay_id, l.name])]);
    const changed = layout !== this.#layout;
    this.#layout = layout;
    this.#tell("picture", { layout: changed });
    this.#tell("lanes", { lanes: [...this.lanes.values()] });
    this.#tell("holds");
    this.#tell("unresolved");
  }

  #change(data, sentAt) {
    const known = (data.lanes ?? []).filter((lane) => this.lanes.has(lane.lane_id));
    for (const lane of known) {
      this.lanes.set(lane.lane_id, asOf(lane, sentAt));
    }
    if (known.length > 0) {
      this.#tell("lanes", { lanes: known.map((lane) => this.lanes.get(lane.lane_id)) });
    }
    if (data.holds) {
      this.holds = data.holds;
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
        this.lanes.set(id, { ...lane, held: true, locked: locked.has(id) });
      }
    }
    if (!this.holdOver(over.scope, over.id)) {
      this.holds = [...this.holds, { ...over, who: this.who, since: new Date().toISOString() }];
    }
    this.#tell("lanes", { lanes: [...this.lanes.values()] });
    this.#tell("holds");
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

// asOf is a lane as it was at an instant. A link that has not come up yet since the gateway started is down.
function asOf(lane, sentAt) {
  return { ...lane, link: lane.link || "down", sentAt };
}

// left is the time left of the lane's session at the instant `at`, in milliseconds; negative when its time is over.
export function left(lane, at) {
  return leftAt(lane.session.left_ms, lane.phase === "running", lane.sentAt, at);
}
