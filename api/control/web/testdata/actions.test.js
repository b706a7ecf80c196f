import assert from "node:assert/strict";
import { test } from "node:test";
import { ignoreQuickRepeats } from "./actions.js";

test("a press that follows another one at once is ignored, whichever button of the lane it is on", () => {
  let listener;
  ignoreQuickRepeats({ addEventListener: (_, added) => (listener = added) });
  const isHandled = (timeStamp, sure = false, of = "button") => {
    let handled = true;
    listener({ timeStamp, target: { closest: (selector) => (selector === of || (selector === ".sure" && sure) ? {} : null) }, preventDefault() {}, stopPropagation: () => (handled = false) });
    return handled;
  };
  assert.ok(isHandled(1000));
  assert.ok(!isHandled(1120), "a double tap sells 15 minutes, and not 30");
  assert.ok(!isHandled(1349));
  assert.ok(isHandled(1350));
  assert.ok(isHandled(1400, true), "a confirmation has a time of its own");
  assert.ok(isHandled(2000, false, "label"));
  assert.ok(isHandled(2000, false, "input"), "a press on a label is one on its input at once");
});
