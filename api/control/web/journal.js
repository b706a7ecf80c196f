// A record that is read from its newest entry back: ended sessions, deliveries, what staff did. New entries come in on top
// while it is looked at; older ones are fetched by a touch.
import { element } from "/screens/element.js";
import { Trouble, action } from "./act.js";
import { Live } from "./live.js";

const PAGE = 50;

export class Journal {
  #desk;
  #query;
  #list;
  #key;
  #cells;
  #entries = new Map(); // by key: {row, drawn}
  #next = null;
  #asked = 0;
  #dug; // the query whose oldest entries are known so far
  #rows = element("tbody");
  #empty = element("p.empty");
  #trouble = new Trouble();
  #more;
  #live;

  // columns are keys of their titles, cells(entry) what stands in them; list names the answer's list, key(entry) an entry;
  // query() answers the path with its search and no page.
  constructor(desk, { title, empty, columns, query, list, key, cells }) {
    this.#desk = desk;
    [this.#query, this.#list, this.#key, this.#cells] = [query, list, key, cells];
    const { t } = desk;
    this.columns = columns.map((name) => t(name));
    this.#more = action(desk, { words: t("journal.more") }, this.#trouble, () => this.#older());
    this.#empty.textContent = t(empty);
    this.#empty.hidden = this.#more.hidden = true;
    this.element = element("div.journal", {}, this.#trouble.element,
      element("table", {}, element("caption.unseen", {}, t(title)),
        element("thead", {}, element("tr", {}, ...this.columns.map((name) => element("th", { scope: "col" }, name)))), this.#rows),
      this.#empty, this.#more);
    this.#live = new Live(() => this.#newest());
    desk.range.addEventListener("lanes", () => this.#live.nudge());
    desk.range.addEventListener("holds", () => this.#live.nudge());
  }

  show() {
    this.#live.start();
  }

  hide() {
    this.#live.stop();
    this.#clear();
  }

  // restart is for another search.
  restart() {
    this.#clear();
    this.#live.stop();
    return this.#live.start();
  }

  async #newest() {
    const asked = ++this.#asked;
    try {
      const page = await this.#page("");
      if (asked !== this.#asked) {
        return; // the search is another one by now
      }
      const entries = page[this.#list];
      if (entries.length === PAGE && !entries.some((entry) => this.#entries.has(this.#key(entry)))) {
        this.#clear(); // so much is new that there would be a gap
      }
      const dig = this.#entries.size === 0 && this.#dug !== this.#query();
      if (dig) {
        this.#dug = this.#query();
        this.#next = page.next;
      }
      for (const entry of entries.toReversed()) {
        this.#put(entry, (row) => this.#rows.prepend(row));
      }
      this.#ends();
      this.#trouble.say("");
      if (dig && entries.length === 0) {
        await this.#older();
      }
    } catch (refusal) {
      this.#trouble.element.textContent = this.#desk.sentence(refusal); // not aloud: it is tried again by itself
    }
  }

  // A search through a long record comes back in pieces, some of them empty: it goes on until there is something to show.
  async #older() {
    const query = this.#query();
    for (let found = 0; found === 0 && this.#next; ) {
      const page = await this.#page(this.#next);
      if (query !== this.#query()) {
        return;
      }
      this.#next = page.next;
      page[this.#list].forEach((entry) => this.#put(entry, (row) => this.#rows.append(row)));
      found = page[this.#list].length;
    }
    this.#ends();
  }

  #page(before) {
    const path = this.#query();
    const page = new URLSearchParams({ limit: PAGE, ...(before ? { before } : {}) });
    return this.#desk.ask("GET", `${path}${path.includes("?") ? "&" : "?"}${page}`);
  }

  // An entry that is known is drawn anew only if it has changed, as a delivery does that gets its answer.
  #put(entry, place) {
    const [key, drawn] = [this.#key(entry), JSON.stringify(entry)];
    const known = this.#entries.get(key);
    if (known?.drawn === drawn) {
      return;
    }
    const row = element("tr", {}, ...this.#cells(entry).map((cell, i) => element("td", { "data-column": this.columns[i] }, cell)));
    known ? known.row.replaceWith(row) : place(row);
    this.#entries.set(key, { row, drawn });
  }

  #ends() {
    this.#more.hidden = !this.#next;
    this.#empty.hidden = this.#entries.size > 0;
    this.element.querySelector("table").hidden = this.#entries.size === 0;
  }

  #clear() {
    this.#asked++;
    this.#entries.clear();
    this.#rows.replaceChildren();
    this.#next = null;
    this.#dug = undefined;
  }
}
