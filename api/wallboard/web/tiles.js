// The tiles of the board: one for each lane, behind one for each bay. They are made when the layout of the range is known, and only
// changed after that, so that a board that runs for weeks takes no more memory than on its first day.
import { formatTime } from "/screens/clock.js";
import { element, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { ceasefireOf, fit, isHeld, leftOf, owed, reservedFor, startsIn, stateOf, urgencyOf } from "./rules.js";

const GAP = 1 / 320; // of the board's width
const WORDS = ["state.free", "state.ended", "state.closed", "state.unusable", "state.waiting", "state.over", "locked", "not_locked"]; // instead of a time

export class Tiles {
  #t;
  #root;
  #lanes = new Map(); // tiles by lane
  #bays = new Map(); // heads by bay
  #customers = false;
  #widths;

  constructor(t, root) {
    this.#t = t;
    this.#root = root;
    window.addEventListener("resize", () => this.#fit());
  }

  // build makes the tiles of another layout.
  build(board) {
    const lanes = [...board.lanes.values()];
    this.#lanes = new Map(lanes.map((lane) => [lane.lane_id, new Tile(this.#t, lane)]));
    this.#bays = new Map(board.bays.length < 2 ? [] : board.bays.map((bay) => [bay.bay_id, new BayHead(bay.name)]));
    const tilesOf = (bay) => lanes.filter((lane) => lane.bay_id === bay.bay_id).map((lane) => this.#lanes.get(lane.lane_id));
    const all = board.bays.flatMap((bay) => [this.#bays.get(bay.bay_id), ...tilesOf(bay)]).filter(Boolean);
    this.#root.replaceChildren(...all.map((tile) => tile.element));
    this.#customers = board.names;
    setFlag(this.#root, "data-names", board.names);
    this.#widths = this.#measure(lanes.map((lane) => lane.short), board.bays.map((bay) => bay.name));
    this.#fit();
  }

  // show draws the board as it is at the instant `at`. old is true if that is not known: then no time is shown.
  show(board, at, old) {
    for (const [id, tile] of this.#lanes) {
      const lane = board.lanes.get(id);
      tile.show(lane, isHeld(lane, board.holds), at, old);
    }
    const { bays } = ceasefireOf([...board.lanes.values()], board.bays, board.holds);
    for (const [id, head] of this.#bays) {
      head.show(bays.some((bay) => bay.bay_id === id));
    }
  }

  // measure returns how wide the texts of the tiles are in this browser's font, each in its own font size.
  #measure(names, bays) {
    const paper = document.createElement("canvas").getContext("2d");
    paper.font = `800 100px ${getComputedStyle(this.#root).fontFamily}`;
    const widest = (texts) => Math.max(1, ...texts.map((text) => paper.measureText(text).width)) / 100;
    const words = (texts) => texts.flatMap((text) => text.split(/\s+/));
    const states = WORDS.map((key) => this.#t(key));
    return {
      time: widest(["00:00"]), hours: widest(["0:00:00"]), name: widest(names), part: widest(words(names)),
      word: widest(states.filter((text) => !isLong(text))), words: widest(words(states.filter(isLong))), bay: widest(words(bays)),
    };
  }

  #fit() {
    const { clientWidth, clientHeight } = this.#root.parentElement;
    const tiles = this.#lanes.size + this.#bays.size;
    if (tiles === 0 || clientWidth === 0) {
      return;
    }
    const gap = Math.max(2, Math.round(clientWidth * GAP));
    const { scrolled, columns, rows, high, digit, ...sizes } = fit({ width: clientWidth - 2 * gap, height: clientHeight - 2 * gap, tiles, gap, customers: this.#customers, widths: this.#widths });
    setFlag(document.body, "data-scrolled", scrolled);
    for (const [property, value] of Object.entries({ columns, rows, high, gap: `${gap}px`, digit: `${digit}px` })) {
      this.#root.style.setProperty(`--${property}`, value);
    }
    for (const property of ["top", "hours", "name", "word", "words", "bay"]) {
      this.#root.style.setProperty(`--${property}`, `${sizes[property]}em`);
    }
  }
}

// Tile is a lane: its name, signs, and its time or a word.
class Tile {
  #t;
  #signs = element("span.signs");
  #time = element("span.time");
  #word = element("span.word");
  #customer = element("p.customer");
  #drawn = "";

  constructor(t, { lane_id: id, name, short }) {
    this.#t = t;
    const label = short === name ? element("span.name", {}, name) : element("span.name", {}, element("span.unseen", {}, `${name.slice(0, -short.length)}`), short);
    this.element = element("li.tile", { "data-lane": id }, element("p.top", {}, label, this.#signs), element("p.middle", {}, this.#time, this.#word), this.#customer);
  }

  show(lane, held, at, old) {
    const t = this.#t;
    const state = stateOf(lane, at);
    const starts = startsIn(lane, at);
    const timed = state === "running" || state === "beyond" || state === "paused" || state === "reserved" || starts !== null;
    const locked = held ? (lane.locked ? "locked" : "not_locked") : "";
    const urgency = urgencyOf(lane, at);
    const drawn = [state, locked, urgency, lane.help, lane.link, old, starts !== null].join(" ");
    if (drawn !== this.#drawn) {
      this.#drawn = drawn;
      Object.assign(this.element.dataset, { state, urgency, locked, help: lane.help });
      this.#signs.replaceChildren(...signsOf(t, lane, state, locked, urgency, starts !== null));
      setText(this.#word, timed ? "" : t(state === "free" && locked !== "" ? locked : `state.${state}`));
      setFlag(this.#word, "data-long", isLong(this.#word.textContent));
    }
    const left = starts ?? (state === "reserved" ? reservedFor(lane, at) : leftOf(lane, at));
    const owes = owed(lane, at);
    setText(this.#time, timed ? (old ? "–:––" : owes !== null ? `+${formatTime(owes)}` : formatTime(left)) : "");
    setFlag(this.#time, "data-hours", timed && !old && (left > 3_599_000 || owes !== null));
    setText(this.#customer, lane.customer ?? "");
  }
}

// isLong is true of a state that takes two lines, or smaller letters.
const isLong = (text) => text.length > 8;

// signsOf returns the signs of a lane, the most urgent first. There is room for two.
function signsOf(t, lane, state, locked, urgency, scheduled) {
  const signs = [];
  const add = (name, words) => signs.push(element("span.sign", {}, icon(name), element("span.unseen", {}, words)));
  if (lane.help !== "") {
    add("bell", t(lane.help === "coming" ? "help.coming" : "help"));
  }
  if (locked !== "") {
    add(locked === "locked" ? "lock" : "alert", t(locked));
  }
  if (!lane.link) {
    add("unlink", t("no_link"));
  }
  if (scheduled) {
    add("play", t("starts"));
  } else if (SIGNS[state]) {
    add(SIGNS[state], ["paused", "reserved", "beyond"].includes(state) ? t(`state.${state}`) : ""); // of the others the tile has the word
  }
  if (urgency !== "") {
    add("hourglass", "");
  }
  return signs.slice(0, 2);
}

const SIGNS = { over: "hourglass", beyond: "play", ended: "leave", unusable: "alert", closed: "close", paused: "pause", reserved: "cart", waiting: "person" };

class BayHead {
  #lock = icon("lock");

  constructor(name) {
    this.element = element("li.bay", {}, element("h2", {}, name), this.#lock);
    this.show(false);
  }

  show(ceasefire) {
    setFlag(this.element, "data-ceasefire", ceasefire);
    setFlag(this.#lock, "hidden", !ceasefire);
  }
}
