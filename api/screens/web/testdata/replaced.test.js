import assert from "node:assert/strict";
import { mock, test } from "node:test";

const listeners = {};
let changed;
const flags = new Set();
const body = { hasAttribute: (name) => flags.has(name), toggleAttribute: (name, on) => (on ? flags.add(name) : flags.delete(name)) };
globalThis.document = { body, addEventListener: (type, listener) => (listeners[type] = listener) };
globalThis.MutationObserver = class {
  #watches = false;
  constructor(callback) {
    changed = () => this.#watches && callback();
  }
  observe = () => (this.#watches = true);
  disconnect = () => (this.#watches = false);
};
mock.timers.enable({ apis: ["setTimeout"] });
const { guardReplaced } = await import("./replaced.js");
guardReplaced();

// button is a control, which may begin a ceasefire.
function button({ begins = false } = {}) {
  const created = { visible: true, checkVisibility: () => created.visible };
  created.closest = (selector) => (selector === "button, a" || begins ? created : null);
  return created;
}

// counts reports whether a press counts.
function counts(target, { x = 100, y = 100, detail = 1, isTrusted = true } = {}) {
  let counted = true;
  listeners.click({ target, detail, isTrusted, clientX: x, clientY: y, preventDefault() {}, stopPropagation: () => (counted = false) });
  return counted;
}

// replace has a control go, as the stream says what has become of its press.
function replace(control) {
  control.visible = false;
  changed();
}

test("what takes the place of a control takes no press for half a second, and goes on so while somebody presses", () => {
  const [pause, resume] = [button(), button()];
  assert.ok(counts(pause));
  mock.timers.tick(2_000); // the answer takes its time
  assert.ok(counts(pause), "nothing has happened yet");
  replace(pause);
  assert.ok(!counts(resume, { x: 110, detail: 2 }));
  mock.timers.tick(400);
  assert.ok(!counts(resume, { detail: 3 }));
  mock.timers.tick(499);
  assert.ok(!counts(resume));
  mock.timers.tick(500);
  assert.ok(!flags.has("data-replaced"));
  assert.ok(counts(resume));
  assert.ok(counts(resume), "it is there");
  replace(resume);
  mock.timers.tick(500);
});

test("it takes presses elsewhere, those that begin a ceasefire, and those of the page's own code", () => {
  const [close, lane] = [button(), button()];
  assert.ok(counts(close));
  replace(close);
  assert.ok(counts(lane, { y: 300 }));
  assert.ok(counts(button({ begins: true })));
  assert.ok(counts(lane, { isTrusted: false }));
  assert.ok(!counts(lane));
  mock.timers.tick(500);
});

test("a key acts on what has the focus, which may have moved; who moves it on means what has it then", () => {
  const [pause, resume, stop] = [button(), button(), button()];
  const byKey = { x: 0, y: 0, detail: 0 };
  assert.ok(counts(pause, byKey));
  replace(pause);
  assert.ok(!counts(resume, byKey));
  assert.ok(counts(resume), "a finger goes where it means");
  listeners.keydown({ key: "Enter" });
  assert.ok(!counts(resume, byKey));
  listeners.keydown({ key: "Tab" });
  assert.ok(counts(stop, byKey));
});

test("a control that a style sheet hides is gone as well", () => {
  const [pause, resume] = [button(), button()];
  assert.ok(counts(pause));
  pause.visible = false;
  assert.ok(!counts(resume));
  mock.timers.tick(500);
});
