// The rules of the board without any drawing: urgency, states, filters, and lists of lanes.

import { SOON } from "/screens/marks.js";

// urgency returns "soon" of a session that runs from its first warning on, "over" after its end, and "" otherwise: the time of a session that
// is paused stands still, so it does not end soon.
export function urgency(phase, leftMs, soonMs = SOON) {
  if (phase !== "running") {
    return "";
  }
  if (leftMs <= 0) {
    return "over";
  }
  return leftMs <= soonMs ? "soon" : "";
}

// inGrace is true of a session whose time is used up and that is on its lane for a while, so that minutes can be added.
export function inGrace(lane) {
  return lane.session?.grace_ms !== undefined;
}

// isBeyond is true of a session that goes on beyond what was sold.
export function isBeyond(lane) {
  return lane.phase === "running" && lane.session.open_end !== undefined && lane.session.left_ms <= 0;
}

// urgencyOf is urgency of a lane's session: "over" in its grace too, and "" without one, and where it goes on beyond what was sold.
export function urgencyOf(lane, leftMs) {
  if (!lane.session || (lane.session.open_end && leftMs <= 0)) {
    return "";
  }
  return inGrace(lane) ? "over" : urgency(lane.phase, leftMs, lane.session.soon_ms);
}

// stateOf returns the phase of a lane's session, or that it is in its grace or goes on beyond what was sold, or whether a lane without a session can be
// sold. It has "ended" while its last customer may still be there, is "locked" if nothing but a hold keeps a customer from it, and "reserved" while a POS
// sells it.
export function stateOf(lane) {
  if (lane.phase !== "free") {
    return inGrace(lane) ? "grace" : isBeyond(lane) ? "beyond" : lane.phase;
  }
  if (lane.uncleared) {
    return "ended";
  }
  if (!lane.usable) {
    return "unusable";
  }
  if (!lane.for_sale) {
    return "closed";
  }
  return lane.held ? "locked" : lane.reserved ? "reserved" : "free";
}

// notReached is true if the lane must be locked and its hardware has not confirmed that.
export function notReached(lane) {
  return lane.held && !lane.locked;
}

// wantsStaff is true if the lane needs an action of staff. Each task of the queue is on such a lane, and there are such lanes without a task.
export function wantsStaff(lane, urgent) {
  return (
    lane.help !== null || lane.stray_hit !== null || lane.purchase?.phase === "unresolved" || lane.link !== "up" ||
    !lane.usable || Boolean(lane.second_controller) || Boolean(lane.uncleared) || notReached(lane) || lane.session?.ran_on_ms > 0 || urgent === "over"
  );
}

// FILTERS of the board, by name.
export const FILTERS = {
  all: () => true,
  free: (lane) => stateOf(lane) === "free",
  used: (lane) => lane.phase !== "free",
  soon: (_, urgent) => urgent !== "",
  staff: wantsStaff,
};

// DENSITIES of the board, from the largest tiles on: the least width, the height and the gap of a tile, in rem. A tile's size depends
// on nothing else, so that no tile moves when the state of a lane changes. The head of a bay is a tile too.
export const DENSITIES = {
  full: { width: 15, height: 11.25, gap: 0.6 },
  large: { width: 9.5, height: 5.4, gap: 0.4 },
  medium: { width: 7.25, height: 4.6, gap: 0.4 },
  small: { width: 6.1, height: 3.7, gap: 0.3 },
  smallest: { width: 4.9, height: 3, gap: 0.25 },
};
// What a finger hits: the least size of a tile with two actions at its edge, above one another, or below its time, beside one another.
const LEAST_FOR_FINGERS = { medium: { height: 5 }, small: { width: 6.75, height: 5 } };
const MOST = { full: 11.25, large: 9.5, medium: 6.4, small: 6.4, smallest: 3.6 };
const PHONE = 40; // rem; on a narrower screen

// heightOf returns how high the board is, in rem, with a width in rem and the numbers of lanes of the bays. aligned: each bay begins a row.
export function heightOf({ width: least, height, gap }, width, bays, aligned = false) {
  const columns = Math.max(1, Math.floor((width + gap) / (least + gap)));
  const rows = (tiles) => Math.ceil(tiles / columns);
  const tiles = bays.map((lanes) => lanes + 1);
  return (aligned ? sum(tiles.map(rows)) : rows(sum(tiles))) * (height + gap) - gap;
}

