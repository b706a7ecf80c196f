import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";

globalThis.document = Object.assign(new EventTarget(), { hidden: false });
globalThis.window = new EventTarget();
const every = globalThis.setInterval;
globalThis.setInterval = (...args) => every(...args).unref(); // a stream keeps its timer while its page is open
let ahead = 0; // ms by which the page's clock was moved on
const elapsed = performance.now.bind(performance);
performance.now = () => elapsed() + ahead;
const { Stream, readEvents } = await import("./stream.js");

// A gateway whose next streams get these responses, one after the other.
const responses = [];
const server = createServer((request, response) => (responses.shift() ?? assert.fail("unexpected request"))(response, request)).listen(0, "127.0.0.1");
await once(server, "listening");
const bound = { timeout: 30_000 }; // ms
const address = `http://127.0.0.1:${server.address().port}/stream`;
after(() => {
  server.closeAllConnections();
  server.close();
});

const sse = (response) => response.writeHead(200, { "Content-Type": "text/event-stream" });

// openStream opens a stream with these handlers beside those that are recorded; call(n) waits for the nth call of its handlers.
function openStream(hiddenTimeout, more = () => ({})) {
  const calls = [];
  let wake = () => {};
  const record = (...call) => {
    calls.push(call);
    wake();
  };
  const stream = new Stream(address, {
    message: (name, data) => record("message", name, data), sentEarlier: (ms) => record("sentEarlier", ms),
    contact: (lost) => record("contact", lost !== null), refused: () => record("refused"), ...more(record),
  }, hiddenTimeout);
  stream.open();
  return {
    stream,
    calls,
    async call(n) {
      while (calls.length < n) {
        await new Promise((resolve) => (wake = resolve));
      }
      return calls[n - 1];
    },
  };
}

test("messages are parsed whole, however they are split", bound, async () => {
  const text = Buffer.from('event: picture\ndata: {"who":"Zoë"}\n\n: a comment\n\nevent: beat\r\ndata: {}\r\n\r\nevent: bye\n\nevent: half\n');
  for (const size of [1, 2, 3, 7, text.length]) {
    const received = [];
    const body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += size) {
          controller.enqueue(text.subarray(at, at + size));
        }
        controller.close();
      },
    });
    await readEvents(body, (...event) => received.push(event));
    assert.deepEqual(received, [["picture", '{"who":"Zoë"}'], ["beat", "{}"], ["bye", ""]], `in pieces of ${size}`);
  }
});

test("an interrupted connection, and a gateway that is not ready, are retried automatically", bound, async () => {
  responses.push(
    (response) => sse(response).end('event: picture\ndata: {"n":1}\n\n'),
    (response) => response.writeHead(503).end(),
    (response) => response.destroy(),
    (response) => sse(response).write('event: picture\ndata: {"n":2}\n\n'),
  );
  const { stream, calls, call } = openStream();
  assert.deepEqual(await call(1), ["message", "picture", { n: 1 }]);
  for (let n = 2; ; n++) {
    const received = await call(n);
    if (received[0] === "message") {
      assert.deepEqual(received, ["message", "picture", { n: 2 }]);
      break;
    }
  }
  assert.ok(!calls.some(([what]) => what === "refused"));
  assert.deepEqual(calls.filter(([what]) => what === "contact").map(([, lost]) => lost).slice(-1), calls.some(([what]) => what === "contact") ? [false] : []);
  stream.close();
});

test("the end of a session closes the stream, by its last message or by a refusal", bound, async () => {
  responses.push((response) => sse(response).write("event: bye\ndata: {}\n\n"));
  const ended = openStream();
  assert.deepEqual(await ended.call(1), ["refused"]);
  assert.equal(ended.stream.isOpen, false);

  responses.push((response) => response.writeHead(401).end());
  const refused = openStream();
  assert.deepEqual(await refused.call(1), ["refused"]);
  assert.equal(refused.stream.isOpen, false);

  responses.push((response) => sse(response).write('event: picture\ndata: {"n":3}\n\n'));
  refused.stream.open();
  assert.deepEqual(await refused.call(2), ["message", "picture", { n: 3 }]);
  refused.stream.close();
});

test("each connection has the headers of that moment, and may follow another address", bound, async () => {
  const asked = [];
  const answer = (n) => (response, request) => {
    asked.push([request.url, request.headers.authorization]);
    sse(response).write(`event: picture\ndata: {"n":${n}}\n\n`);
  };
  responses.push(answer(1), answer(2));
  let token = "one";
  const { stream, calls, call } = openStream(undefined, () => ({ headers: () => ({ Authorization: `Bearer ${token}` }) }));
  assert.deepEqual(await call(1), ["message", "picture", { n: 1 }]);
  token = "two";
  stream.follow(`${address}?range=north`);
  assert.deepEqual(await call(2), ["message", "picture", { n: 2 }]);
  assert.deepEqual(asked, [["/stream", "Bearer one"], ["/stream?range=north", "Bearer two"]]);
  assert.equal(calls.length, 2);
  stream.close();
});

