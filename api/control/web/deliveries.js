// What was sent to the webhook, what came back, and how long that took.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { Journal } from "./journal.js";
import { pageHead } from "./pagehead.js";

export class Deliveries {
  #desk;
  #journal;

  constructor(desk, root) {
    this.#desk = desk;
    const { t } = desk;
    this.#journal = new Journal(desk, {
      title: "deliveries.title", empty: "deliveries.empty", list: "events", key: (event) => event.cursor, query: () => "/deliveries",
      columns: ["deliveries.when", "deliveries.event", "deliveries.lane", "deliveries.answer", "deliveries.took", "deliveries.payload"],
      cells: (event) => [
        t.moment(event.occurred_at), this.#named(event), event.lane_name ?? "", this.#answer(event.attempt),
        event.attempt?.duration_ms != null ? t("deliveries.ms", { n: t.number(event.attempt.duration_ms) }) : "", this.#payload(event.payload),
      ],
    });
    root.append(pageHead(t("deliveries.title"), t("deliveries.explained")), this.#journal.element);
  }

  show() {
    this.#journal.show();
  }

  hide() {
    this.#journal.hide();
  }

  #named({ payload, simulated }) {
    return element("span", {}, payload.event, simulated ? element("span.badge.plain", {}, this.#desk.t("deliveries.simulated")) : null);
  }

  #answer(attempt) {
    const { t } = this.#desk;
    if (!attempt) {
      return element("span.badge.plain", {}, icon("hourglass"), t("deliveries.waiting"));
    }
    if (attempt.status >= 200 && attempt.status < 300 && !attempt.error) {
      return element("span.badge.good", {}, icon("check"), String(attempt.status));
    }
    return element("span.badge.danger", {}, icon("alert"), [attempt.status, attempt.error].filter(Boolean).join(": ") || t("deliveries.failed"));
  }

  #payload(payload) {
    return element("details", {}, element("summary", {}, this.#desk.t("deliveries.show")), element("pre", {}, JSON.stringify(payload, null, 2)));
  }
}
