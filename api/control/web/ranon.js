// Sessions that ran on while the gateway was down: staff give their customers the lost time back, or leave it.
import { formatTime } from "/screens/clock.js";
import { element } from "/screens/element.js";
import { ErrorText, action } from "./actions.js";
import { pageHead } from "./pages.js";

export class RanOn {
  #client;
  #cards = new Map(); // by session: {card, drawn}
  #list = element("ul.cards");
  #empty = element("p.empty");

  constructor(client, root) {
    this.#client = client;
    const { t } = client;
    this.#empty.textContent = t("ran_on.empty");
    root.append(pageHead(t("ran_on.title"), t("ran_on.explained")), this.#list, this.#empty);
    client.range.addEventListener("lanes", () => this.#draw());
  }

  show() {
    this.#draw();
  }

  hide() {}

  #draw() {
    const lanes = [...this.#client.range.lanes.values()].filter((lane) => lane.session?.ran_on_ms > 0);
    const cards = new Map(lanes.map((lane) => {
      const drawn = JSON.stringify([lane.lane_id, lane.session.session_id, lane.session.ran_on_ms, lane.session.customer_name]);
      const shown = this.#cards.get(lane.session.session_id);
      return [lane.session.session_id, shown?.drawn === drawn ? shown : { card: this.#card(lane), drawn }];
    }));
    const same = cards.size === this.#cards.size && [...cards].every(([id, { card }]) => this.#cards.get(id)?.card === card);
    this.#cards = cards;
    if (!same) {
      this.#list.replaceChildren(...[...cards.values()].map(({ card }) => card));
    }
    this.#empty.hidden = cards.size > 0;
  }

  #card(lane) {
    const { t } = this.#client;
    const error = new ErrorText();
    return element("li.card", {},
      element("h3", {}, `${lane.name} · ${lane.session.customer_name}`),
      element("p", {}, t("ran_on.for", { time: formatTime(lane.session.ran_on_ms) })),
      element("div.row", {}, ...makeUpButtons(this.#client, lane, error)),
      error.element);
  }
}

// makeUpButtons give the lost time back, or leave it.
export function makeUpButtons(client, lane, error) {
  const { t } = client;
  const minutes = Math.ceil(lane.session.ran_on_ms / 60_000);
  const name = (words) => t("quick.on_lane", { words, lane: lane.name });
  const choice = (words, kind, give) =>
    action(client, { words, kind, label: name(words) }, error, () => client.session(lane, "make-up", { give }));
  return [choice(t("ran_on.give", { n: minutes }), "primary", true), choice(t("ran_on.leave"), "", false)];
}
