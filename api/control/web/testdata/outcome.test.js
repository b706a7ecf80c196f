import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

// What there is of a page: enough for the offer to undo.
class FakeElement {
  children = [];
  hidden = true;
  listeners = {};
  attributes = {};
  textContent = "";
  classList = { add() {} };
  style = {};
  dataset = {};
  append(...added) { this.children.push(...added); }
  replaceChildren(...added) { this.children = added; }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  setAttribute(name, value) { this.attributes[name] = value; }
  getAttribute(name) { return this.attributes[name] ?? null; }
  removeAttribute(name) { delete this.attributes[name]; }
  contains() { return false; }
}

const { setTimeout: begin } = globalThis;
globalThis.setTimeout = (...of) => begin(...of).unref(); // the end of an offer is not waited for

let sent;
let outcome;
let client;
let root;
const lane = { name: "Lane 3", session: { session_id: "s3", customer_name: "Jo" } };
const other = { name: "Lane 4", session: { session_id: "s4", customer_name: "Li" } };

beforeEach(async () => {
  globalThis.document = { createElement: () => new FakeElement(), createElementNS: () => new FakeElement(), getElementById: () => new FakeElement(), activeElement: null };
  sent = [];
  root = new FakeElement();
  client = {
    users: 0,
    t: (key, values = {}) => `${key} ${values.lane ?? ""} ${values.minutes ?? ""}`.trim(),
    request: async (method, path, body) => void sent.push([method, path, body]),
    session: async ({ session }, command, body) => void sent.push([session.session_id, command, body]),
    sentence: String,
  };
  const { Outcome } = await import("./outcome.js");
  outcome = new Outcome(client, root);
});

// takeBack presses the button of the offer, and returns what is sent for it.
async function takeBack() {
  sent = [];
  const place = root.children[1];
  await place.children[0].listeners.click();
  return sent;
}

test("minutes that are added to a session one after the other are taken back together", async () => {
  await outcome.modify(lane, 15);
  await outcome.modify(lane, 15);
  assert.deepEqual(await takeBack(), [["POST", "/sessions/s3/modify", { minutes: -30 }]]);
});

test("what was done under another name is not offered to whoever has signed in since", async () => {
  client.session = async () => void client.users++;
  await outcome.modify(lane, 15);
  assert.ok(root.hidden);
  client.session = async () => {};
  await outcome.modify(lane, 15);
  assert.deepEqual(await takeBack(), [["POST", "/sessions/s3/modify", { minutes: -15 }]]);
});

test("those of another session are another offer", async () => {
  await outcome.modify(lane, 15);
  await outcome.modify(other, 5);
  assert.deepEqual(await takeBack(), [["POST", "/sessions/s4/modify", { minutes: -5 }]]);
});

test("what was added and taken away again leaves nothing to take back", async () => {
  await outcome.modify(lane, 5);
  await outcome.modify(lane, -5);
  assert.equal(root.hidden, true);
});

test("what was there before comes back at any hour", async () => {
  await outcome.modify(lane, -10);
  assert.deepEqual(await takeBack(), [["POST", "/sessions/s3/modify", { minutes: 10, after_closing: true }]]);
  await outcome.move({ ...lane, lane_id: "3" }, { lane_id: "4", name: "Lane 4" });
  assert.deepEqual(await takeBack(), [["POST", "/sessions/s3/move", { lane_id: "3", after_closing: true }]]);
});

test("a pause is taken back by going on", async () => {
  await outcome.pause(lane);
  assert.deepEqual(sent, [["s3", "pause", undefined]]);
  assert.deepEqual(await takeBack(), [["POST", "/sessions/s3/resume", undefined]]);
});

test("a sale is confirmed with what may be done about it, and nothing of it is left once it is closed", () => {
  const print = new FakeElement();
  outcome.confirm("Lane 3: Jo, 60 min", () => [print]);
  const [told, { children: [first, close] }] = root.children;
  assert.equal(told.children[0].textContent, "Lane 3: Jo, 60 min");
  assert.equal(first, print);
  close.listeners.click();
  assert.deepEqual([root.hidden, told.children[0].textContent, told.children[0].title, root.children[1].children], [true, "", "", []]);
});
