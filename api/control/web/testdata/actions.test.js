import assert from "node:assert/strict";
import { test } from "node:test";
import { ignoreStaleClicks } from "./actions.js";

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
