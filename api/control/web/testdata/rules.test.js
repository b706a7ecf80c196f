import assert from "node:assert/strict";
import { test } from "node:test";
import { Range, left } from "./model.js";
import { nameList } from "./names.js";
import { FILTERS, SOON, matches, notReached, stateOf, urgency } from "./urgency.js";

const words = { one: "Lane", many: "lanes" };
const quiet = { phase: "free", usable: true, for_sale: true, link: "up", held: false, locked: false, help: null, stray_hit: null, purchase: null };

test("many lanes are said in few words, and none is left out", () => {
  assert.equal(nameList(["Lane 7", "Lane 12"], words), "lanes 7, 12");
  assert.equal(nameList(["Lane 7"], words), "Lane 7");
  assert.equal(nameList(["Lane 1", "Lane 2", "Lane 3", "Lane 5", "Lane 6"], words), "lanes 1–3, 5, 6");
  assert.equal(nameList(["Stand 09", "Stand 10"], words), "Stand 09, 10");
  assert.equal(nameList(["Lane 1", "Rifle 2"], words), "Lane 1, Rifle 2");
  assert.equal(nameList(["North", "South"], words), "North, South");
});

test("the last five minutes and time that is over stand out, of sessions that have begun", () => {
  assert.deepEqual([SOON + 1, SOON, 1, 0, -1].map((ms) => urgency("running", ms)), ["", "soon", "soon", "over", "over"]);
  assert.equal(urgency("paused", 1), "soon");
  assert.equal(urgency("waiting", 1), "");
});

test("free is what can be sold now", () => {
  assert.equal(stateOf(quiet), "free");
  assert.equal(stateOf({ ...quiet, for_sale: false }), "closed");
  assert.equal(stateOf({ ...quiet, for_sale: false, usable: false }), "unusable");
  assert.equal(stateOf({ ...quiet, phase: "paused", usable: false }), "paused");
});

test("staff are wanted where something waits for them", () => {
  const wanted = (lane, urgent = "") => FILTERS.staff({ ...quiet, ...lane }, urgent);
  assert.ok(!wanted({}));
  assert.ok(!wanted({ held: true, locked: true }));
  assert.ok(!wanted({ purchase: { phase: "pending" } }));
  for (const lane of [{ held: true }, { link: "down" }, { usable: false }, { help: {} }, { stray_hit: "now" }, { purchase: { phase: "unresolved" } }]) {
    assert.ok(wanted(lane), JSON.stringify(lane));
  }
  assert.ok(wanted({}, "over"));
});

test("every word that is typed is found somewhere", () => {
  assert.ok(matches(" anna BAY ", "Lane 1", "Bay A", "Anna Krüger"));
  assert.ok(!matches("anna bob", "Lane 1", "Anna"));
  assert.ok(matches("", "Lane 1"));
});

test("changes are of the lanes of the last picture, and count from when they were sent", () => {
  const range = new Range();
  const told = [];
  for (const type of ["picture", "lanes", "holds", "unresolved"]) {
    range.addEventListener(type, ({ detail }) => told.push([type, detail?.layout ?? detail?.lanes?.map((lane) => lane.lane_id) ?? null]));
  }
  const lane = (id, more) => ({ lane_id: id, bay_id: "b", name: id, ...quiet, session: null, ...more });
  const picture = { range: { id: "r" }, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [lane("1"), lane("2", { link: "" })] };

  range.heard("picture", picture, 100);
  assert.deepEqual(told.splice(0), [["picture", true], ["lanes", ["1", "2"]], ["holds", null], ["unresolved", null]]);
  assert.equal(range.lanes.get("2").link, "down", "a link that has not come up yet");

  range.heard("change", { lanes: [lane("2", { phase: "running", session: { left_ms: 60_000 } }), lane("stranger")], unresolved: 0 }, 5_000);
  assert.deepEqual(told.splice(0), [["lanes", ["2"]]]);
  assert.equal(left(range.lanes.get("2"), 15_000), 50_000);

  range.heard("picture", picture, 9_000);
  assert.deepEqual(told.splice(0)[0], ["picture", false], "the same layout is not built again");
});

test("what a hold lies over must be locked from the moment of the hold, although no lane has said that it heeds it", () => {
  const range = new Range();
  const told = [];
  range.addEventListener("lanes", ({ detail }) => told.push(detail.lanes.map((lane) => lane.lane_id)));
  const lane = (id, bay, more) => ({ lane_id: id, bay_id: bay, name: id, ...quiet, session: null, ...more });
  const picture = { range: {}, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [lane("1", "a"), lane("2", "b"), lane("3", "b")] };
  const held = () => [...range.lanes.values()].filter((one) => one.held).map((one) => one.lane_id);
  const missing = () => [...range.lanes.values()].filter(notReached).map((one) => one.lane_id);
  range.heard("picture", picture, 0);
  told.splice(0);

  range.heard("change", { lanes: [], holds: [{ scope: "range", id: null }], unresolved: 0 }, 1);
  assert.deepEqual([held(), missing(), told.splice(0)], [["1", "2", "3"], ["1", "2", "3"], [["1", "2", "3"]]]);
  range.heard("change", { lanes: [lane("1", "a", { locked: true })], holds: [{ scope: "range", id: null }], unresolved: 0 }, 2);
  assert.deepEqual([held(), missing()], [["1", "2", "3"], ["2", "3"]], "locked, and not saved yet");
  range.heard("change", { lanes: [lane("3", "b", { held: true, locked: true })], holds: [{ scope: "bay", id: "a" }], unresolved: 0 }, 3);
  assert.deepEqual(held(), ["1", "3"], "a lane that still heeds one that has ended");
  range.heard("change", { lanes: [], holds: [{ scope: "lane", id: "2" }], unresolved: 0 }, 4);
  assert.deepEqual(held(), ["2", "3"]);
  range.heard("picture", { ...picture, holds: [{ scope: "bay", id: "b" }] }, 5);
  assert.deepEqual(missing(), ["2", "3"]);
});

test("a picture that turns out to have been late counts from when it was sent", () => {
  const range = new Range();
  const running = { ...quiet, lane_id: "1", phase: "running", session: { left_ms: 60_000 } };
  range.heard("picture", { range: {}, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [running] }, 10_000);
  range.earlier(3_000);
  assert.equal(left(range.lanes.get("1"), 10_000), 57_000);
});

test("without a stream, the answer to a ceasefire says how far it has got", () => {
  const range = new Range();
  const lane = (id) => ({ lane_id: id, bay_id: "b", name: id, ...quiet, session: null });
  range.heard("picture", { range: {}, who: "sam", bays: [], groups: [], holds: [], unresolved: 0, lanes: [lane("1"), lane("2"), lane("3")] }, 0);
  range.reached({ scope: "range", id: null }, { confirmed: ["1"], sent: ["2"], not_reached: [] });
  assert.deepEqual([...range.lanes.values()].map(({ held, locked }) => [held, locked]), [[true, true], [true, false], [false, false]]);
  assert.equal(range.holdOver("range").who, "sam");
});
