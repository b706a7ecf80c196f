import assert from "node:assert/strict";
import { test } from "node:test";
import { Rates, keyOf, rate } from "./rates.js";

const at = (seconds) => new Date(1_800_000_000_000 + seconds * 1_000).toISOString();
const actor = (lane, messages, more = {}) => ({ range_id: "r", lane_id: lane, webhook: "", kind: "lane", messages, ...more });

test("messages a second come from two counts", () => {
  assert.equal(rate({ at: 1_000, messages: 10 }, { at: 3_000, messages: 17 }), 3.5);
  assert.equal(rate({ at: 1_000, messages: 10 }, { at: 2_000, messages: 10 }), 0);
});

test("nothing is known at the same instant, and of an actor that was started again", () => {
  assert.equal(rate({ at: 1_000, messages: 10 }, { at: 1_000, messages: 11 }), null);
  assert.equal(rate({ at: 1_000, messages: 10 }, { at: 2_000, messages: 9 }), null);
});

test("each actor has its own rate, from the second answer with it on", () => {
  const rates = new Rates();
  rates.receive({ at: at(0), actors: [actor("1", 0), actor("2", 5)] });
  assert.equal(rates.of(actor("1", 0)), null);
  rates.receive({ at: at(2), actors: [actor("3", 100), actor("2", 5), actor("1", 4)] });
  assert.deepEqual(["1", "2", "3", "4"].map((lane) => rates.of(actor(lane))), [2, 0, null, null]);
  rates.receive({ at: at(3), actors: [actor("3", 101)] });
  rates.receive({ at: at(4), actors: [actor("3", 102), actor("1", 5)] });
  assert.deepEqual(["1", "3"].map((lane) => rates.of(actor(lane))), [null, 1], "what was not in the answer before has no rate");
});

test("while the gateway sends nothing new, nothing happens", () => {
  const rates = new Rates();
  rates.receive({ at: at(0), actors: [actor("1", 0)] });
  rates.receive({ at: at(1), actors: [actor("1", 8)] });
  rates.rest(Date.parse(at(1)));
  assert.equal(rates.of(actor("1")), 8, "no time has passed");
  rates.rest(Date.parse(at(9)));
  assert.equal(rates.of(actor("1")), 0);
  rates.receive({ at: at(10), actors: [actor("1", 10)] });
  assert.equal(rates.of(actor("1")), 2, "since then");
});

test("a lane, its connection, and the webhooks of a range are actors of their own", () => {
  const keys = [actor("1"), actor("1", 0, { kind: "connection" }), actor(null, 0, { kind: "events", webhook: "pos" }), actor(null, 0, { kind: "events", webhook: "crm" }), actor(null, 0, { kind: "range" })].map(keyOf);
  assert.equal(new Set(keys).size, keys.length);
});
