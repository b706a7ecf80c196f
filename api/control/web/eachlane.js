// One command to each of several lanes: the gateway has none for many. What becomes of each is kept apart.
import { isUnreached } from "/screens/recovery.js";
import { Refusal } from "/screens/send.js";
import { nameList } from "./rules.js";

// Requests at a time. A browser has six connections to a gateway: one is the stream's, and a ceasefire needs a free one.
const AT_ONCE = 3;

// forEachLane awaits send(lane) for each lane, and returns {done, refused: [{lane, refusal}], unsent}, each in the order of the lanes.
// Once the gateway is not reached, or the user is signed out or is another one, nothing more is sent: the rest is unsent. onProgress is called
// with how many have an outcome. atOnce is how many are under way at a time; 1: each is sent when the one before has its outcome.
export function forEachLane(client, lanes, send, onProgress, atOnce) {
  return forEachGroup(client, lanes, (lane) => lane, ([lane]) => send(lane), onProgress, atOnce);
}

// forEachGroup is forEachLane with one request, send(lanes), for all lanes of which groupOf(lane) is the same. What becomes of it becomes of
// each of them.
export async function forEachGroup(client, lanes, groupOf, send, onProgress = () => {}, atOnce = AT_ONCE) {
  const { users } = client;
  const groups = [...new Set(lanes.map(groupOf))].map((group) => lanes.filter((lane) => groupOf(lane) === group));
  const outcomes = new Map();
  let next = 0;
  let unreached = false;
  const work = async () => {
    while (next < groups.length && !unreached && client.users === users) {
      const group = groups[next++];
      let outcome = null;
      try {
        await send(group);
      } catch (refusal) {
        if (!(refusal instanceof Refusal)) {
          throw refusal;
        }
        outcome = refusal;
        unreached ||= isUnreached(refusal) || refusal.code === "unauthorized";
      }
      group.forEach((lane) => outcomes.set(lane, outcome));
      onProgress(outcomes.size);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return {
    done: lanes.filter((lane) => outcomes.get(lane) === null),
    refused: lanes.filter((lane) => outcomes.get(lane)).map((lane) => ({ lane, refusal: outcomes.get(lane) })),
    unsent: lanes.filter((lane) => !outcomes.has(lane)),
  };
}

// forAllLanes awaits send(), one request for all lanes, and returns its outcome as forEachLane does, with the answer.
export async function forAllLanes(lanes, send) {
  try {
    return { done: lanes, refused: [], unsent: [], answer: await send() };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) {
      throw refusal;
    }
    return { done: [], refused: lanes.map((lane) => ({ lane, refusal })), unsent: [] };
  }
}

// refusalLines are sentences about the lanes for which it did not succeed, one for each reason.
export function refusalLines(client, { refused, unsent }) {
  const byReason = new Map();
  for (const { lane, refusal } of refused) {
    const reason = client.sentence(refusal);
    byReason.set(reason, [...(byReason.get(reason) ?? []), lane]);
  }
  const lines = [...byReason].map(([reason, lanes]) => laneLine(client.t, lanes, reason));
  return unsent.length > 0 ? [...lines, laneLine(client.t, unsent, client.t("many.unsent"))] : lines;
}

// laneLine is a sentence about lanes: "Lanes 3, 5: no session".
export function laneLine(t, lanes, reason) {
  const names = nameList(lanes.map(({ name }) => name), { one: t("lane.word"), many: t("lane.words") });
  return t("many.line", { lanes: names.charAt(0).toUpperCase() + names.slice(1), reason });
}
