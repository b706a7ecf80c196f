import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const { setTimeout: begin } = globalThis;
globalThis.setTimeout = (...of) => begin(...of).unref(); // the next attempt is not waited for
globalThis.window = globalThis.document = { addEventListener() {} };
globalThis.sessionStorage = { getItem: () => null, setItem() {} };

let attempts; // that are under way: {confirm(reply), refuse(refusal)}, the oldest first
let sent;
let range;
let requests;

beforeEach(async () => {
  attempts = [];
  sent = 0;
  range = Object.assign(new EventTarget(), {
    info: { id: "r1" }, hold: undefined,
    findHold: () => range.hold,
    applyProgress() {},
    // show is what the stream shows from now on.
    show(hold) {
      range.hold = hold;
      range.dispatchEvent(new Event("picture"));
    },
  });
  const client = {
    range, lost: null, onChange() {}, onStale() {}, onConfirmed() {}, scopeName: () => "whole range",
    request: () => new Promise((confirm, refuse) => {
      sent++;
      attempts.push({ confirm, refuse });
    }),
  };
  const { CeasefireRequests } = await import("./ceasefirerequests.js");
  requests = new CeasefireRequests(client);
});

const press = () => void requests.begin("range", null, "r1").catch(() => {});
const unreachable = Object.assign(new Error(), { code: "unreachable" });
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function refused(attempt, refusal = unreachable) {
  attempt.refuse(refusal);
  await settled();
}

async function confirmed(attempt, reply = { saved: true }) {
  attempt.confirm(reply);
  await settled();
}

const isUnset = () => requests.unconfirmed.length === 1;

test("one that the stream shows is not asked for any more, whatever became of the answer", async () => {
  press();
  await refused(attempts[0]);
  assert.ok(isUnset());
  range.show({ press: "p1" });
  assert.ok(!isUnset());
});

test("a hold that was in force before the press, and whose end may be under way, does not stand for it", async () => {
  for (const before of [{ press: "p1" }, {}]) { // also one whose press the gateway has not told yet
    range.show(before);
    press();
    await refused(attempts.at(-1));
    range.show({ press: "p1" });
    assert.ok(isUnset());
    const ended = requests.presses - 1;
    requests.ended({ scope: "range" }, ended);
    range.show(undefined);
    assert.ok(isUnset(), "it was pressed since");
    requests.ended({ scope: "range" }, requests.presses);
    assert.ok(!isUnset());
  }
});

test("a press when the one before has arrived is sent for itself, two at a time at most, and the last one after them", async () => {
  press();
  press();
  assert.equal(sent, 1, "both are on their way");
  range.show({ press: "p1" });
  press();
  assert.equal(sent, 2);
  range.show({ press: "p2" });
  press();
  press();
  assert.equal(sent, 2);
  await confirmed(attempts[0]);
  assert.equal(sent, 2, "there is a newer one");
  await confirmed(attempts[1]);
  assert.equal(sent, 3);
  await confirmed(attempts[2]);
  assert.ok(!isUnset());
  press();
  assert.equal(sent, 4, "nothing is under way");
});

test("a press is sent at once when one of the two before has its answer", async () => {
  press();
  range.show({ press: "p1" });
  press();
  range.show({ press: "p2" });
  await confirmed(attempts[0]);
  press();
  assert.equal(sent, 3);
});

test("an answer that is not the gateway's is none", async () => {
  press();
  await confirmed(attempts[0], null);
  assert.ok(isUnset());
  press();
  assert.equal(sent, 2);
});
