import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Range } from "./model.js";

globalThis.window = new EventTarget();
globalThis.document = new EventTarget();
const kept = new Map();
globalThis.sessionStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
const { Client } = await import("./client.js");

const t = Object.assign((key) => key, { has: () => true });
const held = [{ scope: "range", id: null, who: "kim", since: "" }];
const done = { confirmed: ["1"], sent: [], not_reached: [], saved: true };

// Each test has a time of its own, which goes on when it says so.
mock.timers.enable({ apis: ["setTimeout"] });
const turns = async () => {
  for (let n = 0; n < 20; n++) {
    await Promise.resolve();
    await new Promise(setImmediate);
  }
};
const pass = async (ms) => {
  for (let passed = 0; passed < ms; passed += 100) {
    mock.timers.tick(100);
    await turns();
  }
};

// newClient returns a client that is signed in. Its requests are in sent, and get the response of respond(), refuse() or fail().
function newClient({ fresh = true } = {}) {
  fresh && kept.clear();
  const range = new Range();
  const lane = { lane_id: "1", bay_id: "b", name: "Lane 1", phase: "free", held: false, locked: false, session: null };
  const picture = (holds = []) => range.receive("picture", { range: { id: "r" }, who: "sam", bays: [], groups: [], holds, unresolved: 0, lanes: [lane] }, 0);
  const sent = [];
  const pending = [];
  const bodies = [];
  globalThis.fetch = (path, { method, body }) => {
    sent.push(`${method} ${path}`);
    bodies.push(body && JSON.parse(body));
    return new Promise((resolve, reject) => pending.push({ resolve, reject }));
  };
  const client = new Client(t, range, () => range.forget());
  picture();
  let stale = 0;
  client.onStale = () => stale++;
  const answer = async (body, status = 200) => {
    pending.shift().resolve(new Response(JSON.stringify(body), { status }));
    await turns();
  };
  return {
    client, range, sent, bodies, picture,
    respond: (body = done) => answer(body),
    refuse: (status, code) => answer({ code, error: code }, status),
    fail: async () => {
      pending.shift().reject(new TypeError("no network"));
      await turns();
    },
    stale: () => stale,
    alarms: () => client.ceasefires.unconfirmed.map(({ scope, attempts, repeats, refusal }) => [scope, attempts, repeats, refusal?.code ?? ""]),
    change: (holds) => range.receive("change", { lanes: [], holds, unresolved: 0 }, 1),
  };
}

const OWN = "PUT /control/api/holds";
const OF_THE_DEVICE = "PUT /control/sign-in/r/ceasefire";

test("a ceasefire ends as it was shown: one that was pressed since stays", async () => {
  const { client, change, bodies, refuse } = newClient();
  change([{ ...held[0], press: "p1" }]);
  const row = client.range.findHold("range");
  change([{ ...held[0], press: "p2" }]);
  const refused = assert.rejects(client.endHold(row), { code: "held_again" });
  await refuse(409, "ceasefire");
  await refused;
  assert.deepEqual(bodies, [{ scope: "range", id: null, on: false, press: "p1" }]);
});

test("a ceasefire of this page ends by the press that the gateway has named since", async () => {
  const { client, change, bodies, respond } = newClient();
  const begun = client.ceasefire("range");
  await respond();
  await begun;
  const row = client.range.findHold("range");
  assert.equal(row.unconfirmed, true);
  change([{ ...held[0], press: "p1" }]);
  const ended = client.endHold(row);
  await respond();
  await ended;
  assert.deepEqual(bodies.at(-1), { scope: "range", id: null, on: false, press: "p1" });
});

test("an answer to a call for help names the call that was shown, also when the customer has called again since", async () => {
  const { client, bodies, respond } = newClient();
  const lane = { lane_id: "1", help: { at: "2026-05-01T12:00:00.000Z", coming: true } };
  const done = client.answerHelp(lane, true);
  lane.help = { at: "2026-05-01T12:05:00.000Z", coming: false };
  const answered = done();
  await respond({});
  await answered;
  assert.deepEqual(bodies, [{ done: true, called_at: "2026-05-01T12:00:00.000Z" }]);
});

test("what is said to be clear, and a hit that is noted, are those that were shown", async () => {
  const { client, bodies, respond } = newClient();
  const lane = { lane_id: "1", uncleared: { session_id: "s1" }, stray_hit: "2026-05-01T12:00:00.000Z" };
  const acts = [client.sayClear(lane), client.noteHit(lane)];
  Object.assign(lane, { uncleared: { session_id: "s2" }, stray_hit: "2026-05-01T12:05:00.000Z" });
  for (const act of acts) {
    const done = act();
    await respond({});
    await done;
  }
  assert.deepEqual(bodies, [{ session_id: "s1" }, { hit_at: "2026-05-01T12:00:00.000Z" }]);
});

test("a ceasefire without a response is an alarm long before the request times out", async () => {
  const { client, range, alarms, respond, stale } = newClient();
  const request = client.ceasefire("range");
  assert.deepEqual(alarms(), []);
  await pass(500);
  assert.deepEqual(alarms(), [["range", 1, true, ""]]);
  await respond();
  await request;
  assert.deepEqual(alarms(), []);
  assert.ok(range.findHold("range"), "the stream reported nothing, so the response counts");
  assert.equal(range.lanes.get("1").locked, true);
  assert.equal(stale(), 1, "and the stream is renewed");
});

