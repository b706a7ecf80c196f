// The section of a range's page with its store, its owner and its webhooks. It is read when somebody asks for it.
import { element, setText } from "/screens/element.js";
import { facts, section, table } from "./draw.js";
import { Refused, fetchJSON } from "./gateway.js";
import { traceLink } from "./requests.js";
import { milliseconds, moment } from "./times.js";
import { whyUnread } from "./unread.js";

const NOTHING = "–";

// storeSection creates it. rangeOf() is the chosen range, token() the operator's.
export function storeSection(t, rangeOf, token) {
  const outcome = element("p.outcome", { role: "status" });
  const shown = element("div.part");
  const read = async () => {
    const [range, used] = [rangeOf(), token()];
    const current = () => rangeOf() === range && token() === used;
    try {
      const store = await fetchJSON(`/observer/range?${new URLSearchParams({ range })}`, used);
      if (current()) {
        setText(outcome, t("as_of", { time: t.seconds(store.at) }));
        shown.replaceChildren(storeFacts(t, store), ...store.webhooks.map((webhook) => deliveries(t, store.range_id, webhook)));
      }
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
      if (current()) {
        setText(outcome, whyUnread(t, refused));
      }
    }
  };
  const found = element("section", { hidden: true }, element("h2", {}, t("store")), element("p", {}, t("store.explained")),
    element("div.act", {}, element("button.button", { type: "button", onclick: read }, t("store.show")), outcome), shown);
  return Object.assign(found, {
    erase() {
      shown.replaceChildren();
      setText(outcome, "");
    },
  });
}

function storeFacts(t, { node, epoch, served_since: since, flushes, last_checkpoint_at: checkpoint, clock_offset: offset, idempotency_keys: keys, logs, outage }) {
  const time = (stamp) => (stamp ? moment(t, stamp) : NOTHING);
  return facts(
    [t("store.owner"), t(node ? "store.owner_of" : "store.epoch_of", { node, epoch: String(epoch), time: moment(t, since) })],
    [t("facts.store"), outage ? t("store.outage", { time: moment(t, outage.since), n: outage.attempts, error: outage.error }) : t("facts.store_up"), outage ? "danger" : "good"],
    [t("store.flush"), flushes.last_at ? t("store.flush_of", { time: moment(t, flushes.last_at), took: milliseconds(t, flushes.last_took_ms), number: String(flushes.number) }) : NOTHING],
    [t("store.failures"), flushes.failures > 0 ? t("store.failures_of", { n: t.number(flushes.failures), time: time(flushes.last_failed_at), error: flushes.last_error }) : t("none"), flushes.failures > 0 ? "warn" : "good"],
    [t("facts.unsaved"), t.number(flushes.changes_unsaved)],
    [t("store.checkpoint"), time(checkpoint)],
    [t("store.offset"), offset ? t("store.offset_of", { ahead: milliseconds(t, offset.ahead_ms), clock: offset.clock }) : t("store.not_measured")],
    [t("store.keys"), t("store.keys_of", { kept: t.number(keys.kept), most: t.number(keys.most) })],
    [t("store.logs"), t("store.logs_of", { event: logs.event, ended: logs.ended, act: logs.act })],
  );
}

function deliveries(t, range, { webhook, waiting, retrying, oldest_at: oldest, gone, failures, last_error: error, newest }) {
  const title = t("store.webhook", { name: webhook });
  return section(title, facts(
    [t("facts.events"), oldest ? t("store.waiting_since", { n: t.number(waiting), time: moment(t, oldest) }) : t.number(waiting)],
    [t("store.retrying"), t.number(retrying)],
    [t("ranges.state"), gone ? "410" : failures > 0 ? t("store.failing", { n: t.number(failures), error }) : t("store.takes"), gone || failures > 0 ? "danger" : "good"],
  ), table(title, [
    { title: t("store.cursor"), cell: ({ cursor }) => cursor },
    { title: t("requests.event"), cell: ({ event }) => event },
    { title: t("requests.attempt"), cell: ({ attempt }) => (attempt ? t("requests.attempt_of", { outcome: attempt.outcome, time: moment(t, attempt.at), took: milliseconds(t, attempt.duration_ms) }) : t("requests.pending")) },
    { title: t("requests.status"), cell: ({ attempt }) => (attempt?.status ? String(attempt.status) : NOTHING), number: true },
    { title: t("commands.trace"), cell: ({ trace_id }) => traceLink(range, trace_id) },
  ], newest, t("requests.no_events")));
}
