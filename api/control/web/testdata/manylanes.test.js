import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../screens/send.js";
import { forEachGroup, forEachLane, refusalLines } from "./eachlane.js";
import { ACTIONS, lanesTyped } from "./manylanes.js";

const range = ["Lane 1", "Lane 2", "Lane 3", "Lane 10", "Rifle 3", "Rifle 4", "Cinema"].map((name) => ({ name }));

test("a typed range means lanes by number, or by name where numbers are not enough", () => {
  const typed = (text) => lanesTyped(text, range).lanes.map(({ name }) => name);
  assert.deepEqual(typed("1-2, 10"), ["Lane 1", "Lane 2", "Lane 10"]);
  assert.deepEqual(typed("10 2–1;  cinema,"), ["Lane 1", "Lane 2", "Lane 10", "Cinema"]);
  assert.deepEqual(typed("lane 2 - 9"), ["Lane 2", "Lane 3"]);
  assert.deepEqual(typed("RIFLE 3-4, 1"), ["Lane 1", "Rifle 3", "Rifle 4"]);
  assert.deepEqual(typed(" "), []);
});

test("a typed range with a fault means no lane, and the fault is named", () => {
  assert.deepEqual(lanesTyped("1, 7-9", range), { lanes: [], wrong: { key: "many.unknown", part: "7-9" } });
  assert.deepEqual(lanesTyped("1, x", range), { lanes: [], wrong: { key: "many.unknown", part: "x" } });
  assert.deepEqual(lanesTyped("1-3", range), { lanes: [], wrong: { key: "many.ambiguous", part: "1-3" } });
});

test("an action concerns the lanes on which it would do something", () => {
  const free = { phase: "free", session: null, usable: true, for_sale: true, sale: "", uncleared: null };
  const running = { ...free, phase: "running", session: { paused_by_hold: false, ran_on_ms: 90_000 } };
  const held = { ...running, phase: "paused", session: { paused_by_hold: true, ran_on_ms: 0 } };
  const offered = (lane) => Object.keys(ACTIONS).filter((name) => ACTIONS[name].applies(lane));
  assert.deepEqual(offered(free), ["sell", "closed"]);
  assert.deepEqual(offered({ ...free, for_sale: false, sale: "closed" }), ["open", "configured"]);
  assert.deepEqual(offered({ ...free, uncleared: {} }), ["cleared", "closed"]);
  assert.deepEqual(offered(running), ["more_15", "pause", "stop", "more_5", "more_30", "give_back", "closed"]);
  assert.deepEqual(offered(held), ["more_15", "stop", "more_5", "more_30", "closed"]);
  assert.ok(offered({ ...held, session: { paused_by_hold: false } }).includes("resume"));
  const locked = { ...running, held: true };
  assert.ok(!offered({ ...locked, phase: "paused" }).includes("resume"), "what is pressed during a hold would act after it");
  assert.ok(!offered({ ...locked, phase: "waiting" }).includes("start"));
  assert.ok(offered({ ...running, phase: "waiting" }).includes("start"));
});

const lanes = Array.from({ length: 9 }, (_, i) => ({ name: `Lane ${i + 1}` }));

test("where the order counts, each lane is served when the one before it has its outcome", async () => {
  let open = 0;
  await forEachLane({ users: 1 }, lanes, async () => {
    assert.equal(open++, 0);
    await new Promise((resolve) => setImmediate(resolve));
    open--;
  }, () => {}, 1);
});

test("each lane gets one command, few at a time, and what becomes of each is kept apart", async () => {
  let open = 0;
  let most = 0;
  const sent = [];
  const outcome = await forEachLane({ users: 1 }, lanes, async (lane) => {
    most = Math.max(most, ++open);
    sent.push(lane);
    await new Promise((resolve) => setImmediate(resolve));
    open--;
    if (lane === lanes[2] || lane === lanes[4]) {
      throw new Refusal("session_ended", "");
    }
  });
  assert.equal(most, 3);
  assert.deepEqual(sent, lanes);
  assert.deepEqual(outcome.done, lanes.filter((_, i) => i !== 2 && i !== 4));
  assert.deepEqual(outcome.refused.map(({ lane }) => lane.name), ["Lane 3", "Lane 5"]);
  assert.deepEqual(outcome.unsent, []);
});

test("lanes with one start have one request between them, and each start an outcome of its own", async () => {
  const scheduled = lanes.map((lane, i) => ({ ...lane, session: { start_id: `start ${i % 3}` } }));
  const deleted = [];
  const client = {
    users: 1,
    async request(method, path) {
      deleted.push(`${method} ${path}`);
      if (path.endsWith("1")) {
        throw new Refusal("not_waiting", "");
      }
    },
  };
  const { groupOf, sendAll } = ACTIONS.call_off;
  const outcome = await forEachGroup(client, scheduled, groupOf, (group) => sendAll(client, group));
  assert.deepEqual(deleted, ["DELETE /starts/start 0", "DELETE /starts/start 1", "DELETE /starts/start 2"]);
  assert.deepEqual(outcome.done, scheduled.filter((_, i) => i % 3 !== 1));
  assert.deepEqual(outcome.refused.map(({ lane, refusal }) => `${lane.name}: ${refusal.code}`), ["Lane 2: not_waiting", "Lane 5: not_waiting", "Lane 8: not_waiting"]);

  client.request = async () => {
    throw new Refusal("no_answer", "");
  };
  const unreached = await forEachGroup(client, scheduled, groupOf, (group) => sendAll(client, group), () => {}, 1);
  assert.deepEqual([unreached.refused.length, unreached.unsent.length], [3, 6], "of the start that was sent nobody knows; the others were not sent");
});

test("nothing more is sent once the gateway is not reached", async () => {
  let sent = 0;
  const outcome = await forEachLane({ users: 1 }, lanes, async (lane) => {
    sent++;
    await new Promise((resolve) => setImmediate(resolve));
    if (lane !== lanes[0]) {
      throw new Refusal("no_answer", "");
    }
  });
  assert.equal(outcome.done.length, 1);
  assert.equal(sent, outcome.done.length + outcome.refused.length);
  assert.ok(sent < 6 && outcome.unsent.length === lanes.length - sent);
});

test("nothing more is sent in the name of whoever signs in meanwhile", async () => {
  const client = { users: 1 };
  const outcome = await forEachLane(client, lanes, async (lane) => {
    await new Promise((resolve) => setImmediate(resolve));
    client.users += lane === lanes[3] ? 1 : 0;
  }, () => {}, 1);
  assert.deepEqual([outcome.done.length, outcome.unsent.length], [4, 5]);
});

test("the lanes for which it did not succeed are named by reason", () => {
  const client = { t: (key, values) => (key === "many.line" ? `${values.lanes}: ${values.reason}` : key), sentence: ({ code }) => code };
  const refused = (lane, code) => ({ lane, refusal: new Refusal(code, "") });
  assert.deepEqual(refusalLines(client, { refused: [refused(lanes[0], "a"), refused(lanes[1], "b"), refused(lanes[2], "a")], unsent: [lanes[7]] }),
    ["Lane 1, 3: a", "Lane 2: b", "Lane 8: many.unsent"]);
});
