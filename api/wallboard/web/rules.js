// The rules of the board without any drawing: states, holds, counts, names, and the size of the tiles.
import { timeLeft } from "/screens/clock.js";
import { markOf } from "/screens/marks.js";
import { owedOf } from "/screens/openend.js";

// stateOf returns the state of a lane at the instant `at`: the phase of its session, beyond where it goes on when what was sold is used up, or over when its
// time is up, also in its grace; without a session ended until the lane is clear, unusable, reserved while it is being sold, closed or free.
export function stateOf(lane, at) {
  if (lane.grace_ms !== undefined) {
    return "over";
  }
  if (lane.phase !== "free") {
    const over = lane.phase === "running" && leftOf(lane, at) <= 0;
    return over ? (lane.open_end ? "beyond" : "over") : lane.phase;
  }
  if (lane.clear_ms > 0 && timeLeft(lane.clear_ms, true, lane.sentAt, at) > 0) {
    return "ended";
  }
  if (!lane.usable) {
    return "unusable";
  }
  if (reservedFor(lane, at) > 0) {
    return "reserved";
  }
  return lane.for_sale ? "free" : "closed";
}

// leftOf returns the time left of the lane's session at the instant `at`, in ms, and never less than 0.
export function leftOf(lane, at) {
  return Math.max(0, timeLeft(lane.left_ms, lane.phase === "running", lane.sentAt, at));
}

// owed returns what the lane's session owes at the instant `at`, in ms; null if it does not go on beyond what was sold.
export function owed(lane, at) {
  return owedOf(lane, lane.phase === "running", lane.sentAt, at);
}

// reservedFor returns how long the lane stays reserved at the instant `at`, in ms; 0 if it is not.
export function reservedFor(lane, at) {
  return lane.reserved_ms === undefined ? 0 : Math.max(0, timeLeft(lane.reserved_ms, true, lane.sentAt, at));
}

// startsIn returns how long it is at the instant `at` until the lane's session begins together with others, in ms; null if it does not.
export function startsIn(lane, at) {
  return lane.starts_ms === undefined ? null : Math.max(0, timeLeft(lane.starts_ms, true, lane.sentAt, at));
}

// urgencyOf returns "last" of a running session that ends in a moment, "soon" of one that ends soon, and "" otherwise: from its last and its
// first warning on, in the last minute and the last five of one that is not warned.
export function urgencyOf(lane, at) {
  const left = leftOf(lane, at);
  return lane.phase === "running" && left > 0 ? (markOf(lane, left)?.mark ?? "") : "";
}

const covers = (hold, lane) => hold.scope === "range" || hold.id === (hold.scope === "bay" ? lane.bay_id : lane.lane_id);

// isHeld is true of a lane under a hold, which the lane itself reports only once it is saved.
export function isHeld(lane, holds) {
  return lane.held || holds.some((hold) => covers(hold, lane));
}

// ceasefireOf returns which ceasefires are in force: {all, bays}. all is true if every lane is under one of the range or of a bay, bays are
// the bays under one.
export function ceasefireOf(lanes, bays, holds) {
  const wide = holds.filter(({ scope }) => scope !== "lane");
  return {
    all: wide.some(({ scope }) => scope === "range") || (wide.length > 0 && lanes.length > 0 && lanes.every((lane) => wide.some((hold) => covers(hold, lane)))),
    bays: bays.filter((bay) => wide.some(({ scope, id }) => scope === "bay" && id === bay.bay_id)),
  };
}

// endingNext returns the running sessions' lanes, the one that ends first first, at most so many.
export function endingNext(lanes, at, most) {
  return lanes.filter((lane) => stateOf(lane, at) === "running").sort((a, b) => leftOf(a, at) - leftOf(b, at)).slice(0, most);
}

// shortNames returns the names as tiles have them: if all of them end in a number, and no two in the same one, the numbers alone.
export function shortNames(names) {
  const numbers = names.map((name) => /\S\s+(\d{1,9})$/.exec(name)?.[1]);
  return new Set(numbers).size === names.length && !numbers.includes(undefined) ? numbers : names;
}

