// The table of actors: each has a row, and below it one that says why it is stuck. The rows stay, and so do the focus on a link
// and what is scrolled, whatever changes in them.
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { kindName, laneAddress, rangeAddress, scrolling, stateName } from "./draw.js";
import { keyOf } from "./rates.js";
import { milliseconds, moment, span } from "./times.js";
import { quoted, whyOf } from "./why.js";

const COLUMNS = ["actor", "state", "waiting", "rate", "restarts", "late"];
const NUMBERS = ["rate", "late"];
const NOTHING = "–";

export class ActorTable {
  #t;
  #head;
  #rows = new Map(); // by actor

  constructor(t, caption) {
    this.#t = t;
    this.element = scrolling(caption, COLUMNS.map((name) => ({ title: t(`column.${name}`), number: NUMBERS.includes(name) })));
    this.#head = this.element.querySelector("thead");
  }

  // show has a row for each of the actors, in their order. rateOf(actor) is its messages a second, null if that is not known; ofOneRange
  // leaves the range out; now is the gateway's time in ms.
  show(actors, { rateOf, ofOneRange, now }) {
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    const before = this.#rows;
    this.#rows = new Map();
    for (const actor of actors) {
      const key = keyOf(actor);
      const row = before.get(key) ?? new Row(this.#t);
      row.show(actor, rateOf(actor), ofOneRange, now);
      this.#rows.set(key, row);
      before.delete(key);
    }
    before.forEach((row) => row.element.remove());
    let above = this.#head;
    for (const { element: body } of this.#rows.values()) {
      if (above.nextSibling !== body) {
        above.after(body);
      }
      above = body;
    }
    // An element that is moved loses the focus; one that is gone leaves it to the table.
    if (focused && document.activeElement !== focused) {
      (focused.isConnected ? focused : this.element).focus({ preventScroll: true });
    }
  }

  // tick shows how long everything has lasted.
  tick(now) {
    this.#rows.forEach((row) => row.tick(now));
  }
}

// Row is one actor.
class Row {
  #t;
  #actor;
  #link = element("a");
  #plain = element("span");
  #kind = element("small");
  #cells = Object.fromEntries(COLUMNS.slice(1).map((name) => [name, { main: element("span"), more: element("small") }]));
  #why = element("span");
  #whyRow;

  constructor(t) {
    this.#t = t;
    this.#cells.state.main.classList.add("state");
    this.#whyRow = element("tr.why", { hidden: true }, element("td", { colSpan: COLUMNS.length }, element("p", {}, icon("alert"), this.#why)));
    this.element = element("tbody.actor", {},
      element("tr", {}, element("th", { scope: "row" }, this.#link, this.#plain, this.#kind),
        ...Object.entries(this.#cells).map(([name, { main, more }]) => element(NUMBERS.includes(name) ? "td.number" : "td", {}, main, more))),
      this.#whyRow);
  }

  show(actor, rate, ofOneRange, now) {
    this.#actor = actor;
    const t = this.#t;
    this.#showName(ofOneRange);
    const { state, since, restarts, last_restart: last, late_ms: late, why } = actor;
    this.#cells.state.main.className = `state ${state}`;
    this.#set("state", stateName(t, state), since ? t("since", { time: moment(t, since) }) : "");
    this.#set("rate", rate === null ? NOTHING : t.number(rate));
    this.#set("restarts", t.number(restarts), last ? this.#restart(last) : "");
    this.#set("late", late === null ? NOTHING : milliseconds(t, late));
    this.element.classList.toggle("stuck", why !== null);
    this.#whyRow.hidden = why === null;
    this.tick(now);
  }

  tick(now) {
    const t = this.#t;
    const { messages_waiting: messages, requests_waiting: requests, oldest, why } = this.#actor;
    this.#set("waiting", messages + requests === 0 ? NOTHING : t("waiting", { messages: t.number(messages), requests: t.number(requests) }),
      oldest ? t("waiting.oldest", { what: this.#whatOf(oldest.what), time: span(t, now - Date.parse(oldest.since)) }) : "");
    setText(this.#why, why === null ? "" : whyOf(t, why, now));
  }

  // showName shows which actor it is: a lane and its connection lead to the lane, a range to its actors.
  #showName(ofOneRange) {
    const { kind, lane, lane_id, range, range_id, webhook } = this.#actor;
    const t = this.#t;
    const address = lane_id ? laneAddress(this.#actor) : kind === "range" ? rangeAddress(range_id) : null;
    const name = lane_id ? lane : kind === "range" ? range || range_id : webhook || t("webhook.only");
    this.#link.hidden = address === null;
    this.#plain.hidden = address !== null;
    if (address !== null && this.#link.getAttribute("href") !== address) {
      this.#link.href = address;
    }
    setText(address === null ? this.#plain : this.#link, name);
    setText(this.#kind, ofOneRange || kind === "range" ? kindName(t, kind) : t("kind_of", { kind: kindName(t, kind), range: range || range_id }));
  }

  #whatOf(what) {
    return this.#t.has(`what.${what}`) ? this.#t(`what.${what}`) : what;
  }

  #restart({ at, on, panic }) {
    const t = this.#t;
    return t("restart.last", { time: moment(t, at), on: quoted(t, on), panic });
  }

  #set(column, main, more = "") {
    const cell = this.#cells[column];
    setText(cell.main, main);
    setText(cell.more, more);
    cell.more.hidden = more === "";
  }
}
