// Webhook deliveries: what was sent, the response, and how long it took.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { Journal } from "./journal.js";
import { pageHead } from "./pages.js";

export class Deliveries {
  #client;
  #journal;

  constructor(client, root) {
    this.#client = client;
    const { t } = client;
    this.#journal = new Journal(client, {
      title: "deliveries.title", empty: "deliveries.empty", list: "events", key: (event) => event.cursor, query: () => "/deliveries",
      columns: ["deliveries.when", "deliveries.event", "deliveries.lane", "deliveries.answer", "deliveries.took", "deliveries.payload"],
      cells: (event) => [
        t.moment(event.occurred_at), this.#eventName(event), event.lane_name ?? "", this.#response(event.attempt),
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

  #eventName({ payload, simulated }) {
    return element("span", {}, payload.event, simulated ? element("span.badge.plain", {}, this.#client.t("deliveries.simulated")) : null);
  }

  #response(attempt) {
    const { t } = this.#client;
    if (!attempt) {
      return element("span.badge.plain", {}, icon("hourglass"), t("deliveries.waiting"));
    }
    if (attempt.outcome === "under_way") {
      return element("span.badge.plain", {}, icon("hourglass"), t("deliveries.under_way"));
    }
    if (attempt.status >= 200 && attempt.status < 300 && !attempt.error) {
      return element("span.badge.good", {}, icon("check"), String(attempt.status));
    }
    return element("span.badge.danger", {}, icon("alert"), [attempt.status, attempt.error].filter(Boolean).join(": ") || t("deliveries.failed"));
  }

  #payload(payload) {
    return element("details", {}, element("summary", {}, this.#client.t("deliveries.show")), element("pre", {}, JSON.stringify(payload, null, 2)));
  }
}
