import assert from "node:assert/strict";
import { test } from "node:test";
import { SOON } from "/screens/marks.js";
import { ACTIONS } from "./manylanes.js";
import { Range, laneGraceLeft, laneTimeLeft } from "./model.js";
import { isSession, nameList, numberFree, sharedWord } from "./rules.js";
import { DENSITIES, FILTERS, densityFor, heightOf, matches, notReached, stateOf, tileFor, urgency, urgencyOf } from "./rules.js";

const words = { one: "Lane", many: "lanes" };
const quiet = { phase: "free", usable: true, for_sale: true, link: "up", held: false, locked: false, help: null, stray_hit: null, purchase: null };

test("a list of lanes is short and complete", () => {
  assert.equal(nameList(["Lane 7", "Lane 12"], words), "lanes 7, 12");
  assert.equal(nameList(["Lane 7"], words), "Lane 7");
  assert.equal(nameList(["Lane 1", "Lane 2", "Lane 3", "Lane 5", "Lane 6"], words), "lanes 1–3, 5, 6");
  assert.equal(nameList(["Stand 09", "Stand 10"], words), "Stand 09, 10");
  assert.equal(nameList(["Lane 1", "Rifle 2"], words), "Lane 1, Rifle 2");
  assert.equal(nameList(["North", "South"], words), "North, South");
});

test("the word of the lanes' names is known if it is the same one", () => {
  assert.equal(sharedWord(["Lane 1", "Lane 20"]), "Lane");
  assert.deepEqual([["Lane 1", "Rifle 2"], ["Lane 1", "North"], ["North"], []].map(sharedWord), [undefined, undefined, undefined, undefined]);
});

test("a customer without a name has the lowest number that is free", () => {
  const name = (n) => `Walk-in ${n}`;
  assert.equal(numberFree([], name), 1);
  assert.equal(numberFree(["Walk-in 1", undefined, "Walk-in 3", "Jo"], name), 2);
});

test("sessions that have begun are urgent in their last five minutes and after their end", () => {
  assert.deepEqual([SOON + 1, SOON, 1, 0, -1].map((ms) => urgency("running", ms)), ["", "soon", "soon", "over", "over"]);
  assert.deepEqual([2001, 2000].map((ms) => urgency("running", ms, 2000)), ["", "soon"], "of one that is warned");
  assert.equal(urgency("paused", 1), "", "its time stands still");
  assert.equal(urgency("waiting", 1), "");
});

test("a session in its grace is none that staff have paused, and wants them", () => {
  const graced = { ...quiet, phase: "paused", sentAt: 1000, session: { left_ms: 0, grace_ms: 90_000, paused_by_hold: false } };
  assert.equal(stateOf(graced), "grace");
  assert.equal(urgencyOf(graced, 0), "over");
  const goesOn = { phase: "running", session: { left_ms: 0, open_end: { owed_ms: 0 } } };
  assert.deepEqual([stateOf(goesOn), urgencyOf(goesOn, 0)], ["beyond", ""]);
  assert.deepEqual([stateOf({ ...goesOn, phase: "paused" }), stateOf({ ...goesOn, session: { ...goesOn.session, left_ms: 1 } })], ["paused", "running"]);
  assert.ok(FILTERS.staff(graced, urgencyOf(graced, 0)) && FILTERS.soon(graced, urgencyOf(graced, 0)));
  assert.deepEqual([1000, 31_000, 99_000].map((at) => laneGraceLeft(graced, at)), [90_000, 60_000, 0]);
  assert.ok(!ACTIONS.resume.applies(graced) && !ACTIONS.pause.applies(graced) && ACTIONS.more_15.applies(graced) && ACTIONS.stop.applies(graced));
  assert.equal(urgencyOf({ ...graced, session: { left_ms: 0 } }, 0), "");
  assert.equal(urgencyOf(quiet, 0), "");
  assert.equal(laneGraceLeft({ ...graced, session: {} }, 1000), null);
});

test("a lane is free if it can be sold now", () => {
  assert.equal(stateOf(quiet), "free");
  assert.equal(stateOf({ ...quiet, for_sale: false }), "closed");
  assert.equal(stateOf({ ...quiet, for_sale: false, usable: false }), "unusable");
  assert.equal(stateOf({ ...quiet, phase: "paused", usable: false }), "paused");
  assert.equal(stateOf({ ...quiet, usable: false, uncleared: {} }), "ended");
});

