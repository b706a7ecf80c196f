import assert from "node:assert/strict";
import { test } from "node:test";

let wall = 1_800_000_000_000;
let monotonic = 5_000;
Date.now = () => wall;
performance.now = () => monotonic;
const pass = (ms) => {
  wall += ms;
  monotonic += ms;
};
const { MessageClock, formatTime, timeLeft, now } = await import("./clock.js");

test("the clock continues while the device is suspended and its monotonic clock stops", () => {
  const before = now();
  pass(1_000);
  assert.equal(now() - before, 1_000);
  wall += 600_000;
  assert.equal(now() - before, 601_000);
  pass(1_000);
  assert.equal(now() - before, 602_000);
});

test("a wall clock that is set back, or adjusted a little, changes no countdown", () => {
  const before = now();
  wall -= 3_600_000;
  pass(1_000);
  assert.equal(now() - before, 1_000);
  for (let i = 0; i < 100; i++) {
    wall += 400;
    pass(250);
    now();
  }
  assert.equal(now() - before, 26_000);
});

test("a late message counts from when it was sent", () => {
  const clock = new MessageClock(50_000);
  const sent = Date.parse("2026-03-01T10:00:00.000Z");
  const at = (ms) => new Date(sent + ms).toISOString();
  assert.deepEqual(clock.measure(at(0), 50_080), { sentAt: 50_080, late: 0, earlier: 0 });
  assert.deepEqual(clock.measure(at(5_000), 55_030), { sentAt: 55_030, late: 0, earlier: 50 }, "the fastest message is the reference, also for those before it");
  assert.deepEqual(clock.measure(at(10_000), 660_030), { sentAt: 60_030, late: 600_000, earlier: 0 }, "a tab that was frozen");
  assert.deepEqual(clock.measure("nonsense", 7), { sentAt: 7, late: 0, earlier: 0 });
});

test("a late first message is corrected by the next one, and a sender's clock that is set forward changes nothing", () => {
  const clock = new MessageClock(50_000);
  const sent = Date.parse("2026-03-01T10:00:00.000Z");
  const at = (ms) => new Date(sent + ms).toISOString();
  assert.equal(clock.measure(at(0), 53_020).sentAt, 53_020);
  assert.deepEqual(clock.measure(at(5_000), 55_020), { sentAt: 55_020, late: 0, earlier: 3_000 });
  assert.deepEqual(clock.measure(at(20_000), 60_020), { sentAt: 60_020, late: 0, earlier: 0 }, "ten seconds forward");
});

test("only the time of a running session decreases", () => {
  assert.equal(timeLeft(60_000, true, 1_000, 11_000), 50_000);
  assert.equal(timeLeft(60_000, false, 1_000, 11_000), 60_000);
  assert.equal(timeLeft(5_000, true, 0, 8_000), -3_000);
});

test("seconds are rounded up, and 0:00 is shown only after the end", () => {
  assert.deepEqual([0, 1, 999, 1_000, 1_001, 59_001, 3_599_001, 3_725_000].map(formatTime),
    ["0:00", "0:01", "0:01", "0:01", "0:02", "1:00", "1:00:00", "1:02:05"]);
});
