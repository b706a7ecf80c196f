// The health of the lanes' hardware and of the gateway: problems come first.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { ErrorText } from "./actions.js";
import { pageHead } from "./pages.js";
import { Poller } from "./poller.js";

const ORDER = ["faulty", "down", "up"];
const SIGNS = { up: "check", down: "unlink", faulty: "alert" };
const MANY_REFUSED = 10; // sign-ins in 24 hours: more is more than somebody's mistyping
const KINDS = { up: "good", down: "warn", faulty: "danger" };

export class Health {
  #client;
  #poller;
  #error = new ErrorText();
  #tiles = element("dl.tiles");
  #rows = element("tbody");
  #table;
  #allWell;
  #columns;
  #drawn = "";

  constructor(client, root) {
    this.#client = client;
    const { t } = client;
    this.#columns = ["health.lane", "health.link", "health.since", "health.restarts", "health.last_error"].map((key) => t(key));
    this.#allWell = element("p", {}, t("health.all_well"));
    this.#table = element("table", {}, element("caption.unseen", {}, t("health.links")),
      element("thead", {}, element("tr", {}, ...this.#columns.map((name) => element("th", { scope: "col" }, name)))), this.#rows);
    this.#allWell.hidden = this.#table.hidden = true; // until it is loaded
    root.append(pageHead(t("tab.health"), t("health.explained")), this.#error.element, this.#tiles,
      element("h3", {}, t("health.links")), this.#allWell, this.#table);
    this.#poller = new Poller(() => this.#load());
    client.range.addEventListener("lanes", () => this.#poller.refreshSoon());
  }

  show() {
    this.#poller.start();
  }

  hide() {
    this.#poller.stop();
  }

  async #load() {
    try {
      const health = await this.#client.request("GET", "/health");
      this.#error.element.textContent = "";
      const drawn = JSON.stringify(health);
      if (drawn !== this.#drawn) {
        this.#drawn = drawn;
        this.#tiles.replaceChildren(...this.#tilesOf(health));
        this.#table.hidden = health.lanes.length === 0;
        this.#allWell.hidden = health.lanes.length > 0;
        const order = (lane) => ORDER.indexOf(lane.link || "down");
        this.#rows.replaceChildren(...health.lanes.toSorted((a, b) => order(a) - order(b)).map((lane) => this.#row(lane)));
      }
    } catch (refusal) {
      this.#error.element.textContent = this.#client.sentence(refusal);
    }
  }

  #tilesOf({ links, insecure_links: insecure, store, events, timers, actors, refused_sign_ins: refused, lanes_not_clear: uncleared, turns }) {
    const { t } = this.#client;
    const { up = 0, faulty = 0, "": connecting = 0 } = links;
    const down = (links.down ?? 0) + connecting; // a link that has never been up is down
    const restarts = Object.entries(actors.restarts).filter(([, n]) => n > 0);
    const tile = (title, kind, value, more = "") =>
      element(`div.tile.${kind}`, {}, element("dt", {}, title), element("dd", {}, element("span", {}, icon(kind === "good" ? "check" : "alert"), value), more ? element("small", {}, more) : null));
    const notes = [faulty + down > 0 ? t("health.links_not", { down, faulty }) : "", insecure > 0 ? t("health.links_insecure", { n: insecure }) : ""];
    return [
      tile(t("health.links"), notes.some(Boolean) ? "warn" : "good", t("health.links_up", { up, all: up + down + faulty }),
        notes.filter(Boolean).join("; ")),
      tile(t("health.store"), store.writable ? "good" : "danger", t(store.writable ? "health.writable" : "health.not_writable"),
        store.unsaved > 0 ? t("health.unsaved", { n: store.unsaved }) : ""),
      tile(t("health.events"), events.waiting > 100 || events.retrying > 0 ? "warn" : "good", t("health.waiting", { n: t.number(events.waiting) }),
        events.retrying > 0 ? t("health.retrying", { n: t.number(events.retrying), time: t.moment(events.level_at) }) : ""),
      tile(t("health.timers"), timers.late_p99_ms > 100 ? "warn" : "good", t("deliveries.ms", { n: t.number(timers.late_p99_ms) }), t("health.late")),
      tile(t("health.actors"), restarts.length > 0 ? "warn" : "good", t("health.restarts_n", { n: restarts.reduce((sum, [, n]) => sum + n, 0) }),
        restarts.map(([kind, n]) => `${kind}: ${n}`).join(", ")),
      tile(t("health.uncleared"), uncleared > 0 ? "warn" : "good", t("health.uncleared_n", { n: uncleared })),
      tile(t("health.turns"), "good", turns.turns > 0 ? t("health.turns_median", { n: t.number(Math.round(turns.median_minutes)) }) : t("health.turns_none"),
        turns.lanes_waiting > 0 ? t("health.turns_waiting", { n: turns.lanes_waiting, longest: t.number(Math.floor(turns.longest_minutes)) }) : ""),
      tile(t("health.sign_ins"), refused.count > MANY_REFUSED ? "warn" : "good", t("health.sign_ins_n", { n: refused.count }),
        refused.count > 0 ? t("health.sign_ins_last", { time: t.moment(refused.last) }) : ""),
    ];
  }

  #row(lane) {
    const { t } = this.#client;
    const state = lane.link || "down";
    const link = element(`span.badge.${KINDS[state]}`, {}, icon(SIGNS[state]), t(`health.link_${state}`));
    const cells = [lane.name, link, t.moment(lane.since), String(lane.restarts ?? 0), lane.last_error || "–"];
    return element("tr", {}, ...cells.map((cell, i) => element("td", { "data-column": this.#columns[i] }, cell)));
  }
}
