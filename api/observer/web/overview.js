// The page of all ranges, or of one: facts, the actors, and what is not in order.
import { element } from "/screens/element.js";
import { Actors } from "./actors.js";
import { Advisories } from "./advisories.js";
import { debugLog } from "./debuglog.js";
import { erase, facts, kindName, laneLink, rangeAddress, redraw, section, stateName, table } from "./draw.js";
import { flightLink } from "./flight.js";
import { logSection } from "./loglink.js";
import { Maintenance } from "./maintenance.js";
import { Nodes } from "./nodes.js";
import { profiles } from "./profiles.js";
import { storeSection } from "./rangepage.js";
import { requestSearch } from "./requests.js";
import { replayForm } from "./replay.js";
import { milliseconds, moment, span } from "./times.js";
import { webhookTest } from "./webhooktest.js";
import { said } from "./why.js";

// The kinds of actors with their depth in the tree.
const TREE = [["range", 0], ["events", 1], ["lane", 1]];
const MOST = 100; // entries of a list of the gateway
const NOTHING = "–";

const sum = (counts) => Object.values(counts).reduce((total, n) => total + n, 0);
const kindIf = (n, kind) => (n > 0 ? kind : "good");

export class Overview {
  #t;
  #actors;
  #advisories;
  #top = element("div.part");
  #rest = element("div.part");
  #requests;
  #ofOneRange; // sections
  #log;
  #flight;
  #profiles;
  #nodes;
  #maintenance;

