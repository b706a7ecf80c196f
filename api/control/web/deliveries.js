// Webhook deliveries: what was sent, the response, and how long it took.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { ErrorText, action } from "./actions.js";
import { Journal } from "./journal.js";
import { pageHead } from "./pages.js";

export class Deliveries {
  #client;
  #journal;
  #error = new ErrorText();

  constructor(client, root) {
    this.#client = client;
    const { t } = client;
    this.#journal = new Journal(client, {
      title: "deliveries.title", empty: "deliveries.empty", list: "events", key: (event) => event.cursor, query: () => "/deliveries",
      columns: ["deliveries.when", "deliveries.event", "deliveries.lane", "deliveries.answer", "deliveries.took", "deliveries.payload", "deliveries.again"],
      cells: (event) => [
        t.moment(event.occurred_at), this.#eventName(event), event.lane_name ?? "", this.#response(event),
        event.attempt?.duration_ms != null ? element("span.unbroken", {}, t("deliveries.ms", { n: t.number(event.attempt.duration_ms) })) : "", this.#payload(event.payload),
        this.#again(event),
      ],
    });
    root.append(pageHead(t("deliveries.title"), t("deliveries.explained")), this.#error.element, this.#journal.element);
  }

  show() {
    this.#journal.show();
  }

  hide() {
    this.#error.show("");
    this.#journal.hide();
  }

  #eventName({ payload, simulated, webhook }) {
    return element("span", {}, payload.event,
      webhook ? element("span.badge.plain", {}, this.#client.t("deliveries.to", { webhook })) : null,
      simulated ? element("span.badge.plain", {}, this.#client.t("deliveries.simulated")) : null);
  }

  #response({ attempt, attempts, again }) {
    const { t } = this.#client;
    if (again) {
      return element("span.badge.plain", {}, icon("hourglass"), t("deliveries.waits_again"));
    }
    const badge = element("span", {}, this.#outcome(attempt), ...this.#next(attempt));
    return attempts > 1 ? element("span", {}, badge, " ", t("deliveries.attempts", { n: t.number(attempts) })) : badge;
  }

  #outcome(attempt) {
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

  // next returns what follows from a failed delivery, where events are tried again.
  #next(attempt) {
    const { t } = this.#client;
    if (attempt?.retry_at) {
      return [" ", element("span.badge.plain", {}, icon("hourglass"), t("deliveries.retry_at", { when: t.moment(attempt.retry_at) }))];
    }
    return attempt?.given_up ? [" ", element("span.badge.danger", {}, icon("alert"), t("deliveries.given_up"))] : [];
  }

  // again returns the button that has the event sent again, where it may be.
  #again({ cursor, payload, lane_name, may_go_again }) {
    const { t } = this.#client;
    if (!may_go_again) {
      return "";
    }
    const label = t("deliveries.send_again_of", { event: payload.event, lane: lane_name ?? "" });
    return action(this.#client, { words: t("deliveries.send_again"), label }, this.#error, async () => {
      await this.#client.request("POST", `/deliveries/${cursor}/redeliver`);
      this.#journal.refresh();
    });
  }

  #payload(payload) {
    return element("details", {}, element("summary", {}, this.#client.t("deliveries.show")), element("pre", {}, JSON.stringify(payload, null, 2)));
  }
}
