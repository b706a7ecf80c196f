// The actions on a lane itself, with or without a session: help, hold, and whether it is for sale.
import { element, replaceKeepingFocus } from "/screens/element.js";
import { LaneErrorText, action, perform } from "./actions.js";
import { beginButton } from "./beginbutton.js";
import { endTexts } from "./ceasefire.js";
import { holdButton } from "./holdbutton.js";

const SALES = ["configured", "open", "closed"];

export class LaneActions {
  #client;
  #lane;
  #error;
  calls = element("div.section.row", { hidden: true }); // what the lane wants of staff; its place is above everything else
  #hold = element("div.section");
  #lock; // for the lane that is shown
  #locked = element("div.locked"); // who locked it, and the control that unlocks it
  #sale;
  #drawnCalls = "";
  #drawnHold = "";

  // shown returns the lane that is shown, or undefined.
  constructor(client, shown) {
    this.#client = client;
    this.#error = new LaneErrorText(client, shown);
    this.element = element("div.sections", {}, this.#hold, this.#saleSection(), this.#error.element);
  }

  show(lane) {
    if (this.#lane?.lane_id !== lane.lane_id) {
      this.#error.show("");
      this.#drawLock(lane);
    }
    this.#lane = lane;
    this.#drawHold(lane);
    this.#drawCalls(lane);
    for (const radio of this.#sale.querySelectorAll("input")) {
      radio.checked = radio.value === (lane.sale || "configured");
    }
  }

  #drawCalls(lane) {
    const { t } = this.#client;
    const key = `${lane.lane_id} ${lane.help?.at} ${lane.help?.coming} ${lane.stray_hit} ${lane.uncleared?.session_id} ${lane.reserved?.until}`;
    if (key === this.#drawnCalls) {
      return;
    }
    this.#drawnCalls = key;
    const answer = (words, sign, kind, act) => action(this.#client, { words, sign, kind }, this.#error, act);
    const calls = [];
    if (lane.uncleared) {
      calls.push(answer(t("lane.cleared"), "check", "primary", this.#client.sayClear(lane)));
    }
    if (lane.reserved) {
      const { reservation_id: id, until } = lane.reserved;
      calls.push(element("span.note", {}, t("lane.reserved", { time: t.seconds(until) })), answer(t("lane.end_reservation"), "close", "", () => this.#client.lane(lane, "end-reservation", { reservation_id: id })));
    }
    if (lane.help && !lane.help.coming) {
      calls.push(answer(t("help.coming"), "bell", "primary", this.#client.answerHelp(lane, false)));
    }
    if (lane.help) {
      calls.push(answer(t("help.done"), "check", "", this.#client.answerHelp(lane, true)));
    }
    if (lane.stray_hit) {
      calls.push(answer(t("hit.noted"), "hit", "", this.#client.noteHit(lane)));
    }
    this.calls.hidden = calls.length === 0;
    replaceKeepingFocus(this.calls, calls, this.#hold.querySelector("button"));
  }

  #drawLock(lane) {
    const { t } = this.#client;
    this.#lock = beginButton(this.#client, { words: t("hold.begin"), label: t("hold.begin"), kind: "danger", scope: "lane", id: lane.lane_id }, this.#error);
    this.#hold.replaceChildren(element("h3", {}, t("hold.title")), this.#lock, this.#locked);
  }

  #drawHold(lane) {
    const { t, range } = this.#client;
    const hold = range.findHold("lane", lane.lane_id);
    this.#lock.show(hold !== undefined);
    const key = `${lane.lane_id} ${hold?.press} ${hold?.since} ${lane.held}`;
    if (key === this.#drawnHold) {
      return;
    }
    this.#drawnHold = key;
    const parts = [];
    if (hold) {
      const since = element("span.note", {}, t("hold.since", { time: t.seconds(hold.since), who: hold.who }));
      parts.push(holdButton(this.#client, since, endTexts(t, "hold", lane.name), "danger", this.#error, () => this.#client.endHold(hold)));
    } else if (lane.held) {
      parts.push(element("p.note", {}, t("hold.by_other")));
    }
    replaceKeepingFocus(this.#locked, parts, this.#lock);
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
