// Why an actor is stuck, in one sentence: the text of the code ("why.<code>"), and behind a colon what else is known.
import { span } from "./times.js";

// DETAILS are the values of each code that stand behind the colon, as far as there are any ("detail.<value>").
const DETAILS = {
  at_hand: [],
  store_down: ["changes", "attempts", "error"],
  not_running: ["reason"],
  starting: ["lanes"],
  parked: ["until", "on", "panic", "times"],
  saving: ["attempts", "error"],
  unsaved: ["attempts", "error"],
  moving: [],
  together: [],
  backlog: [],
  hold: [],
  fault: ["fault"],
  contested: ["linked", "refused"],
  restarted: ["on", "panic", "times"],
  dials: ["retry_at", "failures", "error"],
  dialling: ["failures", "error"],
  awaits: ["error"],
  gone: [],
  failing: ["failures", "error"],
  keys: [],
  purchases: [],
  behind: [],
  retrying: ["level_at"],
};

// COUNTS are the values that choose between one and several.
const COUNTS = { unsaved: "changes", keys: "keys", purchases: "purchases", backlog: "waiting", behind: "waiting", retrying: "retrying" };

const OF_STORE = ["store_down", "saving", "unsaved"];

// whyOf returns the sentence about a why of the gateway at that instant of the gateway's clock, in ms. A code of a newer gateway
// has the gateway's own sentence.
export function whyOf(t, { code, sentence, values = {} }, now) {
  if (!(code in DETAILS)) {
    return sentence;
  }
  const after = (name, text) => (values[name] ? ` ${text(values[name])}` : ""); // what is not known, or 0, leaves no gap
  const key = code === "starting" && !values.lanes ? "loading" : code;
  const main = t(`why.${key}`, {
    n: values[COUNTS[code]],
    for: after("since", (since) => t("for", { time: span(t, now - Date.parse(since)) })),
    ago: after("since", (since) => t("ago", { time: span(t, now - Date.parse(since)) })),
    what: after("what", (what) => quoted(t, what)),
    webhook: after("webhook", (webhook) => quoted(t, webhook)),
    to: after("address", (address) => t("to", { address })),
  });
  const details = DETAILS[code].filter((name) => values[name]).map((name) => detail(t, name, values[name], now));
  if (OF_STORE.includes(code) && !values.error) {
    details.push(t("detail.no_answer"));
  }
  return details.length > 0 ? `${main}: ${details.join("; ")}.` : `${main}.`;
}

// detail returns the words for one value.
function detail(t, name, value, now) {
  switch (name) {
    case "until":
    case "retry_at":
    case "level_at":
      return t(`detail.${name}`, { time: soon(t, Date.parse(value) - now) });
    case "reason":
      return said(t, value);
    default:
      return t(`detail.${name}`, typeof value === "number" ? { n: value } : { text: quoted(t, said(t, value)) });
  }
}

const soon = (t, ms) => (ms > 0 ? t("in", { time: span(t, ms) }) : t("now"));

// quoted returns a name or a text of the gateway in the quotation marks of the language.
export const quoted = (t, text) => t("quoted", { text });

// said returns a sentence of the gateway in the language of the texts, if they have it; of "this: that" it may be the first part.
export function said(t, sentence) {
  const [first, ...rest] = sentence.split(": ");
  if (t.has(`said.${sentence}`)) {
    return t(`said.${sentence}`);
  }
  return t.has(`said.${first}`) ? [t(`said.${first}`), ...rest].join(": ") : sentence;
}
