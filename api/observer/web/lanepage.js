// The page of one lane: its actors, how it stands, and its latest commands.
import { now as clock, onTick } from "/screens/clock.js";
import { element } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";
import { ActorTable } from "./actortable.js";
import { debugButton } from "./debuglog.js";
import { erase, facts, kindName, rangeAddress, redraw, section, stateName, table } from "./draw.js";
import { Frames } from "./frames.js";
import { logLink } from "./loglink.js";
import { Rates } from "./rates.js";
import { traceLink } from "./requests.js";
import { snapshotSection } from "./snapshot.js";
import { Timeline } from "./timeline.js";
import { milliseconds, moment, span } from "./times.js";
import { said } from "./why.js";

const NOTHING = "–";
const PATH = /^\/observer\/lanes\/[^/]+/; // what stands behind it is another view of the lane

export class LanePage {
  #t;
  #nav = element("nav");
  #table;
  #actors;
  #actions;
  #whileParked; // actions
  #otherwise;
  #log;
  #rest = element("div.part");
  #frames;
  #timeline;
  #snapshot;
  #rates = new Rates();
  #query = {}; // that names the lane
  #at = 0; // the gateway's time of the latest answer, in ms
  #received = 0; // when it came, by now() of clock.js

  // token() is the operator's.
  constructor(t, root, token) {
    this.#t = t;
    this.#table = new ActorTable(t, t("actors"));
    const action = (name) => actionButton(t, name, () => `${PATH.exec(location.pathname)[0]}/${name}${location.search}`, token);
    this.#whileParked = action("unpark");
    this.#otherwise = action("restart");
    this.#log = logLink(t);
    this.#actions = [action("reconnect"), this.#whileParked, this.#otherwise, debugButton(t, () => this.#query, token)];
    this.#actors = element("section", { hidden: true }, element("h2", {}, t("actors")), this.#table.element, ...this.#actions, this.#log);
    this.#nav.setAttribute("aria-label", t("ranges"));
    this.#frames = new Frames(t, () => this.#query, token);
    this.#timeline = new Timeline(t, () => this.#query, token);
    this.#snapshot = snapshotSection(t, () => this.#query, token);
    root.append(this.#nav, this.#actors, this.#rest, this.#frames.element, this.#timeline.element, this.#snapshot.element);
    onTick(() => this.#table.tick(this.#now()));
  }

  // path is the address of what show shows.
  get path() {
    return PATH.exec(location.pathname)[0] + location.search;
  }

  titleOf({ name, range }) {
    return `${name}, ${range}`;
  }

  showRanges() {}

  show(health) {
    const t = this.#t;
    [this.#at, this.#received] = [Date.parse(health.at), clock()];
    const { at: _, actors, ...rest } = health;
    redraw(this.#nav, [health.range_id, health.range], () => [
      element("a", { href: "/observer" }, t("all_ranges")), " · ", element("a", { href: rangeAddress(health.range_id) }, health.range),
    ]);
    this.#query = { range: health.range_id, lane: health.lane_id };
    this.#log.show(this.#query);
    this.#rates.receive(health);
    this.#table.show(actors, { rateOf: (actor) => this.#rates.of(actor), ofOneRange: true, now: this.#now() });
    this.#actors.hidden = false;
    this.#otherwise.hidden = actors.some(({ state }) => state === "parked");
    this.#whileParked.hidden = !this.#otherwise.hidden;
    redraw(this.#rest, rest, () => [this.#facts(health), this.#commands(health.commands)]);
    this.#frames.element.hidden = false;
    this.#timeline.show(health);
    this.#snapshot.element.hidden = false;
  }

  clear() {
    erase(this.#nav);
    this.#actors.hidden = true;
    this.#actions.forEach((button) => button.erase());
    this.#table.show([], { now: 0 });
    erase(this.#rest);
    this.#frames.clear();
    this.#timeline.clear();
    this.#snapshot.clear();
  }

  // now returns the gateway's time, in ms.
  #now() {
    return this.#at + clock() - this.#received;
  }

  #facts({ lane_id, session, hold, locked, hardware, link, controller, not_usable_because: unusable, turn, last_turn: last, restarts, unsaved }) {
    const t = this.#t;
    return facts(
      [t("lane"), element("code", {}, lane_id)],
      [t("lane.session"), session
        ? element("span", {}, t("lane.session_of", { phase: t(`phase.${session.phase}`), minutes: t.number(session.minutes_remaining) }), " ", element("code", {}, session.session_id))
        : t("none")],
      [t("lane.hold"), hold ? t(locked ? "lane.held_confirmed" : "lane.held") : t("none"), hold ? (locked ? "warn" : "danger") : ""],
      [t("lane.wanted"), this.#wanted(hardware), { in_force: "good", unlinked: "danger", undecided: "danger", may_be_lost: "danger" }[hardware.stage] ?? "warn"],
      [t("lane.applied"), this.#applied(hardware, link)],
      [t("links.link"), t("lane.link_of", { state: stateName(t, link.state), time: moment(t, link.since), n: link.restarts }), link.state === "up" ? "good" : "danger"],
      [t("lane.controller"), this.#controller(controller)],
      [t("lane.link_error"), link.last_error ? said(t, link.last_error) : t("lane.no_link_error")],
      [t("lane.usable"), unusable ? t("lane.not_usable", { reason: said(t, unusable) }) : t("yes"), unusable ? "danger" : "good"],
      [t("lane.waits"), turn ? t(turn.counts ? "lane.waits_for" : "lane.waits_uncounted", { time: span(t, turn.seconds * 1000) }) : t("no")],
      [t("lane.last_turn"), last ? t("lane.last_turn_of", { time: span(t, last.seconds * 1000), until: moment(t, last.at) }) : t("none")],
      [t("restarted.restarts"), restarts.count > 0
        ? t("lane.restarts_of", { n: t.number(restarts.count), time: moment(t, restarts.last_at), kind: kindName(t, restarts.last_kind), on: restarts.last_on })
        : t("none"), restarts.count > 0 ? "warn" : "good"],
      [t("lane.state"), unsaved ? t("lane.unsaved", { n: unsaved.changes, time: moment(t, unsaved.since) }) : t("lane.saved"), unsaved ? "warn" : "good"],
    );
  }

  #wanted({ wanted, stage }) {
    return wanted === null ? this.#t("lane.nothing_wanted") : this.#t(`stage.${stage}`, { state: this.#state(wanted) });
  }

  #applied({ applied, in_hello: inHello }, link) {
    const t = this.#t;
    if (applied === null) {
      return t("lane.nothing_applied");
    }
    const known = link.state === "up" ? "lane.confirmed" : "lane.confirmed_last";
    return t(inHello ? "lane.in_hello" : known, { state: this.#state(applied) });
  }

  #state({ since, hold, session_id: session, phase, minutes_remaining: minutes }) {
    const t = this.#t;
    return t("lane.hardware_of", {
      hold: t(hold ? "lane.hardware_held" : "lane.hardware_released"),
      session: session === null ? t("lane.hardware_free") : t("lane.hardware_session", { phase: t(`phase.${phase}`), minutes: t.number(minutes) }),
      time: moment(t, since),
    });
  }

  // controller says what is connected, or was last.
  #controller(controller) {
    const t = this.#t;
    if (controller === null) {
      return t("lane.no_controller");
    }
    const { connected, since, firmware, capabilities, address } = controller;
    return [
      t(connected ? "lane.controller_since" : "lane.controller_last", { time: moment(t, since) }),
      firmware && t("lane.firmware", { firmware }), address ? t("lane.address", { address }) : t("lane.in_process"),
      t("lane.capabilities", { names: capabilities.join(", ") || t("none") }),
    ].filter(Boolean).join("; ");
  }

  #commands(commands) {
    const t = this.#t;
    return section(t("commands"), table(t("commands"), [
      { title: t("commands.at"), cell: ({ at }) => moment(t, at) },
      { title: t("commands.by"), cell: ({ by, who }) => (who ? `${this.#by(by)}: ${who}` : this.#by(by)) },
      { title: t("commands.command"), cell: ({ command }) => command },
      { title: t("commands.result"), cell: ({ result }) => element(`span.state.${result === "ok" ? "ok" : "refused"}`, {}, result) },
      { title: t("commands.took"), cell: ({ took_ms }) => milliseconds(t, took_ms), number: true },
      { title: t("commands.waited"), cell: ({ waited_ms }) => milliseconds(t, waited_ms), number: true },
      { title: t("commands.session"), cell: ({ session_id }) => (session_id ? element("code", {}, session_id) : NOTHING) },
      { title: t("commands.trace"), cell: ({ trace_id }) => traceLink(this.#query.range, trace_id) },
    ], commands, t("commands.none")));
  }

  #by(who) {
    return this.#t.has(`by.${who}`) ? this.#t(`by.${who}`) : who;
  }
}
