// The section of a lane's page with what is on record of the lane, newest first. It is read
// from the store when the lane's page shows that something has happened, until somebody reads older ones, and when somebody asks.
import { element, setText } from "/screens/element.js";
import { redraw, stateName, kindName, table } from "./draw.js";
import { Refused, fetchJSON } from "./gateway.js";
import { traceLink } from "./requests.js";
import { milliseconds, moment } from "./times.js";
import { said } from "./why.js";
import { whyUnread } from "./unread.js";

const NOTHING = "–";

export class Timeline {
  #t;
  #token;
  #queryOf; // () => {range, lane}
  #shown = element("div.part");
  #outcome = element("p.outcome", { role: "status" });
  #again;
  #more;
  #moments = [];
  #next = null; // the cursor of older ones
  #older = false; // they are shown too
  #asked = ""; // the lane that was asked for
  #seen = ""; // what the page showed of it then
  #loads = 0; // only the newest one is shown

  // queryOf() names the lane, token() is the operator's.
  constructor(t, queryOf, token) {
    this.#t = t;
    this.#queryOf = queryOf;
    this.#token = token;
    this.#again = element("button.button", { type: "button", onclick: () => this.#load(null) }, t("timeline.again"));
    this.#more = element("button.button", { type: "button", hidden: true, onclick: () => this.#load(this.#next) }, t("timeline.more"));
    this.element = element("section", { hidden: true }, element("h2", {}, t("timeline")), element("p", {}, t("timeline.explained")),
      element("div.act", {}, this.#again, this.#outcome), this.#shown, element("div.act", {}, this.#more));
  }

  // show loads the timeline of the lane the first time, and again when health shows that it goes on.
  show({ commands, link, session, hold, restarts }) {
    this.element.hidden = false;
    const { lane } = this.#queryOf();
    const seen = JSON.stringify([commands[0], link.since, session?.session_id, session?.phase, hold, restarts]);
    if (this.#asked !== lane || (this.#seen !== seen && !this.#older)) {
      [this.#asked, this.#seen] = [lane, seen];
      this.#load(null);
    }
  }

  clear() {
    this.element.hidden = true;
    this.#loads++;
    [this.#asked, this.#moments, this.#next, this.#older] = ["", [], null, false];
    this.#more.hidden = true;
    setText(this.#outcome, "");
    this.#shown.replaceChildren();
  }

  // load reads the newest ones, or with a cursor those before it.
  async #load(cursor) {
    const t = this.#t;
    const { range, lane } = this.#queryOf();
    const [used, load] = [this.#token(), ++this.#loads];
    const wanted = () => this.#token() === used && this.#queryOf().lane === lane && load === this.#loads;
    try {
      const answer = await fetchJSON(`/observer/lanes/${lane}/timeline?${new URLSearchParams({ range, ...(cursor !== null && { cursor }) })}`, used);
      if (!wanted()) {
        return;
      }
      this.#moments = cursor === null ? answer.moments : [...this.#moments, ...answer.moments];
      [this.#next, this.#older] = [answer.next, cursor !== null];
      this.#more.hidden = answer.next === null;
      setText(this.#outcome, t("timeline.as_of", { time: t.seconds(answer.at), since: moment(t, answer.remembered_since) }));
      redraw(this.#shown, this.#moments, () => [this.#table()]);
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
      if (!wanted()) {
        return;
      }
      setText(this.#outcome, whyUnread(t, refused));
    }
  }

  #table() {
    const t = this.#t;
    const code = (value) => (value ? element("code", {}, value) : NOTHING);
    return table(t("timeline"), [
      { title: t("commands.at"), cell: ({ at }) => moment(t, at) },
      { title: t("timeline.kind"), cell: ({ kind }) => t(`timeline.kind.${kind}`) },
      { title: t("timeline.what"), cell: (one) => this.#what(one) },
      { title: t("commands.by"), cell: ({ by, who }) => [this.#by(by), who].filter(Boolean).join(": ") || NOTHING },
      { title: t("timeline.detail"), cell: (one) => this.#detail(one) || NOTHING },
      { title: t("commands.session"), cell: ({ session_id }) => code(session_id) },
      { title: t("commands.trace"), cell: ({ trace_id }) => traceLink(this.#queryOf().range, trace_id) },
    ], this.#moments, t("timeline.none"));
  }

  #what({ kind, what }) {
    switch (kind) {
      case "link":
        return element(`span.state.${what}`, {}, stateName(this.#t, what));
      case "restart":
        return kindName(this.#t, what);
      default:
        return what;
    }
  }

  #by(who) {
    return this.#t.has(`by.${who}`) ? this.#t(`by.${who}`) : who;
  }

  #detail({ kind, detail, event, command, ended }) {
    const t = this.#t;
    const parts = [];
    if (command) {
      parts.push(command.result, t("timeline.took", { took: milliseconds(t, command.took_ms), waited: milliseconds(t, command.waited_ms) }));
    }
    if (event?.decision) {
      parts.push(t(event.decision.hold ? "timeline.decided_held" : "timeline.decided", { command: event.decision.command }));
    }
    if (ended) {
      const n = (minutes) => t.number(minutes);
      parts.push(t("timeline.ended", { reason: ended.end_reason, sold: n(ended.minutes_sold), used: n(ended.minutes_used), paused: n(ended.minutes_paused) }));
    }
    if (detail) {
      parts.push(kind === "link" ? said(t, detail) : detail);
    }
    return parts.join("; ");
  }
}
