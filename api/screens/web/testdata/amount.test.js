import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAmount, multiply, parseAmount, sum } from "./amount.js";

const total = sum([multiply(parseAmount("0.10"), 3), parseAmount("1234.5"), parseAmount("7")]);

test("amounts are exact, with the digits that they came with", () => {
  assert.deepEqual(total, { units: 124_180n, digits: 2 });
  assert.equal(formatAmount(total, "en"), "1,241.80");
  assert.equal(formatAmount(parseAmount("12345678901234567890"), "en"), "12,345,678,901,234,567,890");
});

test("a currency stands where the language has it", () => {
  assert.equal(formatAmount(total, "en", "EUR"), "€1,241.80");
  assert.equal(formatAmount(total, "de", "EUR").replace(/\s/g, " "), "1.241,80 €");
  assert.equal(formatAmount(parseAmount("7"), "en", "USD"), "$7");
});
