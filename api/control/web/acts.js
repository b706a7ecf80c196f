// What staff did: who, what, when.
import { Journal } from "./journal.js";
import { pageHead } from "./pagehead.js";

const SALES = ["configured", "open", "closed"];

export class Acts {
  #desk;
  #journal;

  constructor(desk, root) {
    this.#desk = desk;
    const { t } = desk;
    this.#journal = new Journal(desk, {
      title: "acts.title", empty: "acts.empty", list: "acts", key: (act) => act.cursor, query: () => "/acts",
      columns: ["acts.when", "acts.who", "acts.what", "acts.lane", "acts.detail"],
      cells: (act) => [
        t.moment(act.at), act.who, t.has(`act.${act.what}`) ? t(`act.${act.what}`) : act.what, act.lane_name ?? "", this.#detail(act),
      ],
    });
    root.append(pageHead(t("acts.title"), t("acts.explained")), this.#journal.element);
  }

  show() {
    this.#journal.show();
  }

  hide() {
    this.#journal.hide();
  }

  // The detail in words, where what was done says how it is meant.
  #detail({ what, detail }) {
    const { t } = this.#desk;
    if (!detail) {
      return "";
    }
    if (["create", "modify", "make_up"].includes(what)) {
      return t("minutes_exact", { n: detail });
    }
    if (what === "offer" && SALES.includes(detail)) {
      return t(`sale.${detail}`);
    }
    if (what === "move") {
      return t("acts.to", { lane: detail });
    }
    return t.has(`acts.detail_${detail}`) ? t(`acts.detail_${detail}`) : detail.replace(/^bay /, "");
  }
}
