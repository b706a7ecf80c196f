import assert from "node:assert/strict";
import test from "node:test";
import { ceasefireOf, endingNext, fit, isHeld, leftOf, listed, owed, shortNames, stateOf, urgencyOf } from "./rules.js";

const free = { lane_id: "l1", bay_id: "b1", phase: "free", left_ms: 0, clear_ms: 0, for_sale: true, usable: true, held: false, sentAt: 1000 };
const lane = (changes) => ({ ...free, ...changes });

test("a lane's state changes by itself when a time is over", () => {
  assert.equal(stateOf(free, 0), "free");
  assert.equal(stateOf(lane({ for_sale: false }), 0), "closed");
  assert.equal(stateOf(lane({ for_sale: false, usable: false }), 0), "unusable");
  const ended = lane({ clear_ms: 5000 });
  assert.deepEqual([5999, 6000].map((at) => stateOf(ended, at)), ["ended", "free"]);
  const reserved = lane({ reserved_ms: 5000 });
  assert.deepEqual([5999, 6000].map((at) => stateOf(reserved, at)), ["reserved", "free"]);
  const running = lane({ phase: "running", left_ms: 5000 });
  assert.deepEqual([5999, 6000, 9000].map((at) => stateOf(running, at)), ["running", "over", "over"]);
  assert.equal(stateOf(lane({ phase: "paused", grace_ms: 90_000 }), 1000), "over", "in its grace");
  const goesOn = lane({ phase: "running", left_ms: 5000, open_end: { owed_ms: 0, bound_ms: 65_000, counts: true } });
  assert.deepEqual([5999, 6000, 9000].map((at) => [stateOf(goesOn, at), owed(goesOn, at)]), [["running", null], ["beyond", 0], ["beyond", 3000]]);
  assert.deepEqual([1000, 3500, 9000].map((at) => leftOf(running, at)), [5000, 2500, 0]);
  assert.deepEqual([1000, 9000].map((at) => leftOf(lane({ phase: "paused", left_ms: 5000 }), at)), [5000, 5000]);
});

test("the last five minutes and the last one of a running session are urgent", () => {
  const running = lane({ phase: "running", left_ms: 6 * 60_000 });
  const after = (ms) => urgencyOf(running, 1000 + ms);
  assert.deepEqual([after(59_000), after(60_000), after(299_999), after(300_000), after(360_000)], ["", "soon", "soon", "last", ""]);
  assert.equal(urgencyOf(lane({ phase: "paused", left_ms: 1000 }), 1000), "");
});

test("a ceasefire is one over everything when every lane is under one of the range or of a bay", () => {
  const bays = [{ bay_id: "b1", name: "A" }, { bay_id: "b2", name: "B" }];
  const lanes = [lane({}), lane({ lane_id: "l2", bay_id: "b2" })];
  const over = (...holds) => ceasefireOf(lanes, bays, holds);
  const [range, first, second] = [{ scope: "range", id: null }, { scope: "bay", id: "b1" }, { scope: "bay", id: "b2" }];
  assert.deepEqual(over(), { all: false, bays: [] });
  assert.deepEqual(over(range), { all: true, bays: [] });
  assert.deepEqual(over(first), { all: false, bays: [bays[0]] });
  assert.deepEqual(over(second, first), { all: true, bays });
  assert.deepEqual(over({ scope: "lane", id: "l1" }, { scope: "lane", id: "l2" }), { all: false, bays: [] }, "locks of single lanes are none");
  assert.ok(isHeld(lanes[1], [second]) && !isHeld(lanes[0], [second]) && isHeld(lanes[0], [{ scope: "lane", id: "l1" }]) && isHeld(lane({ held: true }), []));
});

test("what ends next is the running session with the least time left", () => {
  const of = (name, left_ms, phase = "running") => lane({ name, phase, left_ms });
  const lanes = [of("a", 9000), of("b", 3000), of("c", 1000, "paused"), of("d", 2000), of("e", 500)];
  assert.deepEqual(endingNext(lanes, 1600, 2).map(({ name }) => name), ["d", "b"]); // that of e is over
});

test("of names with a number of their own the number is shown, of others all of it", () => {
  assert.deepEqual(shortNames(["Lane 1", "Lane 12"]), ["1", "12"]);
  assert.deepEqual(shortNames(["25 m pistol 1", "Rifle 2"]), ["1", "2"]);
  assert.deepEqual(shortNames(["Lane 1", "The lane on the left"]), ["Lane 1", "The lane on the left"]);
  assert.deepEqual(shortNames(["Pistol 1", "Rifle 1"]), ["Pistol 1", "Rifle 1"]);
  assert.deepEqual(shortNames([]), []);
  assert.deepEqual(listed(["a", "b", "c"], 3, (n) => `+ ${n}`), ["a", "b", "c"]);
  assert.deepEqual(listed(["a", "b", "c", "d"], 3, (n) => `+ ${n}`), ["a", "b", "+ 2"]);
  const lanes = (...numbers) => numbers.map(String);
  assert.deepEqual(listed(lanes(3, 7, 8, 49, 50, 51, 52), 4, (n) => `+ ${n}`), ["3", "7", "8", "49–52"]);
  assert.deepEqual(listed(lanes(1, 3, 5, 49, 50, 51, 52), 3, (n) => `+ ${n}`), ["1", "3", "+ 5"]);
  assert.deepEqual(listed(["Lane 08", "Lane 09", "Lane 10", "Rifle 11"], 4, () => ""), ["Lane 08–10", "Rifle 11"]);
});

test("the tiles are as large as fit, and no smaller than can be read", () => {
  const widths = { time: 3, hours: 4.4, name: 2, part: 2, word: 4, words: 6, bay: 5 };
  for (const [width, height] of [[1920, 950], [1280, 630], [3840, 1900], [1080, 1800]]) {
    for (const tiles of [1, 13, 65, 210]) {
      const { columns, rows, digit, high, scrolled } = fit({ width, height, tiles, gap: 4, customers: true, widths });
      assert.ok(columns * rows >= tiles && !scrolled);
      assert.ok(rows * (digit * high + 4) - 4 <= height + 0.01, `${tiles} on ${width} × ${height} are not too high`);
      assert.ok(columns * (digit * (widths.time + 0.34) + 4) - 4 <= width + 0.01, "nor too wide");
    }
  }
  const sizes = (name, part) => fit({ width: 1000, height: 950, tiles: 4, gap: 4, customers: false, widths: { ...widths, name, part } });
  assert.equal(sizes(1.4, 1.4).name, 0.72, "a number is as large as may be");
  const [long, longer] = [sizes(8, 4), sizes(8, 8)];
  assert.ok(long.name > longer.name && long.top > longer.top, "a name of two words takes two lines where there is room");
  const telephone = fit({ width: 390, height: 700, tiles: 210, gap: 2, customers: false, widths });
  assert.ok(telephone.scrolled && telephone.digit === 13 && telephone.columns === 8);
});
