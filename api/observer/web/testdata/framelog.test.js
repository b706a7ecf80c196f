import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameLog, MOST } from "./framelog.js";

const frames = (...kinds) => ({ frames: kinds.map((kind) => ({ kind })), dropped: 0 });
const kinds = (log, pings) => log.newest(pings).map(({ kind }) => kind);

test("the newest frame comes first, and pings only if they are wanted", () => {
  const log = new FrameLog();
  log.add(frames("hello", "ping"));
  log.add(frames("pong", "state"));
  assert.deepEqual(kinds(log, false), ["state", "hello"]);
  assert.deepEqual(kinds(log, true), ["state", "pong", "ping", "hello"]);
  assert.equal(log.count, 4);
});

test("only the newest ones are kept, and pings push out no others", () => {
  const log = new FrameLog();
  log.add(frames("hello"));
  for (let n = 0; n < 3 * MOST; n++) {
    log.add(frames("ping"));
  }
  assert.deepEqual(kinds(log, false), ["hello"]);
  assert.equal(kinds(log, true).length, MOST);
  log.add(frames(...Array(MOST).fill("state")));
  assert.equal(kinds(log, false).includes("hello"), false);
  assert.equal(log.count, 4 * MOST + 1);
});

test("what the gateway has dropped is counted", () => {
  const log = new FrameLog();
  log.add({ frames: [], dropped: 3 });
  log.add({ frames: [], dropped: 4 });
  assert.deepEqual([log.count, log.dropped], [0, 7]);
});
