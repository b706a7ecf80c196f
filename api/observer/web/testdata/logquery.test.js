import assert from "node:assert/strict";
import { test } from "node:test";
import { Newest, fieldsOf, readLogQuery, writeLogQuery } from "./logquery.js";

const NORTH = "11111111-1111-4111-8111-111111111111";
const LANE = "44444444-4444-4444-8444-000000000001";
const nothing = { range: "", lane: "", level: "debug", text: "" };

test("the filter of the log stands in the address, and comes from there", () => {
  const chosen = { range: NORTH, lane: LANE, level: "warn", text: "link & down" };
  assert.equal(writeLogQuery(chosen), `?range=${NORTH}&lane=${LANE}&text=link+%26+down&level=warn`);
  assert.deepEqual(readLogQuery(writeLogQuery(chosen)), chosen);
  assert.deepEqual(readLogQuery(""), nothing);
  assert.equal(writeLogQuery(nothing), "");
});

test("what the gateway would refuse is no filter", () => {
  assert.deepEqual(readLogQuery("?range=north&lane=1&level=loud&other=1"), nothing);
  assert.equal(readLogQuery(`?text=${"x".repeat(101)}`).text.length, 100);
});

test("a line is its message with its other fields behind it", () => {
  const line = { level: "warn", range_id: NORTH, retry_in: 3, late: null, to: ["a"], time: "2026-05-01T12:00:00Z", message: "link down" };
  assert.deepEqual(fieldsOf(line), [["range_id", NORTH], ["retry_in", "3"], ["late", "null"], ["to", '["a"]']]);
});

test("the newest rows are kept, and the others counted", () => {
  const newest = new Newest(3);
  assert.deepEqual(newest.take(), { rows: [], left: 0 });
  for (let i = 1; i <= 20; i++) {
    newest.add(i);
    assert.equal(newest.length, i);
  }
  assert.deepEqual(newest.take(), { rows: [18, 19, 20], left: 17 });
  newest.add(21);
  assert.deepEqual(newest.take(), { rows: [21], left: 0 });
});
