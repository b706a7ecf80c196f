import assert from "node:assert/strict";
import { mock, test } from "node:test";

let gesture = () => {};
let shown = () => {};
globalThis.document = { hidden: false, addEventListener: (type, listener) => (type === "visibilitychange" ? (shown = listener) : (gesture = listener)) };
globalThis.window = globalThis;
let heard = [];
let audio;
globalThis.AudioContext = class extends EventTarget {
  state = "suspended";
  currentTime = 0;
  constructor() {
    super();
    audio = this;
  }
  async resume() {
    this.become("running");
  }
  become(state) {
    this.state = state;
    this.dispatchEvent(new Event("statechange"));
  }
};
globalThis.OscillatorNode = class {
  constructor(_, { frequency }) {
    heard.push(frequency);
  }
  connect = (to) => to;
  start() {}
  stop() {}
};
let loud = [];
globalThis.GainNode = class {
  gain = { setValueAtTime: (gain) => loud.push(gain), exponentialRampToValueAtTime() {} };
  connect = (to) => to;
};
mock.timers.enable({ apis: ["setTimeout"] });
const { Chime } = await import("./chime.js");

// played returns the notes since the last call.
function played() {
  const notes = heard.join(" ");
  heard = [];
  return notes;
}

test("a chime is played at once, and again and again until it is shown no more", async () => {
  const chime = new Chime();
  chime.show(["help"]);
  assert.equal(played(), "", "the browser plays nothing before the page is touched");
  assert.ok(chime.isBlocked);
  await gesture();
  assert.equal(played(), "880 1175");
  chime.show(["help", "link"]);
  assert.equal(played(), "660 440", "what is new");
  mock.timers.tick(10_000);
  assert.equal(played(), "880 1175 660 440");
  chime.show(["link"]);
  mock.timers.tick(10_000);
  assert.equal(played(), "660 440");
  chime.show([]);
  mock.timers.tick(60_000);
  assert.equal(played(), "");
});

test("chimes that the device silences are said to be blocked, and go on once the page is seen or touched", async () => {
  const chime = new Chime();
  await gesture();
  let changes = 0;
  chime.onChange = () => changes++;
  chime.show(["help"]);
  played();
  audio.become("interrupted");
  assert.ok(chime.isBlocked);
  assert.equal(changes, 1, "it is shown");
  mock.timers.tick(10_000);
  assert.equal(played(), "");
  await shown();
  assert.equal(played(), "880 1175");
  assert.deepEqual([chime.isBlocked, changes], [false, 2]);
  chime.show([]);
});

test("chimes that are turned off are silent", async () => {
  const chime = new Chime();
  await gesture();
  chime.turn(false);
  chime.show(["hold"]);
  mock.timers.tick(30_000);
  assert.equal(played(), "");
  chime.turn(true);
  assert.equal(played(), "440 440 440");
  chime.show([]);
});

test("each kind has a switch, that of lanes to be cleared is off, and the volume is set", async () => {
  const kept = new Map();
  globalThis.localStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
  const chime = new Chime();
  await gesture();
  chime.show(["clear", "help"]);
  assert.equal(played(), "880 1175");
  chime.turnKind("clear", true);
  chime.turnKind("help", false);
  assert.equal(played(), "587 523", "what was switched on is heard");
  mock.timers.tick(10_000);
  assert.equal(played(), "587 523");
  const before = Math.max(...loud);
  loud = [];
  chime.setVolume(100);
  assert.equal(Math.max(...loud), 2 * before);
  const later = new Chime(); // the page is loaded again
  assert.deepEqual([later.volume, later.chimes("clear"), later.chimes("help"), later.chimes("hold")], [100, true, false, true]);
  chime.show([]);
});
