import assert from "node:assert/strict";
import { test } from "node:test";
import { Desk } from "./desk.js";
import { Range } from "./model.js";

const t = Object.assign((key) => key, { has: () => true });
const bound = { timeout: 30_000 }; // what never comes fails

// desk is one whose next request is answered by answer(); seen(n) waits until that many ceasefires are alarms of their own.
function deskOf() {
  const range = new Range();
  const lane = { lane_id: "1", bay_id: "b", name: "Lane 1", phase: "free", held: false, locked: false, session: null };
  range.heard("picture", { range: {}, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [lane] }, 0);
  const desk = new Desk(t, range, () => {});
  let answer;
  globalThis.fetch = () => new Promise((resolve, reject) => (answer = { resolve, reject }));
  let wake = () => {};
  desk.changed = () => wake();
  let doubts = 0;
  desk.doubted = () => doubts++;
  return {
    desk, range,
    answered: (body) => answer.resolve(new Response(JSON.stringify(body))),
    failed: () => answer.reject(new TypeError("no network")),
    doubts: () => doubts,
    async seen(n) {
      while (desk.unsent.size !== n) {
        await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}

test("a ceasefire that nobody answers is an alarm long before the request is given up", bound, async () => {
  const { desk, range, answered, seen, doubts } = deskOf();
  const asked = desk.ceasefire("range");
  await seen(1);
  assert.equal([...desk.unsent.values()][0].refusal, null);
  answered({ confirmed: ["1"], sent: [], not_reached: [], saved: true });
  await asked;
  assert.equal(desk.unsent.size, 0);
  assert.ok(range.holdOver("range"), "the stream told nothing: the answer is what is known");
  assert.equal(range.lanes.get("1").locked, true);
  assert.equal(doubts(), 1, "and the stream is doubted");
});

test("a ceasefire that the stream tells of is taken from there", bound, async () => {
  const { desk, range, answered, doubts } = deskOf();
  const asked = desk.ceasefire("range");
  range.heard("change", { lanes: [], holds: [{ scope: "range", id: null, who: "kim" }], unresolved: 0 }, 1);
  answered({ confirmed: [], sent: ["1"], not_reached: [], saved: false });
  await asked;
  assert.equal(range.holdOver("range").who, "kim");
  assert.deepEqual([desk.unsaved, doubts()], [true, 0]);
});

test("a request that gets nowhere casts doubt on the stream", bound, async () => {
  const { desk, failed, doubts } = deskOf();
  const asked = desk.ceasefire("range");
  failed();
  await assert.rejects(asked, { code: "unreachable" });
  assert.deepEqual([doubts(), desk.unsent.size], [1, 1]);
});
