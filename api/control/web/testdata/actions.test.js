import assert from "node:assert/strict";
import { test } from "node:test";
import { ignoreQuickRepeats, ignoreStaleClicks } from "./actions.js";

test("the second click of a double click is ignored if its button has replaced the first one", () => {
  let listener;
  ignoreStaleClicks({ addEventListener: (_, added) => (listener = added) });
  const button = () => {
    const created = { isConnected: true, closest: () => created };
    return created;
  };
  const isHandled = (target, detail) => {
    let handled = true;
    listener({ target, detail, preventDefault() {}, stopPropagation: () => (handled = false) });
    return handled;
  };
  const start = button();
  const more = button();
  assert.ok(isHandled(start, 1));
  start.isConnected = false;
  assert.ok(!isHandled(more, 2));
  assert.ok(!isHandled(more, 3), "also a third click");
  assert.ok(isHandled(more, 1));
  assert.ok(isHandled(more, 2), "two clicks on the same button count");
  more.isConnected = false;
  assert.ok(isHandled(start, 0), "a key press is no later click of a series");
});

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
