import assert from "node:assert/strict";
import { test } from "node:test";
import { LAST, SOON, markOf, warningOf } from "./marks.js";

const t = (key, values) => [key, values?.minutes].filter((part) => part !== undefined).join(" ");

test("a session that is not warned is marked in its last five minutes, and in the last one", () => {
  assert.equal(markOf({}, SOON + 1), undefined);
  assert.deepEqual(markOf({}, SOON), { mark: "soon", from: SOON });
  assert.deepEqual(markOf({}, LAST), { mark: "last", from: LAST });
});

test("one that is warned is marked from its first and its last warning on", () => {
  const session = { soon_ms: 600_000, last_ms: 120_000 };
  assert.equal(markOf(session, 600_001), undefined);
  assert.equal(warningOf(t, markOf(session, 600_000), 600_000), "warning.soon 10");
  assert.equal(warningOf(t, markOf(session, 120_000), 120_000), "warning.soon 2");
  assert.equal(warningOf(t, markOf({ soon_ms: 600_000 }, 1), 1), "warning.last");
  assert.equal(warningOf(t, markOf({}, 0), 0), "warning.over");
});
