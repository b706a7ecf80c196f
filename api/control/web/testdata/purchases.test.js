import assert from "node:assert/strict";
import { test } from "node:test";
import { purchaseDetails, settleButtons } from "./purchases.js";

// What there is of a page: enough for texts and buttons.
class FakeElement {
  children = [];
  listeners = {};
  attributes = {};
  classList = { add() {} };
  append(...added) { this.children.push(...added); }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  setAttribute(name, value) { this.attributes[name] = value; }
  getAttribute(name) { return this.attributes[name] ?? null; }
  removeAttribute(name) { delete this.attributes[name]; }
  get words() { return this.children.map((child) => child?.words ?? child ?? "").join(""); }
}
globalThis.document = { createElement: () => new FakeElement(), createElementNS: () => new FakeElement() };

const bought = (minutes) => ({ purchase_id: "p", session_id: "s1", lane_id: "l1", minutes, items: [{ id: minutes > 0 ? "time" : "ammo", qty: minutes || 2 }], reason: "timed out" });

// offered returns the buttons for a purchase of session s1 at lane l1, and what is said about it, while a session is on that lane, and one on another.
function offered(purchase, onLane, other = null) {
  const sent = [];
  const lane = (lane_id, session) => [lane_id, { lane_id, session: typeof session === "string" ? { session_id: session } : session }];
  const client = {
    t: Object.assign((key) => key, { language: "en" }), range: { lanes: new Map([lane("l1", onLane), lane("l2", other)]) },
    request: async (method, path, body) => void sent.push([method, path, body]), sentence: String,
  };
  const buttons = settleButtons(client, purchase, { show() {} }, (words) => words, () => {});
  return { buttons, sent, words: buttons.map((button) => button.words), said: purchaseDetails(client, purchase).map((part) => part.words) };
}

test("what has no minutes may have been paid, also after its session has ended", async () => {
  for (const onLane of ["s1", "s2", null]) {
    const { buttons, sent, words } = offered(bought(0), onLane);
    assert.deepEqual(words, ["purchases.accept", "purchases.drop"], onLane);
    await buttons[0].listeners.click();
    assert.deepEqual(sent, [["POST", "/purchases/p/settle", { session_id: "s1", credit: true }]]);
  }
});

test("minutes are added to no session that has ended", () => {
  assert.deepEqual(offered(bought(15), "s1").words, ["purchases.credit", "purchases.drop"]);
  for (const onLane of ["s2", null]) {
    assert.deepEqual(offered(bought(15), onLane).words, ["purchases.drop"], onLane);
  }
});

test("it is said that its session has ended, beside the next customer on the lane too", () => {
  assert.ok(offered(bought(15), "s1").said.includes("purchases.explained"));
  for (const onLane of ["s2", null]) {
    const { said } = offered(bought(15), onLane);
    assert.ok(said.includes("purchases.explained_over") && !said.includes("purchases.explained"), onLane);
  }
});

test("minutes are added to the session that goes on with the one that has ended", async () => {
  const goesOn = { session_id: "s3", goes_on_with: ["s2", "s1"] };
  const here = offered(bought(15), goesOn);
  assert.deepEqual(here.words, ["purchases.credit", "purchases.drop"]);
  assert.ok(here.said.includes("purchases.explained"));
  const elsewhere = offered(bought(15), "s4", goesOn);
  assert.deepEqual(elsewhere.words, ["purchases.credit", "purchases.drop"]);
  assert.ok(elsewhere.said.includes("purchases.explained_elsewhere"));
  await elsewhere.buttons[0].listeners.click();
  assert.deepEqual(elsewhere.sent, [["POST", "/purchases/p/settle", { session_id: "s1", credit: true }]]);
  assert.deepEqual(offered(bought(0), null, goesOn).words, ["purchases.accept", "purchases.drop"]);
});
