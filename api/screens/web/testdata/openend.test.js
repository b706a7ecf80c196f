import assert from "node:assert/strict";
import test from "node:test";
import { owedOf } from "/screens/openend.js";

test("a session owes what it uses once what was sold is used up, up to its bound", () => {
  const session = { left_ms: 4000, open_end: { owed_ms: 0, bound_ms: 10_000, counts: true } };
  assert.deepEqual([1000, 4999, 5000, 7500, 11_000, 99_000].map((at) => owedOf(session, true, 1000, at)), [null, null, 0, 2500, 6000, 6000]);
});

test("what it owes stands still while it is paused, and while nobody knows whether the line is open", () => {
  const owes = { left_ms: 0, open_end: { owed_ms: 7000, bound_ms: 10_000, counts: false } };
  assert.deepEqual([owedOf(owes, true, 1000, 5000), owedOf(owes, false, 1000, 5000)], [7000, 7000]);
});

test("a session without an open end owes nothing", () => {
  assert.equal(owedOf({ left_ms: 0 }, true, 1000, 5000), null);
});