test("a lane that is locked, closed or out of order is not free, and no session is sold to it or moves there with those that are", () => {
  for (const lane of [{ held: true }, { for_sale: false }, { usable: false }, { held: true, locked: true }, { reserved: {} }]) {
    assert.ok(!FILTERS.free({ ...quiet, ...lane }), JSON.stringify(lane));
    assert.ok(!ACTIONS.sell.applies({ ...quiet, ...lane }), JSON.stringify(lane));
  }
  assert.equal(stateOf({ ...quiet, held: true }), "locked");
  assert.equal(stateOf({ ...quiet, reserved: {} }), "reserved");
  assert.deepEqual([{ for_sale: false }, { usable: false }, { uncleared: {} }, { phase: "paused" }].map((lane) => stateOf({ ...quiet, held: true, ...lane })), ["closed", "unusable", "ended", "paused"]);
});

test("lanes that need an action of staff", () => {
  const wanted = (lane, urgent = "") => FILTERS.staff({ ...quiet, ...lane }, urgent);
  assert.ok(!wanted({}));
  assert.ok(!wanted({ held: true, locked: true }));
  assert.ok(!wanted({ purchase: { phase: "pending" } }));
  for (const lane of [{ held: true }, { link: "down" }, { usable: false }, { help: {} }, { stray_hit: "now" }, { uncleared: {} }, { second_controller: {} }, { purchase: { phase: "unresolved" } }]) {
    assert.ok(wanted(lane), JSON.stringify(lane));
  }
  assert.ok(wanted({}, "over"));
});

test("every typed word must match", () => {
  assert.ok(matches(" anna BAY ", "Lane 1", "Bay A", "Anna Krüger"));
  assert.ok(!matches("anna bob", "Lane 1", "Anna"));
  assert.ok(matches("", "Lane 1"));
});

test("a session is found by the beginning of its id", () => {
  assert.ok(isSession(" 7D9F2c", "7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"));
  assert.ok(!isSession("7d9", "7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"));
  assert.ok(!isSession("9f2c", "7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"));
  assert.ok(!isSession("7d9f2c", undefined));
});

test("changes apply to the lanes of the last picture, and count from when they were sent", () => {
  const range = new Range();
  const events = [];
  for (const type of ["picture", "lanes", "holds", "unresolved"]) {
    range.addEventListener(type, ({ detail }) => events.push([type, detail?.layout ?? detail?.lanes?.map((lane) => lane.lane_id) ?? null]));
  }
  const lane = (id, more) => ({ lane_id: id, bay_id: "b", name: id, ...quiet, session: null, ...more });
  const picture = { range: { id: "r" }, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [lane("1"), lane("2", { link: "" })] };

  range.receive("picture", picture, 100);
  assert.deepEqual(events.splice(0), [["picture", true], ["lanes", ["1", "2"]], ["holds", null], ["unresolved", null]]);
  assert.equal(range.lanes.get("2").link, "down", "a link that has never been up");

  range.receive("change", { lanes: [lane("2", { phase: "running", session: { left_ms: 60_000 } }), lane("unknown")], unresolved: 0 }, 5_000);
  assert.deepEqual(events.splice(0), [["lanes", ["2"]]]);
  assert.equal(laneTimeLeft(range.lanes.get("2"), 15_000), 50_000);

  range.receive("picture", picture, 9_000);
  assert.deepEqual(events.splice(0)[0], ["picture", false], "the same layout is not built again");
});

test("a lane that nobody has said to be clear counts as clear after a while, without a message", () => {
  const range = new Range();
  const lane = (id, more) => ({ lane_id: id, bay_id: "b", name: id, ...quiet, session: null, uncleared: null, ...more });
  const uncleared = { session_id: "s", since: "2026-05-01T12:00:00.000Z", left_ms: 60_000 };
  range.receive("picture", { range: {}, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [lane("1", { uncleared }), lane("2")] }, 1_000);
  const changed = [];
  range.addEventListener("lanes", ({ detail }) => changed.push(...detail.lanes.map((lane) => [lane.lane_id, stateOf(lane)])));
  range.tick(60_999);
  assert.deepEqual([changed, stateOf(range.lanes.get("1"))], [[], "ended"]);
  range.tick(61_000);
  range.tick(61_000);
  assert.deepEqual(changed, [["1", "free"]]);
});

