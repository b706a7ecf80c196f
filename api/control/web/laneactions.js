// The actions on a lane itself, with or without a session: help, hold, and whether it is for sale.
import { element, replaceKeepingFocus } from "/screens/element.js";
import { ErrorText, action, perform } from "./actions.js";
import { endTexts } from "./ceasefire.js";
import { holdButton } from "./holdbutton.js";

const SALES = ["configured", "open", "closed"];

export class LaneActions {
  #client;
  #lane;
  #error = new ErrorText();
  #calls = element("div.section.row", { hidden: true });
  #hold = element("div.section");
  #sale;
  #drawnCalls = "";
  #drawnHold = "";

  constructor(client) {
    this.#client = client;
    this.element = element("div.sections", {}, this.#calls, this.#hold, this.#saleSection(), this.#error.element);
  }

  show(lane) {
    if (this.#lane?.lane_id !== lane.lane_id) {
      this.#error.show("");
    }
    this.#lane = lane;
    this.#drawHold(lane);
    this.#drawCalls(lane);
    for (const radio of this.#sale.querySelectorAll("input")) {
      radio.checked = radio.value === (lane.sale || "configured");
    }
  }

  // Calls from the lane come first.
  #drawCalls(lane) {
    const { t } = this.#client;
    const key = `${lane.lane_id} ${lane.help?.at} ${lane.help?.coming} ${lane.stray_hit}`;
    if (key === this.#drawnCalls) {
      return;
    }
    this.#drawnCalls = key;
    const call = (words, sign, kind, command, body) =>
      action(this.#client, { words, sign, kind }, this.#error, () => this.#client.lane(this.#lane, command, body));
    const calls = [];
    if (lane.help && !lane.help.coming) {
      calls.push(call(t("help.coming"), "bell", "primary", "help", { done: false }));
    }
    if (lane.help) {
      calls.push(call(t("help.done"), "check", "", "help", { done: true }));
    }
    if (lane.stray_hit) {
      calls.push(call(t("hit.noted"), "hit", "", "stray-hit"));
    }
    this.#calls.hidden = calls.length === 0;
    replaceKeepingFocus(this.#calls, calls, this.#hold.querySelector("button"));
  }

  #drawHold(lane) {
    const { t, range } = this.#client;
    const hold = range.findHold("lane", lane.lane_id);
    const key = `${lane.lane_id} ${hold?.since} ${lane.held}`;
    if (key === this.#drawnHold) {
      return;
    }
    this.#drawnHold = key;
    const parts = [element("h3", {}, t("hold.title"))];
    if (hold) {
      parts.push(element("p.note", {}, t("hold.since", { time: t.seconds(hold.since), who: hold.who })),
        holdButton(this.#client, endTexts(t, "hold", lane.name), "danger", this.#error, () => this.#client.endHold(hold)));
    } else {
      parts.push(lane.held ? element("p.note", {}, t("hold.by_other")) : null,
        action(this.#client, { words: t("hold.begin"), sign: "lock", kind: "danger" }, this.#error, () => this.#client.ceasefire("lane", lane.lane_id)));
    }
    replaceKeepingFocus(this.#hold, parts.filter(Boolean));
  }

  #saleSection() {
    const { t } = this.#client;
    const choices = SALES.map((sale) => {
      const radio = element("input", { type: "radio", name: "sale", value: sale });
      radio.addEventListener("change", async () => {
        if (!(await perform(this.#client, this.#sale, this.#error, () => this.#client.lane(this.#lane, "sale", { sale })))) {
          this.show(this.#lane); // resets the choice
        }
      });
      return element("label.choice", {}, radio, element("span", {}, t(`sale.${sale}`)));
    });
    this.#sale = element("fieldset.triple", {}, element("legend.legend", {}, t("sale.title")), ...choices);
    return element("div.section", {}, this.#sale);
  }
}
