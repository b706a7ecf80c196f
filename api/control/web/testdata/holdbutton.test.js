import assert from "node:assert/strict";
import { mock, test } from "node:test";

// The parts of the DOM that a button needs: a tree, attributes, and listeners.
class Node extends EventTarget {
  parent = null;
  children = [];
  attributes = new Map();
  classes = new Set();
  style = {};
  offsetWidth = 100;
  text = "";
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
}

const body = new Node("body");
const region = new Node("p");
globalThis.document = { createElement: (tag) => new Node(tag), getElementById: () => region };
mock.timers.enable({ apis: ["setTimeout"] });
const { holdButton } = await import("./holdbutton.js");

const dispatch = (target, type) => target.dispatchEvent(Object.assign(new Event(type), { button: 0, pointerId: 1 }));

// newEndControl returns a control that ends something, and how often it did.
function newEndControl() {
  let times = 0;
  const error = { show() {} };
  const control = holdButton({ sentence: String }, { words: "End", holding: "Keep holding", hint: "or", now: "End now" }, "danger", error, () => times++);
  body.append(control);
  const [main, second] = control.all("button");
  return { control, main, second, offer: control.children[1], times: () => times };
}

test("it acts when it is held for long enough, and not when it is released before", () => {
  const { main, offer, times } = newEndControl();
  dispatch(main, "pointerdown");
  mock.timers.tick(1_400);
  dispatch(main, "lostpointercapture");
  mock.timers.tick(10_000);
  assert.equal(times(), 0);
  assert.equal(offer.hidden, true);

  dispatch(main, "pointerdown");
  mock.timers.tick(1_500);
  assert.equal(times(), 1);
});

test("a removed control does not act: it gets no event when it is released", () => {
  const { control, main, times } = newEndControl();
  dispatch(main, "pointerdown");
  mock.timers.tick(300);
  control.remove();
  mock.timers.tick(10_000);
  assert.equal(times(), 0);
});

test("one click does not act; the second button that it shows does, for a while", () => {
  const { main, second, offer, times } = newEndControl();
  dispatch(main, "click");
  assert.deepEqual([times(), offer.hidden], [0, false]);
  mock.timers.tick(8_000);
  assert.equal(offer.hidden, true);
  dispatch(main, "click");
  dispatch(second, "click");
  assert.equal(times(), 1);
});
