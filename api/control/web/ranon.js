// Sessions that ran on while the gateway was down: their customers may have lost time, which is given back by one touch.
import { element } from "/screens/element.js";
import { face } from "/screens/clock.js";
import { Trouble } from "./act.js";
import { makeUpButtons } from "./makeup.js";
import { pageHead } from "./pagehead.js";

export class RanOn {
  #desk;
  #cards = new Map(); // by session: {card, drawn}
  #list = element("ul.cards");
  #empty = element("p.empty");

  constructor(desk, root) {
    this.#desk = desk;
    const { t } = desk;
    this.#empty.textContent = t("ran_on.empty");
    root.append(pageHead(t("ran_on.title"), t("ran_on.explained")), this.#list, this.#empty);
    desk.range.addEventListener("lanes", () => this.#draw());
  }

  show() {
    this.#draw();
  }

  hide() {}

  #draw() {
    const lanes = [...this.#desk.range.lanes.values()].filter((lane) => lane.session?.ran_on_ms > 0);
    const cards = new Map(lanes.map((lane) => {
      const drawn = JSON.stringify([lane.lane_id, lane.session.session_id, lane.session.ran_on_ms, lane.session.customer_name]);
      const known = this.#cards.get(lane.session.session_id);
      return [lane.session.session_id, known?.drawn === drawn ? known : { card: this.#card(lane), drawn }];
    }));
    const same = cards.size === this.#cards.size && [...cards].every(([id, { card }]) => this.#cards.get(id)?.card === card);
    this.#cards = cards;
    if (!same) {
      this.#list.replaceChildren(...[...cards.values()].map(({ card }) => card));
    }
    this.#empty.hidden = cards.size > 0;
  }

  #card(lane) {
    const { t } = this.#desk;
    const trouble = new Trouble();
    return element("li.card", {},
      element("h3", {}, `${lane.name} · ${lane.session.customer_name}`),
      element("p", {}, t("ran_on.for", { time: face(lane.session.ran_on_ms) })),
      element("div.row", {}, ...makeUpButtons(this.#desk, lane, trouble)),
      trouble.element);
  }
}
