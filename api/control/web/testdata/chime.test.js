import assert from "node:assert/strict";
import { mock, test } from "node:test";

let gesture = () => {};
globalThis.document = { addEventListener: (_, listener) => (gesture = listener) };
globalThis.window = globalThis;
let heard = [];
globalThis.AudioContext = class {
  state = "suspended";
  currentTime = 0;
  async resume() {
    this.state = "running";
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
globalThis.GainNode = class {
  gain = { setValueAtTime() {}, exponentialRampToValueAtTime() {} };
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

test("chimes that are turned off are silent", async () => {
  const chime = new Chime();
  await gesture();
  chime.turn(false);
  chime.show(["hold"]);
  mock.timers.tick(30_000);
  assert.equal(played(), "");
  chime.turn(true);
  assert.equal(played(), "440 440 440");
});
