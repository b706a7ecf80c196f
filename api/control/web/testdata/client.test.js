import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "./client.js";
import { Range } from "./model.js";

const t = Object.assign((key) => key, { has: () => true });
const bound = { timeout: 30_000 }; // ms

// newClient returns a client whose next request gets the response of respond() or fail(); unsent(n) waits until n ceasefires
// are alarms.
function newClient() {
  const range = new Range();
  const lane = { lane_id: "1", bay_id: "b", name: "Lane 1", phase: "free", held: false, locked: false, session: null };
  range.receive("picture", { range: {}, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [lane] }, 0);
  const client = new Client(t, range, () => {});
  let pending;
  globalThis.fetch = () => new Promise((resolve, reject) => (pending = { resolve, reject }));
  let wake = () => {};
  client.onChange = () => wake();
  let stale = 0;
  client.onStale = () => stale++;
  return {
    client, range,
    respond: (body) => pending.resolve(new Response(JSON.stringify(body))),
    fail: () => pending.reject(new TypeError("no network")),
    stale: () => stale,
    async unsent(n) {
      while (client.unsent.size !== n) {
        await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}

test("a ceasefire without a response is an alarm long before the request times out", bound, async () => {
  const { client, range, respond, unsent, stale } = newClient();
  const request = client.ceasefire("range");
  await unsent(1);
  assert.equal([...client.unsent.values()][0].refusal, null);
  respond({ confirmed: ["1"], sent: [], not_reached: [], saved: true });
  await request;
  assert.equal(client.unsent.size, 0);
  assert.ok(range.findHold("range"), "the stream reported nothing, so the response counts");
  assert.equal(range.lanes.get("1").locked, true);
  assert.equal(stale(), 1, "and the stream is renewed");
});

test("a ceasefire that the stream reports is shown as the stream reports it", bound, async () => {
  const { client, range, respond, stale } = newClient();
  const request = client.ceasefire("range");
  range.receive("change", { lanes: [], holds: [{ scope: "range", id: null, who: "kim" }], unresolved: 0 }, 1);
  respond({ confirmed: [], sent: ["1"], not_reached: [], saved: false });
  await request;
  assert.equal(range.findHold("range").who, "kim");
  assert.deepEqual([client.unsaved, stale()], [true, 0]);
});

test("an unreachable gateway renews the stream", bound, async () => {
  const { client, fail, stale } = newClient();
  const request = client.ceasefire("range");
  fail();
  await assert.rejects(request, { code: "unreachable" });
  assert.deepEqual([stale(), client.unsent.size], [1, 1]);
});