  // handlers are those of Actors.
  constructor(t, root, handlers) {
    this.#t = t;
    const rangeChanged = () => {
      this.#eraseOfOneRange();
      handlers.rangeChanged();
    };
    this.#actors = new Actors(t, { ...handlers, rangeChanged });
    this.#advisories = new Advisories(t, handlers.token);
    const create = (section) => section(t, () => this.#actors.range, handlers.token);
    this.#requests = create(requestSearch);
    this.#ofOneRange = [this.#requests, ...[storeSection, replayForm, webhookTest, debugLog].map(create)];
    this.#nodes = new Nodes(t, handlers.token, () => this.#actors.range);
    this.#maintenance = new Maintenance(t, handlers.token);
    this.#log = logSection(t);
    this.#flight = flightLink(t, handlers.token);
    this.#flight.hidden = true;
    this.#profiles = profiles(t, handlers.token);
    root.append(this.#top, this.#advisories.element, this.#actors.element, this.#rest, ...this.#ofOneRange, this.#nodes.element, this.#maintenance.element, this.#log, this.#flight, this.#profiles);
  }

  // path is the address of what show shows.
  get path() {
    const { range } = this.#actors;
    return range === "" ? "/observer" : rangeAddress(range);
  }

  titleOf() {
    return this.#t("title");
  }

  // showRanges offers a choice of these ranges.
  showRanges(ranges) {
    this.#actors.showRanges(ranges);
  }

  show(health) {
    const one = this.#actors.range !== "" && health.ranges.length === 1 ? health.ranges[0] : null;
    const { at: _, ...shown } = health;
    redraw(this.#top, [shown, this.#actors.range], () => [one ? this.#nav(one) : null, this.#facts(health.all)].filter(Boolean));
    redraw(this.#rest, [shown, this.#actors.range], () => this.#lists(health, one));
    this.#ofOneRange.forEach((section) => (section.hidden = one === null));
    if (one !== null) {
      this.#requests.opened();
    }
    this.#log.show({ range: this.#actors.range });
    this.#flight.hidden = false;
    this.#profiles.hidden = this.#actors.range !== "";
    this.#maintenance.element.hidden = this.#actors.range !== "";
    this.#actors.open();
    this.#advisories.refresh(this.#actors.range);
    this.#nodes.refresh();
    if (this.#actors.range === "") {
      this.#maintenance.refresh();
    }
  }

  clear() {
    this.#eraseOfOneRange();
    this.#ofOneRange.forEach((section) => (section.hidden = true));
    this.#log.hidden = true;
    this.#flight.hidden = true;
    this.#profiles.clear();
    this.#maintenance.clear();
    this.#actors.close();
    this.#advisories.clear();
    this.#nodes.clear();
    erase(this.#top);
    erase(this.#rest);
  }

  // eraseOfOneRange removes what somebody has asked of the range that was chosen.
  #eraseOfOneRange() {
    [...this.#ofOneRange, this.#nodes].forEach((section) => section.erase());
  }

  #nav(range) {
    const t = this.#t;
    return element("nav", { "aria-label": t("ranges") }, element("a", { href: "/observer" }, t("all_ranges")), ` · ${range.name || range.range_id}`);
  }

  #facts(all) {
    const t = this.#t;
    const n = (count) => t.number(count);
    return facts(
      [t("facts.ranges"), t(all.elsewhere > 0 ? "facts.ranges_elsewhere" : "facts.ranges_of", { running: n(all.running), all: n(all.ranges), elsewhere: n(all.elsewhere) }),
        kindIf(all.ranges - all.running - all.elsewhere, "danger")],
      [t("facts.links"), t("facts.links_of", { up: n(all.links.up), down: n(all.links.down), faulty: n(all.links.faulty) }), kindIf(all.links.down + all.links.faulty, "warn")],
      [t("facts.store"), all.stores_away > 0 ? t("facts.store_down", { n: all.stores_away }) : t("facts.store_up"), kindIf(all.stores_away, "danger")],
      [t("facts.unsaved"), t("facts.unsaved_of", { n: n(all.changes_unsaved), lanes: n(all.lanes_unsaved) }), kindIf(all.stores_away, "warn")],
      [t("facts.restarted"), n(all.lanes_restarted), kindIf(all.lanes_restarted, "warn")],
      [t("facts.events"), n(all.events_waiting), kindIf(Math.max(0, all.events_waiting - MOST), "warn")],
    );
  }

  #lists(health, one) {
    const t = this.#t;
    const { all } = health;
    const number = (title, cell) => ({ title, cell: (row) => t.number(cell(row)), number: true });
    const time = (title, cell) => ({ title, cell: (row) => moment(t, cell(row)) });
    const took = (title, cell) => ({ title, cell: (row) => milliseconds(t, cell(row)), number: true });
    const lane = { title: t("lane"), cell: laneLink };
    const ranged = one ? [] : [{ title: t("range"), cell: (row) => health.ranges.find(({ range_id }) => range_id === row.range_id)?.name ?? row.range_id }];
    const list = (title, columns, rows, none) => section(title, table(title, columns, rows, none));
    return [
      list(t("tree"), [
        { title: t("tree.actors"), cell: ([kind, depth]) => element(`span.depth-${depth}`, {}, kindName(t, kind)) },
        number(t("tree.live"), ([kind]) => all.actors[kind]?.live ?? 0),
        number(t("tree.restarts"), ([kind]) => all.actors[kind]?.restarts ?? 0),
        number(t("tree.waiting"), ([kind]) => all.actors[kind]?.messages_waiting ?? 0),
      ], TREE, ""),
      list(t("links"), [
        lane, ...ranged,
        { title: t("links.link"), cell: ({ link }) => element(`span.state.${link}`, {}, stateName(t, link)) },
        time(t("links.since"), ({ since }) => since), number(t("links.restarts"), ({ restarts }) => restarts),
        { title: t("links.error"), cell: ({ last_error }) => (last_error ? said(t, last_error) : NOTHING) },
      ], health.links, t("links.none")),
      list(t("unsaved"), [
        lane, ...ranged, time(t("unsaved.since"), ({ since }) => since), number(t("unsaved.changes"), ({ changes }) => changes),
      ], health.unsaved, t("unsaved.none")),
      list(t("restarted"), [
        lane, ...ranged, number(t("restarted.restarts"), ({ restarts }) => restarts), time(t("restarted.last"), ({ last_at }) => last_at),
        { title: t("restarted.actor"), cell: ({ last_kind }) => kindName(t, last_kind) }, { title: t("restarted.on"), cell: ({ last_on }) => last_on },
      ], health.restarted, t("restarted.none")),
      list(t("slowest"), [
        lane, ...ranged, { title: t("commands.command"), cell: ({ command }) => command }, { title: t("commands.result"), cell: ({ result }) => result },
        took(t("commands.took"), ({ took_ms }) => took_ms), took(t("slowest.waited"), ({ waited_ms }) => waited_ms), time(t("commands.at"), ({ at }) => at),
      ], health.slowest, t("slowest.none")),
      one?.turns ? section(t("turns"), facts(
        [t("turns.waiting"), one.turns.lanes_waiting > 0 ? t("turns.longest", { n: t.number(one.turns.lanes_waiting), time: span(t, one.turns.longest_s * 1000) }) : t("none")],
        [t("turns.newest"), one.turns.turns > 0 ? t("turns.median", { n: one.turns.turns, time: span(t, one.turns.median_s * 1000) }) : t("none")],
      )) : null,
      one ? null : list(t("ranges"), [
        { title: t("range"), cell: ({ range_id, name }) => element("a", { href: rangeAddress(range_id) }, name || range_id) },
        { title: t("ranges.state"), cell: (range) => element(`span.state.${range.state}`, {}, this.#stateOf(range)) },
        number(t("ranges.lanes"), ({ lanes }) => lanes), number(t("ranges.links_not_up"), ({ links }) => (links.down ?? 0) + (links.faulty ?? 0)),
        number(t("ranges.restarts"), ({ restarts }) => sum(restarts)), number(t("facts.unsaved"), ({ changes_unsaved }) => changes_unsaved),
        number(t("facts.events"), ({ events_waiting }) => events_waiting),
        { title: t("ranges.median"), cell: ({ turns }) => (turns?.turns > 0 ? span(t, turns.median_s * 1000) : NOTHING), number: true },
        { title: t("ranges.waiting"), cell: ({ turns }) => (turns?.lanes_waiting > 0 ? `${t.number(turns.lanes_waiting)}, ${span(t, turns.longest_s * 1000)}` : "0"), number: true },
        took(t("ranges.late"), ({ timers_late_p99_ms }) => timers_late_p99_ms),
      ], health.ranges, t("ranges.none")),
      element("p.none", {}, t("lists_end", { n: MOST })),
    ].filter(Boolean);
  }

  #stateOf({ state, reason, node }) {
    const t = this.#t;
    if (node) {
      return t("ranges.at_node", { node });
    }
    return reason ? `${stateName(t, state)}: ${said(t, reason)}` : stateName(t, state);
  }
}
