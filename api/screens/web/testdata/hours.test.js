import assert from "node:assert/strict";
import { test } from "node:test";
import { Hours } from "./hours.js";

const t = (key, values = {}) => [key, ...Object.values(values)].join(" ");
t.timeIn = (when, zone) => `${when.toISOString().slice(11, 16)} in ${zone}`;
t.dayTimeIn = (when, zone) => `${when.toISOString().slice(5, 16)} in ${zone}`;

const MINUTE = 60_000;
const view = (more) => ({ open: true, closes_at: null, opens_at: null, last_call_ms: 30 * MINUTE, time_zone: "Europe/Berlin", ...more });
// told returns hours that were told at 20:00 of the gateway, which is the instant 1000.
function told(hours) {
  const created = new Hours();
  created.receive("picture", { now: "2026-05-01T20:00:00.000Z", hours }, 1000);
  return created;
}
const at = (minutes) => 1000 + minutes * MINUTE; // after 20:00

test("a range without hours is open, and never says anything", () => {
  const hours = told(undefined);
  assert.deepEqual(hours.at(at(0)), { state: "open", when: null });
  assert.equal(hours.sentence(t, at(0)), "");
  assert.equal(hours.room(0, at(0)), Infinity);
});

test("the last call begins by itself, and so does the closing", () => {
  const hours = told(view({ closes_at: "2026-05-01T21:00:00.000Z" }));
  assert.equal(hours.sentence(t, at(29)), "");
  assert.equal(hours.sentence(t, at(30)), "hours.last_call_until 21:00 in Europe/Berlin");
  assert.equal(hours.sentence(t, at(60)), "hours.closed");
  assert.equal(hours.room(20 * MINUTE, at(30)), 10);
  assert.equal(hours.room(20 * MINUTE, at(50)), 0);
  assert.equal(hours.room(0, at(60)), 0);
  hours.receive("beat", { now: "2026-05-01T21:00:02.000Z", hours: view({ open: false, opens_at: "2026-05-02T07:00:00.000Z" }) }, at(60) + 2000);
  assert.equal(hours.sentence(t, at(61)), "hours.closed_until 05-02T07:00 in Europe/Berlin");
  assert.deepEqual(hours.at(at(11 * 60)), { state: "open", when: null }, "it has opened");
});

test("a beat without hours leaves them, a picture without them takes them away", () => {
  const hours = told(view({ open: false }));
  hours.receive("beat", { now: "2026-05-01T20:00:02.000Z" }, 3000);
  assert.equal(hours.sentence(t, 3000), "hours.closed");
  hours.receive("picture", { now: "2026-05-01T20:00:04.000Z" }, 5000);
  assert.equal(hours.sentence(t, 5000), "");
});

test("a change that says that there are none takes them away, as on a lane whose next session is of another group", () => {
  const hours = told(view({ closes_at: "2026-05-01T21:00:00.000Z" }));
  hours.receive("change", { now: "2026-05-01T20:00:02.000Z" }, 3000);
  assert.equal(hours.at(at(60)).state, "closed");
  hours.receive("change", { now: "2026-05-01T20:00:04.000Z", hours: null }, 5000);
  hours.receive("beat", { now: "2026-05-01T20:00:06.000Z" }, 7000);
  assert.deepEqual(hours.at(at(60)), { state: "open", when: null });
});

test("a lane closes with its bay, and for a session with the group of that", () => {
  const part = (more) => ({ open: true, closes_at: null, opens_at: null, ...more });
  const hours = told(view({ closes_at: "2026-05-01T22:00:00.000Z", parts: [
    part({ bay_id: "b", closes_at: "2026-05-01T20:20:00.000Z" }), part({ group_id: "g", closes_at: "2026-05-01T20:10:00.000Z" }),
    part({ bay_id: "c", open: false, opens_at: "2026-05-02T07:00:00.000Z" }), part({ group_id: "h", open: false }),
  ] }));
  const said = (lane, minutes = 0) => hours.sentenceOfLane(t, lane, at(minutes));
  assert.equal(said({ bay_id: "a", session: null }), "");
  assert.equal(said({ bay_id: "b", session: null }), "hours.last_call_until 20:20 in Europe/Berlin");
  assert.equal(said({ bay_id: "b", session: { group_id: "g" } }), "hours.last_call_until 20:10 in Europe/Berlin");
  assert.equal(said({ bay_id: "a", session: { group_id: "g" } }), "hours.last_call_until 20:10 in Europe/Berlin");
  assert.equal(said({ bay_id: "b", session: { group_id: "g" } }, 15), "hours.closed", "the group has to leave");
  assert.equal(said({ bay_id: "c", session: null }), "hours.closed_until 05-02T07:00 in Europe/Berlin");
  assert.equal(said({ bay_id: "c", session: { group_id: "h" } }), "hours.closed", "nobody knows when both are open");
  assert.equal(hours.sentence(t, at(0)), "");
  assert.deepEqual(hours.sentencesOfParts(t, at(0), (of) => of.bay_id ?? of.group_id), [
    "hours.part b hours.last_call_until 20:20 in Europe/Berlin", "hours.part g hours.last_call_until 20:10 in Europe/Berlin",
    "hours.part c hours.closed_until 05-02T07:00 in Europe/Berlin", "hours.part h hours.closed",
  ]);
});

test("a part that closes with the range says nothing of its own", () => {
  const closes_at = "2026-05-01T20:20:00.000Z";
  const hours = told(view({ closes_at, parts: [{ bay_id: "b", open: true, closes_at, opens_at: null }] }));
  assert.equal(hours.sentence(t, at(0)), "hours.last_call_until 20:20 in Europe/Berlin");
  assert.equal(hours.sentenceOfLane(t, { bay_id: "b", session: null }, at(0)), "");
  assert.deepEqual(hours.sentencesOfParts(t, at(0), () => ""), []);
});

test("a message that was late is counted from when it was sent", () => {
  const hours = told(view({ closes_at: "2026-05-01T21:00:00.000Z" }));
  hours.shiftSentAt(30 * MINUTE);
  assert.equal(hours.at(at(0)).state, "last_call");
});

test("a refusal says what fits", () => {
  const hours = told(view({ closes_at: "2026-05-01T21:00:00.000Z" }));
  const closes = new Date("2026-05-01T21:00:00.000Z");
  assert.equal(hours.refusal(t, { closes, most: 5 }), "after_closing.fits 21:00 in Europe/Berlin 5");
  assert.equal(hours.refusal(t, { closes, most: 0 }), "after_closing.none 21:00 in Europe/Berlin");
  assert.equal(hours.refusal(t, { closes: null, most: 0 }), "after_closing.closed");
});
