import assert from "node:assert/strict";
import { test } from "node:test";
import { Range } from "./model.js";
import { needsOf } from "./needs.js";
import { FILTERS } from "./rules.js";
import english from "./texts.en.js";
import german from "./texts.de.js";

const quiet = { bay_id: "b", phase: "free", session: null, link: "up", held: false, locked: false, help: null, stray_hit: null };
const at = (minute) => `2026-05-01T12:${String(minute).padStart(2, "0")}:00.000Z`;

// rangeOf returns a range with these lanes and holds.
function rangeOf(lanes, holds = []) {
  const range = new Range();
  range.receive("picture", {
    now: at(30), range: {}, who: "sam", bays: [], groups: [], holds, unresolved: 0,
    lanes: lanes.map((lane, i) => ({ ...quiet, lane_id: `l${i + 1}`, name: `Lane ${i + 1}`, ...lane })),
  }, 0);
  return range;
}

test("what needs staff is listed from the oldest on", () => {
  const session = { session_id: "s", ran_on_ms: 0 };
  const range = rangeOf([
    { help: { at: at(9), coming: false } },
    { help: { at: at(3), coming: true } },
    { session, link: "down", link_since: at(5) },
    { link: "down", link_since: at(1) },
    { session: { ...session, ran_on_ms: 90_000 } },
    { stray_hit: at(7) },
    {},
    { uncleared: { session_id: "s2", since: at(6), left_ms: 60_000 } },
  ]);
  const purchase = { purchase_id: "p", lane_id: "l7", asked_at: at(4) };
  const needs = needsOf(range, [purchase], () => Date.parse(at(8)));
  assert.deepEqual(needs.map(({ kind, lanes: [lane] }) => [kind, lane.name]), [
    ["help", "Lane 2"], ["purchase", "Lane 7"], ["link", "Lane 3"], ["clear", "Lane 8"], ["hit", "Lane 6"], ["ran_on", "Lane 5"], ["help", "Lane 1"],
  ]);
  assert.deepEqual(needs.map(({ coming }) => coming), [true, false, false, false, false, false, false]);
  assert.equal(range.wallClock(1_000), Date.parse(at(30)) + 1_000);
});

test("lanes that have not confirmed a lock are one need, since the oldest hold over them", () => {
  const hold = (scope, id, minute) => ({ scope, id, who: "sam", since: at(minute) });
  const range = rangeOf([{ locked: true }, {}, { bay_id: "c", locked: true }], [hold("bay", "c", 1), hold("range", null, 9), hold("bay", "b", 6)]);
  const [need, ...others] = needsOf(range, [], () => 0);
  assert.deepEqual([need.kind, need.lanes.map(({ name }) => name), need.since, others], ["hold", ["Lane 2"], Date.parse(at(6)), []]);
});

test("lanes that have not confirmed a lock come before everything else, however new that is", () => {
  const range = rangeOf([{ help: { at: at(1), coming: false } }, {}], [{ scope: "lane", id: "l2", who: "sam", since: at(20) }]);
  assert.deepEqual(needsOf(range, [], () => 0).map(({ kind }) => kind), ["hold", "help"]);
});

test("a call after the last one was answered is another need", () => {
  const key = (minute) => needsOf(rangeOf([{ help: { at: at(minute), coming: false } }]), [], () => 0)[0].key;
  assert.notEqual(key(1), key(2));
});

test("a purchase is seen to at the lane where its session goes on", () => {
  const range = rangeOf([{ session: { session_id: "s2" } }, { session: { session_id: "s3", goes_on_with: ["s1"] } }]);
  const [need] = needsOf(range, [{ purchase_id: "p", session_id: "s1", lane_id: "l1", asked_at: at(4) }], () => 0);
  assert.deepEqual(need.lanes.map(({ name }) => name), ["Lane 2"]);
});

test("purchases of two sessions are two needs, also under one id, which the lanes make", () => {
  const bought = (session) => ({ purchase_id: "p", session_id: session, lane_id: "l1", asked_at: at(4) });
  const needs = needsOf(rangeOf([{}]), [bought("s1"), bought("s2")], () => 0);
  assert.equal(new Set(needs.map(({ key }) => key)).size, 2);
});

test("sessions that lost time are one need, which stays the same one while they are settled", () => {
  const lost = (ms) => ({ session: { session_id: "s", ran_on_ms: ms } });
  const [all] = needsOf(rangeOf([lost(90_000), lost(0), lost(70_000)]), [], () => 0);
  assert.deepEqual([all.kind, all.lanes.map(({ name }) => name)], ["ran_on", ["Lane 1", "Lane 3"]]);
  const [rest, ...others] = needsOf(rangeOf([lost(0), lost(0), lost(70_000)]), [], () => 0);
  assert.deepEqual([rest.key, rest.lanes.length, others], [all.key, 1, []]);
});

test("a task is on a lane that needs staff; tasks and lanes are counted under words of their own", () => {
  const session = { session_id: "s", ran_on_ms: 0 };
  const lanes = [{ help: { at: at(9), coming: true } }, { session, link: "down" }, { session: { ...session, ran_on_ms: 1 } }, { stray_hit: at(7) }, { uncleared: { session_id: "s2", since: at(6) } }, { held: true }];
  const range = rangeOf(lanes.map((lane) => ({ usable: true, ...lane })), [{ scope: "lane", id: "l6", who: "sam", since: at(1) }]);
  const needs = needsOf(range, [], () => 0);
  assert.equal(needs.length, lanes.length);
  assert.ok(needs.flatMap((need) => need.lanes).every((lane) => FILTERS.staff(lane, "")));
  for (const texts of [english, german]) {
    const tasks = ["attention.title", "attention.count.one", "attention.count.other", "attention.none"].map((key) => texts[key].toLowerCase());
    const word = texts["filter.staff"].toLowerCase().replace(/^needs |^braucht /, "");
    assert.ok(tasks.every((task) => !task.includes(word)), `${word}: ${tasks}`);
  }
});
