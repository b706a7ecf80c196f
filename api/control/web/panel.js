// One lane with all that can be done to it, beside the board. The ceasefire stays within reach: nothing lies over it.
import { eachTick, face, now } from "/screens/clock.js";
import { element, setText } from "/screens/element.js";
import { Trouble, button } from "./act.js";
import { badges } from "./badges.js";
import { LaneActions } from "./laneactions.js";
import { left } from "./model.js";
import { SessionActions } from "./sessionactions.js";
import { SessionForm } from "./sessionform.js";
import { stateOf, urgency } from "./urgency.js";

export class Panel {
  #desk;
  #root;
  #shows;
  #closed;
  #laneID = null;
  #sessionID;
  #title = element("h2", { tabIndex: -1, id: "panel-title" });
  #bay = element("p.bay-name");
  #time = element("p.big-time");
  #urgent = element("p.urgent");
  #badges = element("p.badges");
  #facts = element("dl.facts");
  #trouble = new Trouble();
  #form;
  #session;
  #lane;

  // shows is called with the lane that is shown, and with null when none is; closed with the lane that was shown, when the
  // focus has to go back to it.
  constructor(desk, root, { shows, closed }) {
    this.#desk = desk;
    this.#root = root;
    this.#shows = shows;
    this.#closed = closed;
    const { t } = desk;
    this.#form = new SessionForm(desk, this.#trouble, () => this.close());
    this.#session = new SessionActions(desk, this.#trouble);
    this.#lane = new LaneActions(desk);
    const close = button({ sign: "close", kind: "quiet", label: t("panel.close") }, () => this.close());
    root.setAttribute("aria-labelledby", "panel-title");
    root.append(
      element("header.panel-head", {}, element("div", {}, this.#title, this.#bay), close),
      this.#time, this.#urgent, this.#badges, this.#trouble.element, this.#form.element, this.#session.element, this.#lane.element, this.#facts,
    );
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (root.contains(event.target) || event.target === document.body)) {
        this.close();
      }
    });
    desk.range.addEventListener("lanes", ({ detail }) => {
      if (this.#laneID !== null && detail.lanes.some((lane) => lane.lane_id === this.#laneID || lane.phase === "free")) {
        this.#show();
      }
    });
    desk.range.addEventListener("holds", () => this.#laneID !== null && this.#show());
    eachTick((at) => this.#laneID !== null && this.#tick(at));
  }

  open(laneID) {
    if (this.#laneID !== laneID) {
      this.#laneID = laneID;
      this.#sessionID = false; // another lane: everything is begun anew
      this.#trouble.say("");
    }
    this.#root.hidden = false;
    this.#shows(laneID);
    this.#root.scrollTop = 0;
    this.#show();
    stateOf(this.#desk.range.lanes.get(laneID)) === "free" ? this.#form.focus() : this.#title.focus();
  }

  close() {
    if (this.#laneID === null) {
      return;
    }
    const was = this.#laneID;
    const focused = this.#root.contains(document.activeElement) || document.activeElement === document.body;
    this.#laneID = null;
    this.#root.hidden = true;
    this.#shows(null);
    if (focused) {
      this.#closed(was);
    }
  }

  #show() {
    const { range, t } = this.#desk;
    const lane = range.lanes.get(this.#laneID);
    if (!lane) {
      this.close();
      return;
    }
    const focused = this.#root.contains(document.activeElement);
    const session = lane.session;
    if (session?.session_id !== this.#sessionID) {
      this.#sessionID = session?.session_id;
      this.#form.begin(lane);
      this.#session.begin(lane);
    }
    setText(this.#title, session ? `${lane.name} · ${session.customer_name}` : lane.name);
    setText(this.#bay, `${range.bayOf(lane)?.name ?? ""} · ${t(`state.${stateOf(lane)}`)}`);
    this.#badges.replaceChildren(...badges(this.#desk, lane));
    this.#form.element.hidden = session !== null;
    this.#session.element.hidden = session === null;
    this.#form.show(lane);
    this.#session.show(lane);
    this.#lane.show(lane);
    this.#facts.replaceChildren(...this.#factsOf(lane).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
    this.#tick(now());
    if (focused && document.activeElement.offsetParent === null) {
      this.#title.focus(); // what was touched is gone
    }
  }

  #factsOf(lane) {
    const { range, t } = this.#desk;
    const { session } = lane;
    const facts = [];
    if (session) {
      facts.push([t("fact.group"), range.groupName(session.group_id)], [t("fact.sold"), t("minutes", { n: session.duration })],
        [t("fact.created"), t.time(session.created_at)]);
      if (session.began_at) {
        facts.push([t("fact.began"), t.time(session.began_at)]);
      }
      facts.push([t("fact.purchasing"), t(session.purchasing ? "yes" : "no")]);
    }
    facts.push([t("fact.link"), t(`link.${lane.link}`, { time: t.moment(lane.link_since) })]);
    return facts;
  }

  #tick(at) {
    const { range, t } = this.#desk;
    const lane = range.lanes.get(this.#laneID);
    this.#time.hidden = !lane?.session;
    const leftMs = lane?.session ? left(lane, at) : 0;
    const urgent = lane?.session ? urgency(lane.phase, leftMs) : "";
    this.#root.dataset.urgent = urgent;
    setText(this.#time, leftMs > 0 ? face(leftMs) : t("card.over", { time: face(leftMs) }));
    setText(this.#urgent, urgent ? t(`urgent.${urgent}`) : "");
  }
}
