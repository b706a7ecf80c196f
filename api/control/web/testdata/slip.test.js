import assert from "node:assert/strict";
import { test } from "node:test";
import { noSlips } from "./slip.js";

test("the second half of a double touch is not for the button that has taken the place of the first one", () => {
  let listener;
  noSlips({ addEventListener: (_, of) => (listener = of) });
  const button = () => {
    const made = { isConnected: true, closest: () => made };
    return made;
  };
  const heard = (target, detail) => {
    let passed = true;
    listener({ target, detail, preventDefault() {}, stopPropagation: () => (passed = false) });
    return passed;
  };
  const start = button();
  const more = button();
  assert.ok(heard(start, 1));
  start.isConnected = false;
  assert.ok(!heard(more, 2));
  assert.ok(!heard(more, 3), "however often the hand slips");
  assert.ok(heard(more, 1));
  assert.ok(heard(more, 2), "twice the same button is twice");
  more.isConnected = false;
  assert.ok(heard(start, 0), "a key is no slip");
});
