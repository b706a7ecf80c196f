// A table of records, newest first: ended sessions, deliveries, acts of staff. While it is shown, new records appear on top;
// older ones are loaded by a button.
import { element } from "/screens/element.js";
import { ErrorText, action } from "./actions.js";
import { Poller } from "./poller.js";

const PAGE = 50;

export class Journal {
  #client;
  #query;
  #list;
  #key;
  #cells;
  #entries = new Map(); // by key: {row, drawn}
  #next = null;
  #requests = 0;
  #started; // the query whose first page was loaded
  #rows = element("tbody");
  #empty = element("p.empty");
  #error = new ErrorText();
  #more;
  #poller;

  // columns are the keys of their titles, and cells(entry) returns their contents; list is the key of the response's list, and
  // key(entry) identifies an entry; query() returns the path with its search and without a page.
  constructor(client, { title, empty, columns, query, list, key, cells }) {
    this.#client = client;
    [this.#query, this.#list, this.#key, this.#cells] = [query, list, key, cells];
    const { t } = client;
    this.columns = columns.map((name) => t(name));
    this.#more = action(client, { words: t("journal.more") }, this.#error, () => this.#older());
    this.#empty.textContent = t(empty);
    this.#empty.hidden = this.#more.hidden = true;
    this.element = element("div.journal", {}, this.#error.element,
      element("table", {}, element("caption.unseen", {}, t(title)),
        element("thead", {}, element("tr", {}, ...this.columns.map((name) => element("th", { scope: "col" }, name)))), this.#rows),
      this.#empty, this.#more);
    this.#poller = new Poller(() => this.#newest());
    client.range.addEventListener("lanes", () => this.#poller.refreshSoon());
    client.range.addEventListener("holds", () => this.#poller.refreshSoon());
  }

  show() {
    this.#poller.start();
  }

  hide() {
    this.#poller.stop();
    this.#clear();
  }

  // refresh shows what an action has changed.
  refresh() {
    this.#poller.refreshSoon();
  }

  // restart shows another search.
  restart() {
    this.#clear();
    this.#poller.stop();
    return this.#poller.start();
  }

  async #newest() {
    const request = ++this.#requests;
    try {
      const page = await this.#page("");
      if (request !== this.#requests) {
        return; // the search has changed
      }
      const entries = page[this.#list];
      if (entries.length === PAGE && !entries.some((entry) => this.#entries.has(this.#key(entry)))) {
        this.#clear(); // otherwise there would be a gap
      }
      const first = this.#entries.size === 0 && this.#started !== this.#query();
      if (first) {
        this.#started = this.#query();
        this.#next = page.next;
      }
      for (const entry of entries.toReversed()) {
        this.#put(entry, (row) => this.#rows.prepend(row));
      }
      this.#updateFooter();
      this.#error.show("");
      if (first && entries.length === 0) {
        await this.#older();
      }
    } catch (refusal) {
      this.#error.element.textContent = this.#client.sentence(refusal); // not announced: it is retried automatically
    }
  }

  // A search through a long log returns several pages, some of them empty: it continues until there is something to show.
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
    this.#updateFooter();
  }

  #page(before) {
    const path = this.#query();
    const page = new URLSearchParams({ limit: PAGE, ...(before ? { before } : {}) });
    return this.#client.request("GET", `${path}${path.includes("?") ? "&" : "?"}${page}`);
  }

  // A shown entry is redrawn only if it has changed, as a delivery does when it gets its response.
  #put(entry, insert) {
    const [key, drawn] = [this.#key(entry), JSON.stringify(entry)];
    const shown = this.#entries.get(key);
    if (shown?.drawn === drawn) {
      return;
    }
    const row = element("tr", {}, ...this.#cells(entry).map((cell, i) => element("td", { "data-column": this.columns[i] }, cell)));
    shown ? shown.row.replaceWith(row) : insert(row);
    this.#entries.set(key, { row, drawn });
  }

  #updateFooter() {
    this.#more.hidden = !this.#next;
    this.#empty.hidden = this.#entries.size > 0;
    this.element.querySelector("table").hidden = this.#entries.size === 0;
  }

  #clear() {
    this.#requests++;
    this.#entries.clear();
    this.#rows.replaceChildren();
    this.#next = null;
    this.#started = undefined;
  }
}
