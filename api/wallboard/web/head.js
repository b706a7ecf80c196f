// What concerns the whole range: the head of the board, and the ceasefire that takes its place.
import { formatTime } from "/screens/clock.js";
import { element, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { ceasefireOf, endingNext, isHeld, leftOf, listed, stateOf } from "./rules.js";

const ENDING = 3; // sessions that end next
const NAMED = 4; // lanes that a list has by name

export class Head {
  #t;
  #full;
  #alarm;
  #range = element("h1");
  #ofDay = element("p.of-day"); // the time of day
  #free = element("strong");
  #freeWord = element("span");
  #next = Array.from({ length: ENDING }, () => ({ name: element("span.name"), time: element("strong") }));
  #nextItems = this.#next.map(({ name, time }) => element("li", {}, name, time));
  #lists; // of lanes that want somebody, by kind
  #hours = { word: element("span"), time: element("strong") };
  #closing = element("p.figure.closing", {}, icon("hourglass"), this.#hours.word, this.#hours.time);
  #bays = element("span.bays");
  #notice = element("p.notice", { role: "status" });
  #locked = element("p.locked");
  #missing = element("p.missing");

  // root is the head, full the place of the ceasefire, alarm is read out by screen readers.
  constructor(t, root, full, alarm) {
    this.#t = t;
    this.#full = full;
    this.#alarm = alarm;
    const list = (kind, sign, words) => {
      const names = element("strong");
      return { kind, names, figure: element(`p.figure.${kind}`, {}, icon(sign), element("span", {}, words), names) };
    };
    this.#lists = [list("called", "bell", t("help")), list("ended", "leave", t("clear"))];
    root.append(
      element("div.place", {}, this.#range, this.#ofDay),
      element("p.figure.free", {}, this.#freeWord, this.#free),
      element("div.figure.next", {}, element("span", {}, t("next")), element("ol", {}, ...this.#nextItems)),
      element("p.figure.part", {}, icon("lock"), element("strong", {}, t("ceasefire")), this.#bays),
      ...this.#lists.map(({ figure }) => figure),
      this.#closing,
      this.#notice,
    );
    const words = t("ceasefire").split(" ").flatMap((word) => [element("span", {}, word), " "]); // a line for each, if they need it
    full.append(element("h2.word", {}, ...words), this.#missing, element("p.explained", {}, t("ceasefire.explained")), this.#locked);
  }

  // show draws the board as it is at the instant `at`.
  show(board, at) {
    const t = this.#t;
    const lanes = [...board.lanes.values()];
    setText(this.#range, board.range || t("title"));
    setText(this.#ofDay, t.time(new Date()));
    const free = lanes.filter((lane) => stateOf(lane, at) === "free" && !isHeld(lane, board.holds)).length;
    setText(this.#free, String(free));
    setText(this.#freeWord, t("free", { n: free }));
    const next = endingNext(lanes, at, ENDING);
    this.#next.forEach(({ name, time }, i) => {
      this.#nextItems[i].hidden = !next[i];
      setText(name, next[i]?.short ?? "");
      setText(time, next[i] ? formatTime(leftOf(next[i], at)) : "");
    });
    const wanting = { called: (lane) => lane.help === "called", ended: (lane) => ["ended", "over"].includes(stateOf(lane, at)) };
    for (const { kind, figure, names } of this.#lists) {
      const found = lanes.filter(wanting[kind]).map((lane) => lane.short);
      figure.hidden = found.length === 0;
      setText(names, listed(found, NAMED, (n) => t("more", { n })).join(", "));
    }
    this.#showHours(board, at);
    this.#showCeasefire(board, lanes);
  }

  // showHours shows that the range closes soon, or is closed; while it is open the first bay of which that is so.
  #showHours({ hours, bays }, at) {
    const t = this.#t;
    const whole = hours.at(at);
    const part = whole.state === "open" ? firstOf(hours.ofParts(at).filter(({ bay_id: bay, state }) => bay && state !== "open")) : undefined;
    const { state, when } = part ?? whole;
    const name = bays.find((bay) => bay.bay_id === part?.bay_id)?.name ?? "";
    this.#closing.hidden = state === "open";
    setText(this.#hours.word, state === "open" ? "" : part ? t(`hours.${state}_part`, { name }) : t(`hours.${state}`));
    setText(this.#hours.time, state === "open" || when === null ? "" : hours.time(t, state, when));
  }

  #showCeasefire(board, lanes) {
    const t = this.#t;
    const { all, bays } = ceasefireOf(lanes, board.bays, board.holds);
    const kind = all ? "all" : bays.length > 0 ? "bays" : "";
    document.body.dataset.ceasefire = kind;
    this.#full.hidden = !all;
    setText(this.#bays, all ? "" : bays.map((bay) => bay.name).join(", "));
    const missing = lanes.filter((lane) => isHeld(lane, board.holds) && !lane.locked).map((lane) => lane.name);
    setText(this.#locked, t("ceasefire.locked", { n: lanes.length - missing.length, all: lanes.length }));
    setText(this.#missing, missing.length > 0 ? t("ceasefire.not_locked", { lanes: listed(missing, 2 * NAMED, (n) => t("more", { n })).join(", ") }) : "");
    setText(this.#alarm, kind === "" ? "" : [t("ceasefire"), this.#bays.textContent].join(" "));
  }

  // notify says something about the board itself instead of the figures; nothing with "".
  notify(text) {
    setText(this.#notice, text);
    setFlag(document.body, "data-notice", text !== "");
  }
}

// firstOf returns the part that closes first, or else one that is closed.
const firstOf = (parts) => parts.filter(({ state }) => state === "last_call").sort((a, b) => a.when - b.when)[0] ?? parts[0];
