// The page of the log: the lines that this node writes, as the controls choose, followed live.
import { element, setText } from "/screens/element.js";
import { Stream } from "/screens/stream.js";
import { laneAddress, rangeAddress } from "./draw.js";
import { Refused, fetchJSON } from "./gateway.js";
import { LOG_ADDRESS } from "./loglink.js";
import { LEVELS, LONGEST_TEXT, Newest, fieldsOf, readLogQuery, writeLogQuery } from "./logquery.js";
import { requestAddress } from "./requests.js";

const MOST = 300; // rows of the page
const TYPING = 300; // ms without a key after which another text is searched for
const LEVEL_NAME = /^[a-z]+$/;

export class LogPage {
  #t;
  #token;
  #chosen = readLogQuery(location.search);
  #stream;
  #inputs = {};
  #typing = 0; // the timer
  #ranges = []; // [{range_id, range, state}]
  #lanesOf = ""; // the range whose lanes are offered
  #level = null; // of the gateway: {level, debug}
  #hint = element("p", { hidden: true });
  #summary = element("p.count");
  #trouble = element("p.trouble", { role: "status", hidden: true });
  #none = element("p.none");
  #rows;
  #pause;
  #paused = false;
  #waiting = new Newest(MOST); // rows that are not drawn yet
  #drawing = 0; // the timer
  #counts = null; // the latest of this connection
  #since = ""; // when it began
  #contact = null; // Date of the latest message, of a connection with this choice
  #opened = false;

