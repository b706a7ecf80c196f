// The search for one request of a range, by its trace id or its idempotency key.
import { element, setText } from "/screens/element.js";
import { facts, laneLink, section, table } from "./draw.js";
import { Refused, fetchJSON } from "./gateway.js";
import { milliseconds, moment } from "./times.js";
import { whyUnread } from "./unread.js";

const NOTHING = "–";
const LONGEST_KEY = 255; // characters
const TRACE = /^[0-9a-f]{32}$/i;

// requestAddress is that of the page with the request.
export const requestAddress = (range, trace) => `/observer/requests?${new URLSearchParams({ range, trace_id: trace })}`;

// traceLink is a trace id that leads to its request; a dash without one.
export const traceLink = (range, trace) => (trace ? element("a", { href: requestAddress(range, trace) }, element("code", {}, trace)) : NOTHING);

// requestSearch creates the section. rangeOf() is the chosen range, token() the operator's.
export function requestSearch(t, rangeOf, token) {
  const input = element("input.input", { name: "request", required: true, maxLength: LONGEST_KEY, autocomplete: "off", spellcheck: false });
  const outcome = element("p.outcome", { role: "status" });
  const shown = element("div.part");
  const more = element("button.button", { type: "button", hidden: true }, t("requests.more"));
  const form = element("form.controls", { role: "search", "aria-label": t("requests"), onsubmit: (event) => {
    event.preventDefault();
    search(input.value.trim(), null);
  } }, element("label.field.long", {}, element("span", {}, t("requests.search")), input), element("button.button", { type: "submit" }, t("requests.find")));
  const wanted = location.pathname === "/observer/requests" ? new URLSearchParams(location.search) : null;
  let asked = wanted?.get("trace_id") ?? wanted?.get("key") ?? ""; // what the address wants, until it is shown
  let searches = 0; // only the newest one is shown
  const found = element("section", { hidden: true }, element("h2", {}, t("requests")), element("p", {}, t("requests.explained")), form, outcome, element("div.act", {}, more), shown);
  return Object.assign(found, {
    // opened is called when the range is shown.
    opened() {
      if (asked !== "") {
        input.value = asked;
        search(asked, null);
        asked = "";
      }
    },
    erase() {
      shown.replaceChildren();
      setText(outcome, "");
      more.hidden = true;
    },
  });

  async function search(text, cursor) {
    const [range, used, number] = [rangeOf(), token(), ++searches];
    const current = () => rangeOf() === range && token() === used && number === searches;
    const query = new URLSearchParams({ range, [TRACE.test(text) ? "trace_id" : "key"]: text, ...(cursor !== null && { cursor }) });
    try {
      const answer = await fetchJSON(`/observer/requests?${query}`, used);
      if (current()) {
        show(answer, text);
      }
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
      if (current()) {
        setText(outcome, whyUnread(t, refused));
      }
    }
  }

  function show(answer, text) {
    const nothing = answer.commands.length === 0 && answer.events.length === 0 && answer.answer === null;
    setText(outcome, nothing ? t(answer.next === null ? "requests.none" : "requests.none_yet", { time: answer.searched_since === null ? "" : moment(t, answer.searched_since) }) : t("as_of", { time: t.seconds(answer.at) }));
    more.hidden = answer.next === null;
    more.onclick = () => search(text, answer.next);
    shown.replaceChildren(...(nothing ? [] : [requestFacts(t, answer), commands(t, answer), events(t, answer), acts(t, answer)]));
  }
}

const time = (t, stamp) => (stamp ? moment(t, stamp) : NOTHING);
const byOf = (t, by) => (t.has(`by.${by}`) ? t(`by.${by}`) : by);

function requestFacts(t, { trace_id: trace, answer, not_on_record: missing }) {
  return facts(
    [t("commands.trace"), trace ? element("code", {}, trace) : t("requests.unknown")],
    ...(answer ? [[t("requests.answer"), t("requests.answer_of", { status: answer.status, time: moment(t, answer.at) })]] : []),
    [t("requests.missing"), missing.length > 0 ? missing.map((what) => t(`requests.missing.${what}`)).join(", ") : t("none"), missing.length > 0 ? "warn" : "good"],
  );
}

function commands(t, { commands: rows }) {
  return section(t("requests.commands"), table(t("requests.commands"), [
    { title: t("lane"), cell: laneLink },
    { title: t("commands.command"), cell: ({ command }) => command },
    { title: t("commands.by"), cell: ({ by, who }) => (who ? `${byOf(t, by)}: ${who}` : byOf(t, by)) },
    { title: t("commands.result"), cell: ({ result }) => element(`span.state.${result === "ok" ? "ok" : "refused"}`, {}, result) },
    { title: t("requests.asked"), cell: ({ asked_at }) => time(t, asked_at) },
    { title: t("commands.waited"), cell: ({ waited_ms }) => milliseconds(t, waited_ms), number: true },
    { title: t("commands.took"), cell: ({ took_ms }) => milliseconds(t, took_ms), number: true },
    { title: t("requests.saved"), cell: ({ saved_by }) => time(t, saved_by) },
    { title: t("requests.sent"), cell: ({ sent_at }) => time(t, sent_at) },
    { title: t("requests.applied"), cell: ({ applied_at }) => time(t, applied_at) },
  ], rows, t("requests.no_commands")));
}

function events(t, { events: rows }) {
  const deliveries = rows.flatMap((event) => event.deliveries.flatMap((delivery) => (delivery.attempts.length > 0 ? delivery.attempts : [null]).map((attempt) => ({ ...event, delivery, attempt }))));
  return section(t("requests.events"), table(t("requests.events"), [
    { title: t("requests.event"), cell: ({ event, number }) => (number > 0 ? `${event}, ${t.number(number)}` : event) },
    { title: t("requests.occurred"), cell: ({ occurred_at }) => time(t, occurred_at) },
    { title: t("requests.decided_on"), cell: ({ decided_on: on }) => (on ? `${on.event}, ${t.number(on.number)}` : NOTHING) },
    { title: t("commands.session"), cell: ({ session_id }) => element("code", {}, session_id) },
    { title: t("webhook.only"), cell: ({ delivery }) => delivery.webhook || NOTHING },
    { title: t("requests.attempt"), cell: ({ attempt }) => (attempt ? t("requests.attempt_of", { outcome: attempt.outcome, time: moment(t, attempt.at), took: milliseconds(t, attempt.duration_ms) }) : t("requests.pending")) },
    { title: t("requests.status"), cell: ({ attempt }) => (attempt?.status ? String(attempt.status) : NOTHING), number: true },
  ], deliveries, t("requests.no_events")));
}

function acts(t, { acts: rows }) {
  return section(t("requests.acts"), table(t("requests.acts"), [
    { title: t("commands.at"), cell: ({ at }) => moment(t, at) },
    { title: t("commands.by"), cell: ({ who }) => who },
    { title: t("timeline.what"), cell: ({ what }) => what },
    { title: t("timeline.detail"), cell: ({ detail }) => detail || NOTHING },
  ], rows, t("requests.no_acts")));
}