const sum = (numbers) => numbers.reduce((all, n) => all + n, 0);

// densityFor returns the density with the largest tiles that all fit; if none does, one whose tiles can still be read well, and on a
// phone the smallest, which are scrolled least.
// compact is what the user has chosen: true, false, or undefined for neither.
export function densityFor({ width, height, bays, compact, touch = false }) {
  if (compact === false) {
    return "full";
  }
  const fitting = Object.keys(DENSITIES).filter((name) => !(compact && name === "full") && heightOf(leastTile(name, touch), width, bays) <= height);
  return fitting[0] ?? (width < PHONE ? "smallest" : "medium");
}

// tileFor returns the size of a tile: as high as the room permits, so that what is pressed is large. aligned is true if there is room for
// each bay to begin a row, as in the hall.
export function tileFor({ density, width, height, bays, touch = false }) {
  const tile = leastTile(density, touch);
  const aligned = heightOf(tile, width, bays, true) <= height;
  const rows = (heightOf(tile, width, bays, aligned) + tile.gap) / (tile.height + tile.gap);
  const room = (height + tile.gap) / rows - tile.gap;
  return { ...tile, aligned, height: Math.floor(16 * Math.min(Math.max(tile.height, room), Math.max(tile.height, MOST[density]))) / 16 };
}

function leastTile(density, touch) {
  return { ...DENSITIES[density], ...(touch ? LEAST_FOR_FINGERS[density] : {}) };
}

// matches is true if every typed word is in one of the texts, such as the lane's name or its customer.
export function matches(typed, ...texts) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const text = texts.join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

// isSession is true if the id of a session begins with what was typed, of which a few characters are enough.
export function isSession(typed, id) {
  const begin = typed.trim().toLowerCase();
  return begin.length >= 4 && (id ?? "").startsWith(begin);
}

// numberFree returns the lowest number from 1 on whose name is not among the taken ones.
export function numberFree(taken, name) {
  const names = new Set(taken);
  let n = 1;
  while (names.has(name(n))) {
    n++;
  }
  return n;
}

// nameList shortens a list of lanes: "Lanes 7, 12-15". If all names are the same word and a number, the word is written once, as
// `many` if it is `one`. Three and more consecutive numbers become a range.
export function nameList(names, { one, many }) {
  const word = sharedWord(names);
  if (names.length < 2 || word === undefined) {
    return names.join(", ");
  }
  return `${word === one ? many : word} ${runs(names.map((name) => NUMBERED.exec(name)[2])).join(", ")}`;
}

const NUMBERED = /^(\D*\S)\s+(\d{1,9})$/; // a word and a number

// sharedWord returns the word that every name has before its number; undefined if they have different ones, or none.
export function sharedWord(names) {
  const words = new Set(names.map((name) => NUMBERED.exec(name)?.[1]));
  return words.size === 1 ? [...words][0] : undefined;
}

function runs(numbers) {
  const parts = [];
  for (let from = 0; from < numbers.length; ) {
    let to = from;
    while (to + 1 < numbers.length && Number(numbers[to + 1]) === Number(numbers[to]) + 1) {
      to++;
    }
    if (to - from >= 2) {
      parts.push(`${numbers[from]}–${numbers[to]}`);
    } else {
      parts.push(...numbers.slice(from, to + 1));
    }
    from = to + 1;
  }
  return parts;
}

// creditedOn returns the lane with the purchase's session, or with the one that goes on with that: there its minutes can be added. undefined: no
// lane has it.
export function creditedOn(lanes, { session_id: id }) {
  return [...lanes.values()].find(({ session }) => session && (session.session_id === id || session.goes_on_with?.includes(id)));
}

// laneOfPurchase returns the lane at which staff see to the purchase: that with its customer, else the one where it was bought.
export function laneOfPurchase(lanes, purchase) {
  return creditedOn(lanes, purchase) ?? lanes.get(purchase.lane_id);
}