test("a ceasefire that the stream reports is shown as the stream reports it", async () => {
  const { client, range, respond, stale, change } = newClient();
  const request = client.ceasefire("range");
  change(held);
  await respond({ ...done, saved: false });
  await request;
  assert.equal(range.findHold("range").who, "kim");
  assert.deepEqual([client.ceasefires.unsaved, stale()], [true, 0]);
});

test("an unreachable gateway renews the stream, and the ceasefire is sent again until it is in force", async () => {
  const { client, alarms, fail, respond, sent, stale } = newClient();
  const request = client.ceasefire("range");
  request.catch(() => {});
  await fail();
  await assert.rejects(request, { code: "unreachable" });
  assert.deepEqual([stale(), alarms()], [1, [["range", 1, true, "unreachable"]]]);
  for (let attempts = 2; attempts < 8; attempts++) {
    while (sent.length < attempts) {
      await pass(100);
    }
    await fail();
    assert.deepEqual(alarms(), [["range", attempts, true, "unreachable"]]);
  }
  await pass(6_000);
  await respond();
  assert.deepEqual([alarms(), sent.length], [[], 8]);
  await pass(60_000);
  assert.equal(sent.length, 8, "nothing is sent any more");
});

test("attempts are no more than some seconds apart, and a press does not wait for the next one", async () => {
  const { client, fail, sent } = newClient();
  client.ceasefire("range").catch(() => {});
  for (let failed = 1; failed < 8; failed++) {
    await fail();
    await pass(5_300);
    assert.equal(sent.length, failed + 1);
  }
  await fail();
  client.ceasefire("range").catch(() => {});
  assert.equal(sent.length, 9);
  client.ceasefire("range").catch(() => {});
  assert.equal(sent.length, 9, "one attempt at a time");
});

test("what the stream shows to be in force has arrived, also over a restart of the gateway", async () => {
  const { client, alarms, fail, picture, sent } = newClient();
  client.ceasefire("range").catch(() => {});
  await fail();
  picture(held);
  assert.deepEqual(alarms(), []);
  await pass(60_000);
  assert.equal(sent.length, 1);
});

test("a gateway that is back and does not have it is asked at once", async () => {
  const { client, fail, picture, sent, respond, alarms } = newClient();
  client.ceasefire("range").catch(() => {});
  await fail();
  picture();
  assert.deepEqual([sent, alarms().length], [[OWN, OWN], 1]);
  await respond();
  assert.deepEqual(alarms(), []);
});

test("what staff dismiss is not sent again", async () => {
  const { client, alarms, fail, sent } = newClient();
  client.ceasefire("range").catch(() => {});
  await fail();
  client.ceasefires.dismiss(client.ceasefires.unconfirmed[0]);
  assert.deepEqual(alarms(), []);
  await pass(60_000);
  assert.equal(sent.length, 1);
});

test("after a lost sign-in the browser asks as one in which staff have signed in, and says so while it is refused", async () => {
  const { client, range, alarms, refuse, respond, sent } = newClient();
  const request = client.ceasefire("range");
  request.catch(() => {});
  await refuse(401, "unauthorized");
  assert.deepEqual([sent, range.info], [[OWN, OF_THE_DEVICE], null]);
  await refuse(401, "unauthorized");
  await assert.rejects(request, { code: "unauthorized" });
  assert.deepEqual(alarms(), [["range", 1, true, "unauthorized"]]);
  await pass(1_000);
  assert.deepEqual(sent, [OWN, OF_THE_DEVICE, OF_THE_DEVICE]);
  await respond();
  assert.deepEqual(alarms(), []);
});

test("a ceasefire is never sent to another range than the one it was for", async () => {
  const { client, range, fail, sent } = newClient();
  client.ceasefire("range").catch(() => {});
  await fail();
  range.receive("picture", { range: { id: "another" }, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [] }, 0);
  assert.deepEqual(sent, [OWN, OF_THE_DEVICE]);
});

test("one that was in force without being saved, and that the gateway does not have any more, is an alarm that staff decide about", async () => {
  const { client, alarms, respond, sent, picture, change } = newClient();
  client.ceasefire("range");
  change(held);
  await respond({ ...done, saved: false });
  picture();
  assert.deepEqual(alarms(), [["range", 0, false, ""]]);
  await pass(60_000);
  assert.equal(sent.length, 1, "it may have been ended meanwhile");
});

test("one that was ended in sight of this page is no alarm", async () => {
  const { client, alarms, respond, picture, change } = newClient();
  client.ceasefire("range");
  change(held);
  await respond({ ...done, saved: false });
  change([]);
  picture();
  assert.deepEqual(alarms(), []);
});

test("a page that is loaded again goes on with what was not confirmed a moment ago", async () => {
  const before = newClient();
  before.client.ceasefire("range").catch(() => {});
  await before.fail();
  const after = newClient({ fresh: false });
  assert.deepEqual(after.alarms(), [["range", 1, true, ""]]);
  assert.deepEqual(after.sent, [OWN]);
  await after.respond();
  assert.deepEqual([after.alarms(), JSON.parse(kept.get("rangegate.ceasefires"))], [[], []]);
});

test("a command of the user before, refused after the next one's sign-in, signs nobody out", async () => {
  for (const [signedIn, who] of [[1, "sam"], [0, ""]]) {
    const page = newClient();
    const command = assert.rejects(page.client.request("POST", "/lanes/1/sale", {}));
    page.client.users += signedIn;
    await page.refuse(401, "unauthorized");
    await command;
    assert.equal(page.range.who, who);
  }
});