test("lanes in the scope of a hold must be locked at once, before they report it themselves", () => {
  const range = new Range();
  const events = [];
  range.addEventListener("lanes", ({ detail }) => events.push(detail.lanes.map((lane) => lane.lane_id)));
  const lane = (id, bay, more) => ({ lane_id: id, bay_id: bay, name: id, ...quiet, session: null, ...more });
  const picture = { range: {}, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [lane("1", "a"), lane("2", "b"), lane("3", "b")] };
  const held = () => [...range.lanes.values()].filter((lane) => lane.held).map((lane) => lane.lane_id);
  const missing = () => [...range.lanes.values()].filter(notReached).map((lane) => lane.lane_id);
  range.receive("picture", picture, 0);
  events.splice(0);

  range.receive("change", { lanes: [], holds: [{ scope: "range", id: null }], unresolved: 0 }, 1);
  assert.deepEqual([held(), missing(), events.splice(0)], [["1", "2", "3"], ["1", "2", "3"], [["1", "2", "3"]]]);
  range.receive("change", { lanes: [lane("1", "a", { locked: true })], holds: [{ scope: "range", id: null }], unresolved: 0 }, 2);
  assert.deepEqual([held(), missing()], [["1", "2", "3"], ["2", "3"]], "locked, and not saved yet");
  range.receive("change", { lanes: [lane("3", "b", { held: true, locked: true })], holds: [{ scope: "bay", id: "a" }], unresolved: 0 }, 3);
  assert.deepEqual(held(), ["1", "3"], "a lane that still reports a hold that has ended");
  range.receive("change", { lanes: [], holds: [{ scope: "lane", id: "2" }], unresolved: 0 }, 4);
  assert.deepEqual(held(), ["2", "3"]);
  range.receive("picture", { ...picture, holds: [{ scope: "bay", id: "b" }] }, 5);
  assert.deepEqual(missing(), ["2", "3"]);
});

test("a picture that was late counts from when it was sent", () => {
  const range = new Range();
  const running = { ...quiet, lane_id: "1", phase: "running", session: { left_ms: 60_000 } };
  range.receive("picture", { range: {}, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [running] }, 10_000);
  range.shiftSentAt(3_000);
  assert.equal(laneTimeLeft(range.lanes.get("1"), 10_000), 57_000);
});

test("without a stream, the response to a ceasefire shows its progress", () => {
  const range = new Range();
  const lane = (id) => ({ lane_id: id, bay_id: "b", name: id, ...quiet, session: null });
  range.receive("picture", { range: {}, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [lane("1"), lane("2"), lane("3")] }, 0);
  range.applyProgress({ scope: "range", id: null }, { confirmed: ["1"], sent: ["2"], not_reached: [] });
  assert.deepEqual([...range.lanes.values()].map(({ held, locked }) => [held, locked]), [[true, true], [true, false], [false, false]]);
  assert.equal(range.findHold("range").who, "sam");
});

test("the largest tiles that all fit are chosen, and the user has the last word", () => {
  const bays = (n, lanes) => Array(n).fill(lanes);
  const desk = { width: 78, height: 36, compact: undefined };
  assert.equal(densityFor({ ...desk, bays: bays(2, 6) }), "full");
  assert.equal(densityFor({ ...desk, bays: bays(10, 6) }), "medium");
  assert.equal(densityFor({ width: 118, height: 53, bays: bays(10, 20), compact: undefined }), "small");
  assert.equal(densityFor({ ...desk, bays: bays(10, 20) }), "medium", "if none fits");
  assert.equal(densityFor({ ...desk, bays: bays(2, 6), compact: true }), "large");
  assert.equal(densityFor({ ...desk, bays: bays(10, 6), compact: false }), "full");
  assert.equal(densityFor({ width: 23, height: 34, bays: bays(2, 6), compact: undefined }), "medium", "on a telephone");
  assert.equal(densityFor({ width: 23, height: 30, bays: bays(5, 12), compact: undefined }), "smallest", "if none fits on a telephone");
  assert.equal(heightOf({ width: 10, height: 5, gap: 1 }, 32, bays(2, 2)), 2 * 6 - 1, "three columns, with a tile for each bay");
  assert.ok(Object.values(DENSITIES).every(({ width, height }) => width >= 3 && height >= 3), "a finger needs 48 px");
});

test("each bay begins a row where all lanes are in sight then, too", () => {
  const tile = (height) => tileFor({ density: "large", width: 40, height, bays: [3, 4, 2] }); // four columns
  assert.deepEqual([tile(30).aligned, tile(22).aligned, tile(17).aligned], [true, false, false]);
  assert.equal(heightOf({ width: 10, height: 5, gap: 1 }, 44, [3, 4, 2], true), 4 * 6 - 1);
  assert.equal(heightOf({ width: 10, height: 5, gap: 1 }, 44, [3, 4, 2]), 3 * 6 - 1);
});

test("tiles grow with the room, so that what is pressed is large", () => {
  const bays = Array(5).fill(12);
  const heights = (room) => ["medium", "small"].map((density) => tileFor({ density, bays, ...room }).height);
  assert.deepEqual(heights({ width: 78, height: 10 }), [4.6, 3.7].map((least) => Math.floor(16 * least) / 16), "no less than the density's");
  assert.deepEqual(heights({ width: 78, height: 10, touch: true }), [5, 5], "for fingers");
  assert.deepEqual(heights({ width: 78, height: 100 }), [6.4, 6.4].map((most) => Math.floor(16 * most) / 16), "two actions of 44 px, one above the other");
  const room = { density: "small", width: 78, height: 32, bays };
  assert.ok(heightOf(tileFor(room), room.width, bays) <= room.height, "all are in sight");
});
