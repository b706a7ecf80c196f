// What may be done with several lanes at once, and which lanes a typed range means; without any drawing.
import { stateOf } from "./rules.js";

const session = (command, body) => (client, lane, more) => client.session(lane, command, { ...body, ...more });
const onLane = (command, body) => (client, lane) => client.lane(lane, command, body);

// more adds minutes. The undo is for the lanes as they were before.
function more(minutes) {
  return { minutes, sign: "plus", applies: (lane) => lane.session !== null, send: session("modify", { minutes }), undo: session("modify", { minutes: -minutes }) };
}

// sale decides about the sale of lanes.
function sale(to, sign, applies) {
  return { sign, applies, send: onLane("sale", { sale: to }), undo: (client, lane) => client.lane(lane, "sale", { sale: saleOf(lane) }) };
}

// isScheduled is true of a lane whose session begins together with others.
function isScheduled(lane) {
  return lane.phase === "waiting" && Boolean(lane.session.start_id);
}

// togetherIn lets the sessions of lanes begin at one instant, so many seconds from now.
function togetherIn(seconds) {
  return {
    seconds, sign: "play", applies: (lane) => lane.phase === "waiting" && !isScheduled(lane),
    sendAll: (client, lanes) => client.request("POST", "/starts", { session_ids: lanes.map(({ session }) => session.session_id), in_seconds: seconds }),
    undoAll: (client, start) => client.request("DELETE", `/starts/${start.start_id}`),
  };
}

const startOf = ({ session }) => session.start_id;

// callOff lets the sessions of lanes with the same start wait for their customers again; those of other lanes with that start too.
const callOff = (client, [lane]) => client.request("DELETE", `/starts/${startOf(lane)}`);

// ACTIONS on several lanes: {applies(lane), sign, send(client, lane, more for the body), undo(client, lane) if it can be taken back}.
// One request for all of them is sendAll(client, lanes) and undoAll(client, answer), and with groupOf(lane) one for each group of lanes.
export const ACTIONS = {
  more_15: more(15),
  start: { sign: "play", applies: (lane) => lane.phase === "waiting" && !lane.held, send: session("start") },
  together: togetherIn(10),
  pause: { sign: "pause", applies: (lane) => lane.phase === "running", send: session("pause") },
  resume: { sign: "play", applies: (lane) => stateOf(lane) === "paused" && !lane.session.paused_by_hold && !lane.held, send: session("resume") },
  sell: { sign: "cart", applies: (lane) => stateOf(lane) === "free" }, // send depends on the form
  stop: {
    sign: "stop", applies: (lane) => lane.session !== null, send: session("stop"),
    undo: (client, lane) => client.request("POST", `/sessions/${lane.session.session_id}/reopen`, { lane_id: lane.lane_id }),
  },
  together_60: togetherIn(60),
  call_off: { sign: "close", applies: (lane) => isScheduled(lane), groupOf: startOf, sendAll: callOff },
  more_5: more(5),
  more_30: more(30),
  cleared: { sign: "leave", applies: (lane) => Boolean(lane.uncleared), send: (client, lane) => client.sayClear(lane)() },
  give_back: { sign: "hourglass", applies: (lane) => lane.session?.ran_on_ms > 0, send: session("make-up", { give: true }) },
  closed: sale("closed", "close", (lane) => saleOf(lane) !== "closed"),
  open: sale("open", "check", (lane) => !lane.for_sale),
  configured: sale("configured", "check", (lane) => saleOf(lane) !== "configured"),
};

// saleOf returns what staff have decided about the sale of a lane: configured, open or closed.
function saleOf(lane) {
  return lane.sale || "configured";
}

// lanesTyped returns the lanes that a text such as "5-12, 20" or "Rifle 3" means, in the order of `lanes`, and the key of a sentence
// with the part that is wrong if there is one: then it means none.
export function lanesTyped(text, lanes) {
  const parts = text.replace(/(\d)\s+(?=\d)/g, "$1,").split(/[,;]/).map((part) => part.trim()).filter(Boolean);
  const meant = new Set();
  for (const part of parts) {
    const found = lanesOf(part, lanes);
    if (found.length === 0) {
      return { lanes: [], wrong: { key: "many.unknown", part } };
    }
    if (new Set(found.map((lane) => splitName(lane.name).word)).size > 1) {
      return { lanes: [], wrong: { key: "many.ambiguous", part } };
    }
    found.forEach((lane) => meant.add(lane));
  }
  return { lanes: lanes.filter((lane) => meant.has(lane)), wrong: null };
}

function lanesOf(part, lanes) {
  const named = lanes.filter(({ name }) => name.toLowerCase() === part.toLowerCase());
  if (named.length > 0) {
    return named;
  }
  const [, word, first, last] = /^(.*?)\s*(\d{1,9})(?:\s*[-–—]\s*(\d{1,9}))?$/.exec(part) ?? [];
  if (first === undefined) {
    return [];
  }
  const [from, to] = [Number(first), Number(last ?? first)].toSorted((a, b) => a - b);
  return lanes.filter(({ name }) => {
    const of = splitName(name);
    return of.number >= from && of.number <= to && (word === "" || of.word === word.toLowerCase());
  });
}

// splitName returns the word of a name, in lower case, and the number at its end; NaN without one.
function splitName(name) {
  const [, word, number] = /^(.*?)\s*(\d{1,9})$/.exec(name) ?? [];
  return word === undefined ? { word: name.toLowerCase(), number: NaN } : { word: word.toLowerCase(), number: Number(number) };
}
