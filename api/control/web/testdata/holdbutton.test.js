import assert from "node:assert/strict";
import { mock, test } from "node:test";

// The parts of the DOM that a button needs: a tree, attributes, and listeners.
class Node extends EventTarget {
  parent = null;
  children = [];
  attributes = new Map();
  classes = new Set();
  style = {};
  text = "";
  rect = { left: 0, top: 0, right: 100, bottom: 50, width: 100 };
  classList = { add: (...names) => names.forEach((name) => this.classes.add(name)), remove: (name) => this.classes.delete(name) };

  constructor(tag) {
    super();
    this.tag = tag;
  }

  append(...nodes) {
    this.children.push(...nodes.map((node) => this.#adopt(node)));
  }

  prepend(...nodes) {
    this.children.unshift(...nodes.map((node) => this.#adopt(node)));
  }

  #adopt(node) {
    const child = node instanceof Node ? node : Object.assign(new Node("#text"), { text: node });
    child.parent = this;
    return child;
  }

  remove() {
    this.parent.children = this.parent.children.filter((child) => child !== this);
    this.parent = null;
  }

  get isConnected() {
    return this === body || this.parent?.isConnected === true;
  }

  get textContent() {
    return this.text + this.children.map((child) => child.textContent).join("");
  }

  set textContent(text) {
    [this.text, this.children] = [text, []];
  }

  all(tag) {
    return this.children.flatMap((child) => (child.tag === tag ? [child] : []).concat(child.all(tag)));
  }

  querySelector(tag) {
    return this.all(tag)[0] ?? null;
  }

  setAttribute(name, value) {
    this.attributes.set(name, value);
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  removeAttribute(name) {
    this.attributes.delete(name);
  }

  matches() {
    return false;
  }

  setPointerCapture() {}

  getBoundingClientRect() {
    return this.rect;
  }
}

const body = new Node("body");
const region = new Node("p");
globalThis.document = { createElement: (tag) => new Node(tag), getElementById: () => region };
mock.timers.enable({ apis: ["setTimeout"] });
const { holdButton } = await import("./holdbutton.js");

// pass lets time go by, also for timers that are set meanwhile.
function pass(ms) {
  for (let passed = 0; passed < ms; passed += 100) {
    mock.timers.tick(100);
  }
}

const FINGER = { button: 0, pointerId: 1, pointerType: "touch", width: 20, height: 20, clientX: 50, clientY: 25, detail: 1 };
const dispatch = (target, type, more = {}) => target.dispatchEvent(Object.assign(new Event(type, { cancelable: true }), { ...FINGER, ...more }));

// tap is a short press with a finger, or what a screen reader makes of one.
function tap(target, more = {}, ms = 100) {
  dispatch(target, "pointerdown", more);
  pass(ms);
  dispatch(target, "lostpointercapture", more);
  dispatch(target, "click", more);
}
const READER = { width: 0, height: 0 };

// newEndControl returns a control that ends something, and how often it did.
function newEndControl() {
  let times = 0;
  const error = { show() {} };
  const texts = { words: "End", holding: "Keep holding", hint: "hold", or: "or", now: "End now" };
  const control = holdButton({ sentence: String }, new Node("p"), texts, "danger", error, () => times++);
  body.append(control);
  const [main, second] = control.all("button");
  const offer = second.parent;
  return { control, main, second, shows: () => offer.getAttribute("data-shows"), times: () => times };
}

test("it acts when it is held for long enough, and not when it is released before", () => {
  const { main, shows, times } = newEndControl();
  dispatch(main, "pointerdown");
  pass(1_400);
  dispatch(main, "lostpointercapture");
  pass(10_000);
  assert.equal(times(), 0);
  assert.equal(shows(), "");

  dispatch(main, "pointerdown");
  pass(1_500);
  assert.equal(times(), 1);
});

test("a removed control does not act: it gets no event when it is released", () => {
  const { control, main, times } = newEndControl();
  dispatch(main, "pointerdown");
  pass(300);
  control.remove();
  pass(10_000);
  assert.equal(times(), 0);
});

test("a finger that leaves it, and a second one beside it, do not hold it", () => {
  const { main, times } = newEndControl();
  dispatch(main, "pointerdown");
  pass(1_000);
  dispatch(main, "pointermove", { clientX: 101 });
  pass(10_000);
  dispatch(main, "lostpointercapture");
  assert.equal(times(), 0);

  dispatch(main, "pointerdown");
  pass(1_000);
  dispatch(main, "pointerdown", { pointerId: 2 });
  dispatch(main, "lostpointercapture");
  pass(10_000);
  assert.equal(times(), 0);
});

test("a page that was busy does not take a short press for a long one: of its timers each runs once, and then comes the release", () => {
  const due = new Map();
  const before = { setTimeout, clearTimeout };
  Object.assign(globalThis, { setTimeout: (run) => due.set(run, run) && run, clearTimeout: (run) => due.delete(run) });
  const { main, times } = newEndControl();
  dispatch(main, "pointerdown");
  for (const run of [...due.keys()]) {
    due.delete(run);
    run();
  }
  dispatch(main, "lostpointercapture");
  [...due.keys()].forEach((run) => run());
  Object.assign(globalThis, before);
  assert.equal(times(), 0);
});

test("any number of short presses by finger or mouse end nothing, and offer nothing but the hint", () => {
  const { main, shows, second, times } = newEndControl();
  for (const more of [{}, { pointerType: "mouse", width: 1, height: 1, pressure: 0.5 }]) {
    for (let press = 0; press < 20; press++) {
      tap(main, more);
      assert.equal(shows(), "hint");
      pass(250);
    }
  }
  tap(second);
  assert.equal(times(), 0);
});

test("a click of a screen reader offers a second button, which takes no press for a second and a half", () => {
  for (const click of [(target) => dispatch(target, "click", { detail: 0 }), (target) => tap(target, READER, 0)]) {
    const { main, second, shows, times } = newEndControl();
    click(main);
    assert.deepEqual([times(), shows()], [0, "second"]);
    pass(1_400);
    click(second);
    tap(second, {}, 500); // begun too early
    assert.equal(times(), 0);
    click(second);
    assert.equal(times(), 1);
  }
});

test("the second button is offered for a while", () => {
  const { main, shows, second, times } = newEndControl();
  dispatch(main, "click", { detail: 0 });
  pass(10_000);
  assert.equal(shows(), "");
  tap(second);
  assert.equal(times(), 0);
});
