// What can be done to a lane itself, with a session or without: help, hold, and whether it is for sale.
import { element, replaceIn } from "/screens/element.js";
import { Trouble, action, perform } from "./act.js";
import { endTexts } from "./ceasefire.js";
import { pressed } from "./pressed.js";

const SALES = ["configured", "open", "closed"];

export class LaneActions {
  #desk;
  #lane;
  #trouble = new Trouble();
  #calls = element("div.section.row", { hidden: true });
  #hold = element("div.section");
  #sale;
  #called = "";
  #held = "";

  constructor(desk) {
    this.#desk = desk;
    this.element = element("div.sections", {}, this.#calls, this.#hold, this.#saleSection(), this.#trouble.element);
  }

  show(lane) {
    if (this.#lane?.lane_id !== lane.lane_id) {
      this.#trouble.say("");
    }
    this.#lane = lane;
    this.#drawHold(lane);
    this.#drawCalls(lane);
    for (const radio of this.#sale.querySelectorAll("input")) {
      radio.checked = radio.value === (lane.sale || "configured");
    }
  }

  // What somebody at the lane waits for, first.
  #drawCalls(lane) {
    const { t } = this.#desk;
    const key = `${lane.lane_id} ${lane.help?.at} ${lane.help?.coming} ${lane.stray_hit}`;
    if (key === this.#called) {
      return;
    }
    this.#called = key;
    const act = (words, sign, kind, what, body) => action(this.#desk, { words, sign, kind }, this.#trouble, () => this.#desk.lane(this.#lane, what, body));
    const calls = [];
    if (lane.help && !lane.help.coming) {
      calls.push(act(t("help.coming"), "bell", "primary", "help", { done: false }));
    }
    if (lane.help) {
      calls.push(act(t("help.done"), "check", "", "help", { done: true }));
    }
    if (lane.stray_hit) {
      calls.push(act(t("hit.noted"), "hit", "", "stray-hit"));
    }
    this.#calls.hidden = calls.length === 0;
    replaceIn(this.#calls, calls, this.#hold.querySelector("button"));
  }

  #drawHold(lane) {
    const { t, range } = this.#desk;
    const hold = range.holdOver("lane", lane.lane_id);
    const key = `${lane.lane_id} ${hold?.since} ${lane.held}`;
    if (key === this.#held) {
      return;
    }
    this.#held = key;
    const parts = [element("h3", {}, t("hold.title"))];
    if (hold) {
      parts.push(element("p.note", {}, t("hold.since", { time: t.seconds(hold.since), who: hold.who })),
        pressed(this.#desk, endTexts(t, "hold", lane.name), "danger", this.#trouble, () => this.#desk.endHold(hold)));
    } else {
      parts.push(lane.held ? element("p.note", {}, t("hold.by_other")) : null,
        action(this.#desk, { words: t("hold.begin"), sign: "lock", kind: "danger" }, this.#trouble, () => this.#desk.ceasefire("lane", lane.lane_id)));
    }
    replaceIn(this.#hold, parts.filter(Boolean));
  }

  #saleSection() {
    const { t } = this.#desk;
    const choices = SALES.map((sale) => {
      const radio = element("input", { type: "radio", name: "sale", value: sale });
      radio.addEventListener("change", async () => {
        if (!(await perform(this.#desk, this.#sale, this.#trouble, () => this.#desk.lane(this.#lane, "sale", { sale })))) {
          this.show(this.#lane); // as it is, not as it was wished
        }
      });
      return element("label.choice", {}, radio, element("span", {}, t(`sale.${sale}`)));
    });
    this.#sale = element("fieldset.triple", {}, element("legend.legend", {}, t("sale.title")), ...choices);
    return element("div.section", {}, this.#sale);
  }
}