test("what there is not is asked for once, if the page can say so", bound, async () => {
  responses.push((response) => response.writeHead(404).end(), (response) => sse(response).write('event: picture\ndata: {"n":4}\n\n'));
  const { stream, call } = openStream(undefined, (record) => ({ rejected: (status) => record("rejected", status) }));
  assert.deepEqual(await call(1), ["rejected", 404]);
  assert.equal(stream.isOpen, false);
  stream.follow(address);
  assert.deepEqual(await call(2), ["message", "picture", { n: 4 }]);
  stream.close();
});

test("renew replaces the connection at once, and reports lost contact without a response", bound, async () => {
  responses.push((response) => sse(response).write('event: picture\ndata: {"n":5}\n\n'), () => {});
  const { stream, call } = openStream();
  assert.equal((await call(1))[1], "picture");
  stream.renew();
  assert.deepEqual(await call(2), ["contact", true]);
  stream.close();
  stream.renew();
  assert.equal(stream.isOpen, false);
});

test("a gateway that hangs is told, and called again, after four seconds of silence", bound, async () => {
  let again = () => {};
  const calledAgain = new Promise((resolve) => (again = resolve));
  responses.push(
    (response) => sse(response).write('event: picture\ndata: {"n":6}\n\n'),
    (response) => again(response),
  );
  const { stream, calls, call } = openStream();
  assert.equal((await call(1))[1], "picture");
  ahead += 4_100;
  assert.deepEqual(await call(2), ["contact", true]);
  const response = await calledAgain;
  ahead += 6_000; // the new connection gets more time than that for its first message
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  assert.deepEqual(calls.slice(2), []);
  sse(response).write('event: picture\ndata: {"n":7}\n\n');
  assert.deepEqual([await call(3), await call(4)], [["contact", false], ["message", "picture", { n: 7 }]]);
  stream.close();
});

test("a late picture is corrected by the messages after it", bound, async () => {
  const message = (name, sent) => `event: ${name}\ndata: ${JSON.stringify({ now: new Date(sent).toISOString() })}\n\n`;
  responses.push((response) => {
    const picture = message("picture", Date.now());
    setTimeout(() => {
      sse(response).write(picture);
      const beats = every(() => response.write(message("beat", Date.now())), 50);
      response.on("close", () => clearInterval(beats));
    }, 400);
  });
  const { stream, call } = openStream();
  assert.equal((await call(1))[1], "picture");
  for (let n = 2; (await call(n))[0] !== "sentEarlier"; n++);
  stream.close();
});

test("a late message is followed by a new connection with a new picture", bound, async () => {
  const sent = Date.now();
  const message = (name, ago) => `event: ${name}\ndata: ${JSON.stringify({ now: new Date(sent - ago).toISOString() })}\n\n`;
  responses.push(
    (response) => {
      sse(response).write(message("picture", 0) + message("beat", 60_000));
      const beats = every(() => response.write("event: beat\ndata: {}\n\n"), 100); // it is not silent
      response.on("close", () => clearInterval(beats));
    },
    (response) => sse(response).write('event: picture\ndata: {"n":4}\n\n'),
  );
  const { stream, calls, call } = openStream();
  assert.equal((await call(1))[1], "picture");
  for (let n = 2; (await call(n))[1] !== "picture"; n++);
  assert.deepEqual(calls.at(-1), ["message", "picture", { n: 4 }]);
  stream.close();
});

test("a hidden tab closes its connection, and opens another one when it is visible", bound, async () => {
  let close;
  const closed = new Promise((resolve) => (close = resolve));
  responses.push(
    (response) => sse(response).write('event: picture\ndata: {"n":8}\n\n', () => response.on("close", close)),
    (response) => sse(response).write('event: picture\ndata: {"n":9}\n\n'),
  );
  const { stream, calls, call } = openStream(5);
  assert.deepEqual(await call(1), ["message", "picture", { n: 8 }]);
  document.hidden = true;
  document.dispatchEvent(new Event("visibilitychange"));
  await closed;
  assert.equal(stream.isOpen, true);
  document.hidden = false;
  document.dispatchEvent(new Event("visibilitychange"));
  assert.deepEqual(await call(2), ["message", "picture", { n: 9 }]);
  assert.equal(calls.length, 2, "lost contact is not reported");
  stream.close();
});

test("a stream says when a connection is open, what the gateway answers otherwise, and takes no time from what has none", bound, async () => {
  responses.push(
    (response) => response.writeHead(503).end(),
    (response) => sse(response).end('event: line\ndata: {"at":"2030-01-01T00:00:00Z"}\n\n'),
    (response) => sse(response).write('event: line\ndata: {"at":"2020-01-01T00:00:00Z"}\n\nevent: beat\ndata: {"now":"2026-01-01T00:00:00Z"}\n\n'),
  );
  const { stream, calls, call } = openStream(undefined, (record) => ({
    failed: (status) => record("failed", status), opened: () => record("opened"), untimed: (name) => name === "line",
  }));
  await call(6);
  assert.deepEqual(calls, [
    ["failed", 503], ["opened"], ["message", "line", { at: "2030-01-01T00:00:00Z" }],
    ["opened"], ["message", "line", { at: "2020-01-01T00:00:00Z" }], ["message", "beat", { now: "2026-01-01T00:00:00Z" }],
  ]);
  stream.close();
});
