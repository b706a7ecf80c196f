// Purchases with an unknown outcome: staff ask at the POS, and add the time or not.
import { element } from "/screens/element.js";
import { ErrorText, action } from "./actions.js";
import { pageHead } from "./pages.js";
import { Poller } from "./poller.js";

export class Purchases {
  #client;
  #poller;
  #list = element("ul.cards");
  #empty = element("p.empty", { hidden: true });
  #error = new ErrorText();
  #drawn = "";

  constructor(client, root) {
    this.#client = client;
    const { t } = client;
    this.#empty.textContent = t("purchases.empty");
    root.append(pageHead(t("purchases.title"), t("purchases.explained")), this.#error.element, this.#list, this.#empty);
    this.#poller = new Poller(() => this.#load());
    client.range.addEventListener("unresolved", () => this.#poller.refreshSoon());
  }

  show() {
    this.#poller.start();
  }

  hide() {
    this.#poller.stop();
  }

  async #load() {
    try {
      const open = await this.#client.request("GET", "/purchases");
      this.#error.element.textContent = "";
      const drawn = JSON.stringify(open);
      if (drawn !== this.#drawn) {
        this.#drawn = drawn;
        this.#list.replaceChildren(...open.map((purchase) => this.#card(purchase)));
        this.#empty.hidden = open.length > 0;
      }
    } catch (refusal) {
      this.#error.element.textContent = this.#client.sentence(refusal);
    }
  }

  #card(purchase) {
    const { t, range } = this.#client;
    const error = new ErrorText();
    const lane = range.lanes.get(purchase.lane_id);
    const active = lane?.session?.session_id === purchase.session_id;
    const settle = async (credit) => {
      await this.#client.request("POST", `/purchases/${purchase.purchase_id}/settle`, { credit });
      this.#poller.refreshSoon();
    };
    const name = (words) => t("quick.on_lane", { words, lane: lane?.name ?? "" });
    const choice = (words, kind, credit) => action(this.#client, { words, kind, label: name(words) }, error, () => settle(credit));
    const items = purchase.items.map(({ id, qty }) => element("li", {}, id === "time" ? t("minutes", { n: qty }) : t("purchases.item", { id, n: qty })));
    return element("li.card", {},
      element("h3", {}, [lane?.name, active ? lane.session.customer_name : t("purchases.session_over")].filter(Boolean).join(" · ")),
      element("p.note", {}, t("purchases.asked", { time: t.moment(purchase.asked_at) })),
      element("ul.items", {}, ...items),
      element("p", {}, t("purchases.reason", { reason: purchase.reason })),
      purchase.trace_id ? element("p.note", {}, t("purchases.trace", { trace: purchase.trace_id })) : null,
      element("div.row", {},
        active && purchase.minutes > 0 ? choice(t("purchases.credit", { n: purchase.minutes }), "primary", true) : null,
        active && purchase.minutes === 0 ? choice(t("purchases.accept"), "primary", true) : null,
        choice(t("purchases.drop"), "", false)),
      error.element);
  }
}