  // token() is the operations token. contact, refused and rejected are called as those of a Stream.
  constructor(t, root, { token, contact, refused, rejected }) {
    this.#t = t;
    this.#token = token;
    this.#stream = new Stream(this.#address, {
      headers: () => ({ Authorization: `Bearer ${token()}` }),
      untimed: (name) => name === "line",
      opened: () => this.#connected(),
      failed: (status) => this.#fail(status),
      message: (name, data) => this.#receive(name, data),
      sentEarlier: () => {},
      contact, refused, rejected,
    });
    this.#pause = element("button.button", { type: "button", onclick: () => this.#setPaused(!this.#paused) });
    this.#rows = element("div.log", { role: "log", "aria-live": "off", "aria-label": t("log.lines"), tabIndex: 0, hidden: true });
    root.append(
      element("nav", { "aria-label": t("ranges") }, element("a", { href: "/observer" }, t("all_ranges")), ` · ${t("log")}`),
      element("section", {}, element("p", {}, `${t("log.explained")} ${t("log.most", { n: MOST })}`), this.#controls(), this.#hint, this.#trouble, this.#summary, this.#none, this.#rows),
    );
    window.addEventListener("popstate", () => {
      this.#chosen = readLogQuery(location.search);
      this.#fill();
      this.#follow();
    });
    this.#fill();
    this.#setPaused(false);
    this.#showCounts();
  }

  // path is the address of what show shows.
  get path() {
    return "/log-level";
  }

  titleOf() {
    const node = this.#counts?.node ?? "";
    return node === "" ? this.#t("log") : this.#t("log.of", { node });
  }

  // showRanges offers a choice of these ranges.
  showRanges(ranges) {
    this.#ranges = ranges;
    this.#fillRanges();
    this.#fillLanes();
    this.#showHint();
  }

  show(level) {
    this.#level = level;
    this.#showHint();
    if (!this.#opened) {
      this.#opened = true;
      this.#fillLanes();
      this.#stream.follow(this.#address);
    }
  }

  // clear forgets what is shown.
  clear() {
    this.#opened = false;
    this.#stream.close();
    this.#level = null;
    this.#lanesOf = "";
    this.#ranges = [];
    this.#erase();
    this.#fill();
    this.#showHint();
  }

  get #address() {
    return LOG_ADDRESS + writeLogQuery(this.#chosen);
  }

  #controls() {
    const t = this.#t;
    const choice = (name) => (this.#inputs[name] = element("select.input", { name, onchange: ({ target }) => this.#choose({ [name]: target.value }) }));
    const field = (title, input, kind = "label.field") => element(kind, {}, element("span", {}, title), input);
    this.#inputs.text = element("input.input", {
      type: "search", name: "text", maxLength: LONGEST_TEXT, autocomplete: "off", spellcheck: false, placeholder: t("log.text_hint"),
      oninput: () => {
        clearTimeout(this.#typing);
        this.#typing = setTimeout(() => this.#search(), TYPING);
      },
    });
    const form = element("form.controls", {
      role: "search", "aria-label": t("log.filter"), onsubmit: (event) => {
        event.preventDefault();
        this.#search();
      },
    },
    field(t("log.text"), this.#inputs.text, "label.field.long"), field(t("log.level"), choice("level")),
    field(t("controls.range"), choice("range")), field(t("lane"), choice("lane")), this.#pause);
    this.#inputs.level.append(...LEVELS.map((level) => element("option", { value: level }, level)));
    return form;
  }

  #search() {
    if (this.#inputs.text.value.trim() !== this.#chosen.text) {
      this.#choose({});
    }
  }

  // choose takes the change, and the text as it stands in its field by now.
  #choose(change) {
    clearTimeout(this.#typing);
    const text = this.#inputs.text.value.trim();
    this.#chosen = { ...this.#chosen, text, ...("range" in change && { lane: "" }), ...change }; // no lane is of two ranges
    history.replaceState(null, "", location.pathname + writeLogQuery(this.#chosen));
    this.#fill();
    this.#follow();
  }

  #follow() {
    this.#erase();
    this.#showHint();
    if (this.#opened) {
      this.#fillLanes();
      this.#stream.follow(this.#address);
    }
  }

  #fill() {
    const { level, text } = this.#chosen;
    this.#inputs.level.value = level;
    if (this.#inputs.text.value.trim() !== text) {
      this.#inputs.text.value = text;
    }
    this.#fillRanges();
    this.#offer("lane", [...this.#inputs.lane.options].filter(({ value }) => value !== "" && this.#lanesOf === this.#range).map(({ value, textContent }) => [value, textContent]), this.#t("log.all_lanes"));
  }

  #fillRanges() {
    this.#offer("range", this.#ranges.map(({ range_id, range }) => [range_id, range || range_id]), this.#t("controls.all_ranges"));
  }

  // range is the chosen one, or the only one that there is; "" otherwise.
  get #range() {
    return this.#chosen.range || (this.#ranges.length === 1 ? this.#ranges[0].range_id : "");
  }

  // fillLanes offers the lanes of the range, which are read once.
  async #fillLanes() {
    const range = this.#range;
    if (range === this.#lanesOf) {
      return;
    }
    let lanes = [];
    try {
      lanes = range === "" ? [] : (await fetchJSON(`/observer/actors?${new URLSearchParams({ range, kind: "lane", limit: 500 })}`, this.#token())).actors;
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
    }
    if (range === this.#range && this.#opened) {
      this.#lanesOf = range;
      this.#offer("lane", lanes.map(({ lane_id, lane }) => [lane_id, lane]), this.#t("log.all_lanes"));
    }
  }

  // offer has a choice of [value, text], sorted by the text, behind all of them; also of what is chosen and not known.
  #offer(name, options, all) {
    const value = this.#chosen[name];
    const known = value === "" || options.some(([of]) => of === value) ? options : [...options, [value, value]];
    const sorted = known.toSorted(([, a], [, b]) => a.localeCompare(b, undefined, { numeric: true }));
    const select = this.#inputs[name];
    select.replaceChildren(...[["", all], ...sorted].map(([of, text]) => element("option", { value: of }, text)));
    select.value = value;
    select.parentElement.hidden = name === "range" ? known.length < 2 && value === "" : known.length === 0;
  }

  // showHint says what there can be no lines of.
  #showHint() {
    const t = this.#t;
    const { level } = this.#chosen;
    const range = this.#range;
    const hints = [];
    if (this.#level !== null && LEVELS.indexOf(level) < LEVELS.indexOf(this.#level.level)) {
      hints.push(t("log.below", { level: this.#level.level }), this.#level.debug ? t("log.debugged", { time: t.seconds(this.#level.debug.until) }) : t("log.turn_up", { action: t("action.debug_log") }));
    }
    if (this.#ranges.some(({ range_id, state }) => range_id === range && state === "elsewhere")) {
      hints.push(t("log.elsewhere"));
    }
    const link = range === "" || hints.length === 0 ? [] : [" ", element("a", { href: rangeAddress(range) }, t("log.to_range"))];
    if (this.#hint.dataset.shown !== hints.join(" ") + range) { // the focus stays on the link
      this.#hint.dataset.shown = hints.join(" ") + range;
      this.#hint.replaceChildren(hints.join(" "), ...link);
    }
    this.#hint.hidden = hints.length === 0;
  }

  #fail(status) {
    setText(this.#trouble, status === 503 ? this.#t("log.too_many") : "");
    this.#trouble.hidden = this.#trouble.textContent === "";
  }

  #connected() {
    this.#fail(200);
    if (this.#contact !== null) {
      this.#add({ gap: this.#t("log.gap", { from: this.#t.seconds(this.#contact), to: this.#t.seconds(new Date()) }) });
    }
    this.#counts = null;
  }

  #receive(name, data) {
    this.#contact = new Date();
    if (name === "line") {
      this.#add({ line: data });
    }
    if (name !== "counts") {
      return;
    }
    const dropped = data.dropped - (this.#counts?.dropped ?? 0);
    if (dropped > 0) {
      this.#add({ gap: this.#t("log.gap_dropped", { n: dropped }) });
    }
    if (this.#counts === null) {
      this.#since = data.at;
    }
    this.#counts = data;
    this.#draw();
  }

  #add(row) {
    this.#waiting.add(row);
    this.#draw();
  }

  #setPaused(paused) {
    this.#paused = paused;
    setText(this.#pause, this.#t(paused ? "log.resume" : "log.pause"));
    this.#draw();
  }

  // draw draws what has come, several times a second at most.
  #draw() {
    this.#drawing ||= setTimeout(() => {
      this.#drawing = 0;
      this.#paused || this.#drawRows();
      this.#showCounts();
    }, 100);
  }

  #drawRows() {
    const { rows, left } = this.#waiting.take();
    if (rows.length === 0) {
      return;
    }
    const log = this.#rows;
    const atEnd = log.hidden || log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    const drawn = rows.map((row) => (row.gap ? gapRow(row.gap) : lineRow(this.#t, row.line)));
    if (left > 0) {
      drawn.unshift(gapRow(this.#t("log.gap_paused", { n: left })));
    }
    log.hidden = false;
    log.append(...drawn);
    for (let beyond = log.childElementCount - MOST; beyond > 0; beyond--) {
      log.firstElementChild.remove();
    }
    if (atEnd) { // whoever has scrolled back goes on reading there
      log.scrollTop = log.scrollHeight;
    }
  }

  #showCounts() {
    const t = this.#t;
    this.#none.hidden = !this.#rows.hidden;
    setText(this.#none, t(this.#counts === null ? "log.connecting" : "log.none"));
    const sentences = [];
    if (this.#counts !== null) {
      const { matching, not_matching: others, dropped, not_written: unwritten } = this.#counts;
      sentences.push(t("log.counts", { time: t.seconds(this.#since), n: matching, matching: t.number(matching), others: t.number(others) }));
      dropped > 0 && sentences.push(t("log.dropped", { n: dropped }));
      unwritten > 0 && sentences.push(t("log.not_written", { n: unwritten }));
    }
    if (this.#paused) {
      sentences.push(t("log.paused", { n: this.#waiting.length }));
    }
    setText(this.#summary, sentences.join(" "));
  }

  #erase() {
    this.#waiting.take();
    this.#counts = this.#contact = null;
    this.#rows.replaceChildren();
    this.#rows.hidden = true;
    this.#fail(200);
    this.#showCounts();
  }
}

const gapRow = (sentence) => element("div.gap", {}, sentence);

function lineRow(t, line) {
  const { level, time, message } = line;
  const known = LEVEL_NAME.test(level ?? "") ? level : "";
  return element(known ? `div.line.${known}` : "div.line", {},
    element("time", { dateTime: time ?? "", title: time ?? "" }, t.seconds(time)), " ",
    element("strong.level", {}, known || "–"), " ", element("span.message", {}, message ?? ""),
    ...fieldsOf(line).flatMap(([name, value]) => [" ", element("span.pair", {}, `${name}=`, valueOf(line, name, value))]));
}

// valueOf is a value, with a link where this page has more of it.
function valueOf({ range_id: range }, name, value) {
  if (name === "lane_id" && range) {
    return element("a", { href: laneAddress({ lane_id: value, range_id: range }) }, value);
  }
  if (name === "trace_id" && range) {
    return element("a", { href: requestAddress(range, value) }, value);
  }
  return value;
}
