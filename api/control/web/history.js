// Ended sessions, with search and download.
import { element } from "/screens/element.js";
import { Journal } from "./journal.js";
import { pageHead } from "./pages.js";

const CSV = "/control/history.csv";
const TYPING = 300; // ms without input before the search

export class History {
  #journal;

  constructor(client, root) {
    const { t } = client;
    const search = element("input.input", { type: "search", placeholder: t("history.search"), "aria-label": t("history.search") });
    const csv = element("a.button", { href: CSV, download: "" }, t("history.csv"));
    this.#journal = new Journal(client, {
      title: "history.title", empty: "history.empty", list: "sessions", key: (session) => session.session_id,
      query: () => `/history?${new URLSearchParams({ search: search.value.trim() })}`,
      columns: ["history.ended", "history.customer", "history.lane", "history.group", "history.sold", "history.used", "history.paused", "history.reason"],
      cells: (session) => [
        t.moment(session.ended_at), session.customer_name || t("history.forgotten"), session.lane_name, session.group_name,
        t("minutes_exact", { n: session.duration }), t("minutes_exact", { n: t.number(session.minutes_used) }), t("minutes_exact", { n: t.number(session.minutes_paused) }),
        t.has(`reason.${session.end_reason}`) ? t(`reason.${session.end_reason}`) : session.end_reason,
      ],
    });
    let typing = 0;
    search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => {
        csv.href = `${CSV}?${new URLSearchParams({ search: search.value.trim() })}`;
        this.#journal.restart();
      }, TYPING);
    });
    root.append(pageHead(t("history.title"), t("history.explained")), element("div.toolbar", {}, element("div.search", { role: "search" }, search), csv), this.#journal.element);
  }

  show() {
    this.#journal.show();
  }

  hide() {
    this.#journal.hide();
  }
}
