// One lane on the board. It is built once; a change of the lane changes what differs, and nothing else is drawn anew.
import { face } from "/screens/clock.js";
import { element, replaceIn, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { Trouble } from "./act.js";
import { left } from "./model.js";
import { badges } from "./badges.js";
import { quickActions } from "./quick.js";
import { noSlips } from "./slip.js";
import { stateOf, urgency } from "./urgency.js";

const SIGNS = { free: "check", closed: "close", unusable: "alert", waiting: "person", running: "play", paused: "pause" };

export class LaneCard {
  urgent = "";
  lane;
  #desk;
  #open;
  #name = element("span");
  #state = element("span.state");
  #customer = element("p.customer");
  #time = element("span.time");
  #sold = element("span.sold");
  #fill = element("i");
  #badges = element("p.badges");
  #actions = element("div.quick");
  #trouble = new Trouble();
  #drawn = {}; // what the parts were drawn from

  // opened is called when staff want to see the lane.
  constructor(desk, lane, opened) {
    this.#desk = desk;
    this.lane = lane;
    this.#open = element("button.open", { type: "button", onclick: () => opened(lane.lane_id, this.#open) }, this.#name);
    this.element = element(
      "li.lane", { "data-lane": lane.lane_id },
      element("div.title", {}, element("h3", {}, this.#open), this.#state),
      this.#customer,
      element("div.clock", {}, this.#time, this.#sold),
      element("div.bar", { "aria-hidden": "true" }, this.#fill),
      this.#badges, this.#actions, this.#trouble.element,
    );
    setText(this.#name, lane.name);
    noSlips(this.#actions);
  }

  show(lane, at) {
    this.lane = lane;
    const { t } = this.#desk;
    const state = stateOf(lane);
    const session = lane.session;
    this.element.dataset.state = state;
    setFlag(this.element, "data-held", lane.held);
    setFlag(this.element, "data-help", lane.help !== null);
    this.#redraw("state", state, () => this.#state.replaceChildren(icon(SIGNS[state]), t(`state.${state}`)));
    setText(this.#customer, session ? session.customer_name : "");
    setText(this.#sold, session ? t("card.sold", { minutes: session.duration }) : "");
    this.#redraw("badges", JSON.stringify([lane.help, lane.stray_hit, lane.purchase, lane.link, lane.link_since, lane.held, lane.locked,
      lane.not_usable_because, session?.ran_on_ms, session?.paused_by_hold]),
    () => this.#badges.replaceChildren(...badges(this.#desk, lane)));
    this.#redraw("actions", `${state} ${session?.session_id} ${session?.paused_by_hold} ${lane.help?.coming}`, () => this.#drawActions());
    this.tick(at);
  }

  // tick counts down. It answers whether the lane has become more or less urgent.
  tick(at) {
    const session = this.lane.session;
    setFlag(this.element, "data-session", session !== null);
    const leftMs = session ? left(this.lane, at) : 0;
    if (session) {
      setText(this.#time, leftMs > 0 ? face(leftMs) : this.#desk.t("card.over", { time: face(leftMs) }));
      const share = Math.min(Math.max(leftMs / (session.duration * 60_000), 0), 1).toFixed(3);
      this.#redraw("share", share, () => (this.#fill.style.transform = `scaleX(${share})`));
    }
    const urgent = session ? urgency(this.lane.phase, leftMs) : "";
    if (urgent === this.urgent) {
      return false;
    }
    this.urgent = urgent;
    this.element.dataset.urgent = urgent;
    this.#redraw("urgent", urgent, () => this.#sayUrgent(urgent));
    return true;
  }

  focus() {
    this.#open.focus();
  }

  // The word beside the time, since colour alone says nothing to some.
  #sayUrgent(urgent) {
    this.element.querySelector(".urgent")?.remove();
    if (urgent) {
      this.#time.after(element("span.urgent", {}, icon(urgent === "soon" ? "hourglass" : "alert"), this.#desk.t(`urgent.${urgent}`)));
    }
  }

  #drawActions() {
    this.#trouble.say("");
    replaceIn(this.#actions, quickActions(this.#desk, this.lane, this.#trouble, () => this.#open.click()), this.#open);
  }

  #redraw(part, from, draw) {
    if (this.#drawn[part] !== from) {
      this.#drawn[part] = from;
      draw();
    }
  }
}
