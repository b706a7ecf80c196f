// What the page of the log chooses, as it stands in the address and is sent to the gateway, and what of a line is shown.

export const LEVELS = ["debug", "info", "warn", "error"]; // the first one is the default
export const LONGEST_TEXT = 100; // characters

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

// readLogQuery returns the choice in an address. What the gateway would refuse is not chosen.
export function readLogQuery(search) {
  const query = new URLSearchParams(search);
  const id = (name) => (ID.test(query.get(name) ?? "") ? query.get(name).toLowerCase() : "");
  return {
    range: id("range"),
    lane: id("lane"),
    level: LEVELS.includes(query.get("level")) ? query.get("level") : LEVELS[0],
    text: (query.get("text") ?? "").trim().slice(0, LONGEST_TEXT),
  };
}

// writeLogQuery returns the address's part for a choice, without what nobody has chosen.
export function writeLogQuery({ level, ...chosen }) {
  const query = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value));
  if (level && level !== LEVELS[0]) {
    query.set("level", level);
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

// fieldsOf returns the fields of a line that stand behind its message, as [name, text].
export function fieldsOf({ time: _t, level: _l, message: _m, ...fields }) {
  return Object.entries(fields).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
}

// Newest keeps the newest `most` rows of those that are added, and counts the others.
export class Newest {
  #rows = [];
  #left = 0;
  #most;

  constructor(most) {
    this.#most = most;
  }

  get length() {
    return this.#rows.length + this.#left;
  }

  add(row) {
    this.#rows.push(row);
    if (this.#rows.length >= 2 * this.#most) { // seldom, as it copies
      this.#left += this.#rows.length - this.#most;
      this.#rows = this.#rows.slice(-this.#most);
    }
  }

  // take returns the rows, oldest first, and how many older ones were left out, and begins anew.
  take() {
    const rows = this.#rows.slice(-this.#most);
    const taken = { rows, left: this.length - rows.length };
    this.#rows = [];
    this.#left = 0;
    return taken;
  }
}