const RUN = 3; // lanes side by side that are written as one range

// listed returns the names, lanes side by side as a range ("49–60"): the first ones, and how many lanes more there are.
export function listed(names, most, more) {
  const runs = []; // {names, word, last number}
  for (const name of names) {
    const [, word, number] = /^(.*?)(\d{1,9})$/.exec(name) ?? [null, name, NaN];
    const run = runs.at(-1);
    if (run && run.word === word && Number(number) === run.last + 1) {
      run.names.push(name);
      run.last++;
    } else {
      runs.push({ names: [name], word, last: Number(number) });
    }
  }
  const parts = runs.flatMap((run) => (run.names.length >= RUN
    ? [{ text: `${run.names[0]}–${run.last}`, n: run.names.length }]
    : run.names.map((text) => ({ text, n: 1 }))));
  const rest = parts.slice(most - 1).reduce((sum, { n }) => sum + n, 0);
  const texts = parts.map(({ text }) => text);
  return parts.length > most ? [...texts.slice(0, most - 1), more(rest)] : texts;
}

const HIGH = 2.05; // digits, name and padding together, in the size of the digits
const CUSTOMER = 0.5; // the line of a customer's name
const PADDING = 0.34; // left and right
const TOP = 0.76; // the row of the name, in which the signs are
const LINE = 1.06; // of a name
const SIGNS = 1.25; // room for two signs beside a name
const SMALLEST = 13; // px; smaller digits are not read, and the board is scrolled instead

// fit returns the largest tiles of which so many fill the width and height, in px: {columns, rows, digit, high, top, hours, name, word, words,
// bay, scrolled}. digit is the font size of a time in px. The other sizes are in the size of the digits: the height of a tile and of its top
// row, and the font sizes of a time of an hour or more, of a lane's name, of a state in one word, of one in several, and of a bay's name.
// widths has how wide these are, each in its own font size: time, hours, and the longest name, part of a name (a word), state in one word
// (word), word of the others (words) and word of a bay's name (bay).
export function fit({ width, height, tiles, gap, customers, widths }) {
  const high = HIGH + (customers ? CUSTOMER : 0);
  const wide = widths.time + PADDING;
  let best = { digit: 0 };
  for (let columns = 1; columns <= tiles; columns++) {
    const rows = Math.ceil(tiles / columns);
    const [w, h] = [(width - gap * (columns - 1)) / columns, (height - gap * (rows - 1)) / rows];
    const digit = Math.min(w / wide, h / high);
    if (digit > best.digit) {
      best = { columns, rows, digit, width: w, height: h, scrolled: false };
    }
  }
  if (best.digit < SMALLEST) {
    const columns = Math.max(1, Math.floor((width + gap) / (SMALLEST * wide + gap)));
    best = { columns, rows: Math.ceil(tiles / columns), digit: SMALLEST, width: (width - gap * (columns - 1)) / columns, height: SMALLEST * high, scrolled: true };
  }
  const room = best.width / best.digit - PADDING;
  const topMost = TOP + best.height / best.digit - high; // what the top row may have, as nothing else is to grow
  return {
    ...best, high, ...nameSize(room - SIGNS, topMost, widths), hours: Math.min(1, room / widths.hours),
    word: Math.min(0.64, room / widths.word), words: Math.min(0.46, room / widths.words), bay: Math.min(0.6, (room - 0.1) / widths.bay),
  };
}

// nameSize returns the font size of the longest name, on one line or on two if that is larger, and the height of its row.
function nameSize(wide, high, widths) {
  const one = Math.min(0.72, wide / widths.name);
  const two = Math.min(0.6, wide / Math.max(widths.part, widths.name * 0.6), high / (2 * LINE));
  const name = Math.max(0.26, one, two);
  return { name, top: two > one ? Math.max(TOP, 2 * LINE * name) : TOP };
}
