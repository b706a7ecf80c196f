// The acts of staff: who, what, when.
import { Journal } from "./journal.js";
import { pageHead } from "./pages.js";

const SALES = ["configured", "open", "closed"];

export class Acts {
  #client;
  #journal;

  constructor(client, root) {
    this.#client = client;
    const { t } = client;
    this.#journal = new Journal(client, {
      title: "acts.title", empty: "acts.empty", list: "acts", key: (act) => act.cursor, query: () => "/acts",
      columns: ["acts.when", "acts.who", "acts.what", "acts.lane", "acts.detail"],
      cells: (act) => [
        t.moment(act.at), act.who, this.#what(act), act.lane_name ?? "", act.after_closing ? t("acts.after_closing", { detail: this.#detail(act) }) : this.#detail(act),
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

  // what returns what was done in words. A hold over the range or a bay is a ceasefire, one over a lane a lock.
  #what({ what, detail }) {
    const { t } = this.#client;
    const key = ["hold", "lift"].includes(what) ? `act.${what}_${detail === "lane" ? "lane" : "ceasefire"}` : `act.${what}`;
    return t.has(key) ? t(key) : what;
  }

  // detail returns the detail in words, depending on the act.
  #detail({ what, detail }) {
    const { t } = this.#client;
    if (!detail) {
      return "";
    }
    if (["create", "reopen", "modify", "set_duration", "make_up"].includes(what)) {
      return t("minutes_exact", { n: detail });
    }
    if (what === "offer" && SALES.includes(detail)) {
      return t(`sale.${detail}`);
    }
    if (what === "reserve") {
      return t("acts.seconds", { n: detail });
    }
    if (what === "schedule_start") {
      return t.moment(detail);
    }
    if (what === "move") {
      return t("acts.to", { lane: detail });
    }
    return t.has(`acts.detail_${detail}`) ? t(`acts.detail_${detail}`) : detail.replace(/^bay /, "");
  }
}
