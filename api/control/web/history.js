// Ended sessions, with search and download. One that was stopped a short while ago may be taken up again.
import { element } from "/screens/element.js";
import { ErrorText, action } from "./actions.js";
import { Journal } from "./journal.js";
import { pageHead } from "./pages.js";
import { stateOf } from "./rules.js";

const CSV = "/control/history.csv";
const TYPING = 300; // ms without input before the search

export class History {
  #client;
  #journal;
  #error = new ErrorText();
  #shown = false;
  #pick;

  // pick(customer) has a free lane chosen, and returns it, or null.
  constructor(client, root, pick) {
    this.#client = client;
    this.#pick = pick;
    const { t } = client;
    const until = element("input.input", { type: "date" });
    const search = element("input.input", { type: "search", placeholder: t("history.search"), "aria-label": t("history.search") });
    const csv = element("a.button", { href: CSV, download: "" }, t("history.csv"));
    this.#journal = new Journal(client, {
      title: "history.title", empty: "history.empty", list: "sessions", key: (session) => session.session_id,
      query: () => `/history?${asked()}`,
      columns: ["history.ended", "history.customer", "history.lane", "history.group", "history.sold", "history.used", "history.paused", "history.beyond", "history.turn", "history.reason", "history.again"],
      cells: (session) => [
        t.moment(session.ended_at), session.customer_name || t("history.forgotten"), session.lane_name, session.group_name,
        t("minutes_exact", { n: session.duration }), t("minutes_exact", { n: t.number(session.minutes_used) }), t("minutes_exact", { n: t.number(session.minutes_paused) }),
        beyondOf(t, session),
        session.minutes_turn === null ? "–" : t("minutes_exact", { n: t.number(session.minutes_turn) }),
        t.has(`reason.${session.end_reason}`) ? t(`reason.${session.end_reason}`) : session.end_reason, this.#again(session),
      ],
    });
    const asked = () => new URLSearchParams({ search: search.value.trim(), ...(until.value ? { until: endOfDay(until.value) } : {}) });
    const restart = () => {
      csv.href = `${CSV}?${asked()}`;
      this.#journal.restart();
    };
    let typing = 0;
    search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(restart, TYPING);
    });
    until.addEventListener("change", restart);
    root.append(pageHead(t("history.title"), t("history.explained")),
      element("div.toolbar", {}, element("div.search", { role: "search" }, search), element("label.until", {}, element("span", {}, t("history.until")), until), csv),
      this.#error.element, this.#journal.element);
  }

  show() {
    this.#shown = true;
    this.#journal.show();
  }

  hide() {
    this.#shown = false;
    this.#error.show("");
    this.#journal.hide();
  }

  // again returns the button that goes on with a session: on its lane if that is free, else on one that is chosen.
  #again(session) {
    const { t, range } = this.#client;
    if (!session.may_reopen) {
      return "";
    }
    const customer = session.customer_name || t("history.forgotten");
    return action(this.#client, { words: t("history.reopen"), label: t("history.reopen_of", { customer }) }, this.#error, async () => {
      const own = range.lanes.get(session.lane_id);
      const lane = own && stateOf(own) === "free" ? own : await this.#pick(customer);
      try {
        lane && await this.#client.request("POST", `/sessions/${session.session_id}/reopen`, { lane_id: lane.lane_id });
        lane && this.#journal.refresh();
      } catch (refusal) {
        if (this.#shown) {
          throw refusal;
        }
        this.#client.outcome.refused(lane, this.#client.sentence(refusal)); // the lane was chosen on the board
      }
    });
  }
}

// endOfDay returns when a day like 2026-05-01 ends here.
function endOfDay(day) {
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year, month - 1, date + 1).toISOString();
}

// beyondOf says what a session with an open end has used beyond what was sold, and how much of that was settled later.
function beyondOf(t, { minutes_beyond: used, minutes_beyond_settled: settled }) {
  if (!used) {
    return "–";
  }
  const minutes = t("minutes_exact", { n: t.number(used) });
  return settled > 0 ? t("history.settled", { minutes, settled: t.number(settled) }) : minutes;
}
