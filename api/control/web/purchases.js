// Purchases whose outcome nobody knows: staff ask at the till, and add the time or not.
import { element } from "/screens/element.js";
import { Trouble, action } from "./act.js";
import { Live } from "./live.js";
import { pageHead } from "./pagehead.js";

export class Purchases {
  #desk;
  #live;
  #list = element("ul.cards");
  #empty = element("p.empty", { hidden: true });
  #trouble = new Trouble();
  #drawn = "";

  constructor(desk, root) {
    this.#desk = desk;
    const { t } = desk;
    this.#empty.textContent = t("purchases.empty");
    root.append(pageHead(t("purchases.title"), t("purchases.explained")), this.#trouble.element, this.#list, this.#empty);
    this.#live = new Live(() => this.#load());
    desk.range.addEventListener("unresolved", () => this.#live.nudge());
  }

  show() {
    this.#live.start();
  }

  hide() {
    this.#live.stop();
  }

  async #load() {
    try {
      const open = await this.#desk.ask("GET", "/purchases");
      this.#trouble.element.textContent = "";
      const drawn = JSON.stringify(open);
      if (drawn !== this.#drawn) {
        this.#drawn = drawn;
        this.#list.replaceChildren(...open.map((purchase) => this.#card(purchase)));
        this.#empty.hidden = open.length > 0;
      }
    } catch (refusal) {
      this.#trouble.element.textContent = this.#desk.sentence(refusal);
    }
  }

  #card(purchase) {
    const { t, range } = this.#desk;
    const trouble = new Trouble();
    const lane = range.lanes.get(purchase.lane_id);
    const mine = lane?.session?.session_id === purchase.session_id;
    const settle = async (credit) => {
      await this.#desk.ask("POST", `/purchases/${purchase.purchase_id}/settle`, { credit });
      this.#live.nudge();
    };
    const name = (words) => t("quick.on_lane", { words, lane: lane?.name ?? "" });
    const one = (words, kind, credit) => action(this.#desk, { words, kind, label: name(words) }, trouble, () => settle(credit));
    const items = purchase.items.map(({ id, qty }) => element("li", {}, id === "time" ? t("minutes", { n: qty }) : t("purchases.item", { id, n: qty })));
    return element("li.card", {},
      element("h3", {}, [lane?.name, mine ? lane.session.customer_name : t("purchases.session_over")].filter(Boolean).join(" · ")),
      element("p.note", {}, t("purchases.asked", { time: t.moment(purchase.asked_at) })),
      element("ul.items", {}, ...items),
      element("p", {}, t("purchases.reason", { reason: purchase.reason })),
      purchase.trace_id ? element("p.note", {}, t("purchases.trace", { trace: purchase.trace_id })) : null,
      element("div.row", {},
        mine && purchase.minutes > 0 ? one(t("purchases.credit", { n: purchase.minutes }), "primary", true) : null,
        mine && purchase.minutes === 0 ? one(t("purchases.accept"), "primary", true) : null,
        one(t("purchases.drop"), "", false)),
      trouble.element);
  }
}
