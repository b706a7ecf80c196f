import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery, writeQuery } from "./query.js";

const NORTH = "11111111-1111-4111-8111-111111111111";
const nothing = { range: "", kind: "", state: "", trouble: false, search: "", sort: "trouble", limit: 0 };

test("what the controls choose stands in the address, and comes from there", () => {
  const chosen = { range: NORTH, kind: "lane", state: "saving", trouble: true, search: "lane 7 & 8", sort: "age", limit: 300 };
  assert.equal(writeQuery(chosen), `?range=${NORTH}&kind=lane&state=saving&trouble=true&search=lane+7+%26+8&sort=age&limit=300`);
  assert.deepEqual(readQuery(writeQuery(chosen)), chosen);
});

test("an address has only what was chosen", () => {
  assert.deepEqual(readQuery(""), nothing);
  assert.equal(writeQuery(nothing), "");
  assert.equal(writeQuery({ ...nothing, kind: "events" }), "?kind=events");
});

test("what the gateway would refuse is not chosen", () => {
  assert.deepEqual(readQuery("?range=north&kind=robot&state=a-b&trouble=yes&sort=colour&limit=501&other=1"), nothing);
  assert.equal(readQuery("?limit=0").limit, 0);
  assert.equal(readQuery(`?search=${"x".repeat(101)}`).search.length, 100);
  assert.equal(readQuery(`?range=${NORTH.toUpperCase()}`).range, NORTH);
});
