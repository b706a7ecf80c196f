import assert from "node:assert/strict";
import { test } from "node:test";
import english from "./texts.en.js";
import { span } from "./times.js";

const t = (key, values = {}) => english[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);

test("a time has its two largest units, and no more than has passed", () => {
  const second = 1_000;
  const spans = [-5, 0, 999, 14 * second, 59_999, 60 * second, 3_599 * second, 3_600 * second, 7_500 * second, 86_399 * second, 86_400 * second, 100 * 3_600 * second];
  assert.deepEqual(spans.map((ms) => span(t, ms)), ["0 s", "0 s", "0 s", "14 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "2 h 5 min", "23 h 59 min", "1 d 0 h", "4 d 4 h"]);
});
