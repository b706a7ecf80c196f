import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";

globalThis.document = Object.assign(new EventTarget(), { hidden: false });
globalThis.window = new EventTarget();
const every = globalThis.setInterval;
globalThis.setInterval = (...of) => every(...of).unref(); // a stream watches for as long as its page is open
const { Stream } = await import("./stream.js");
const { events } = await import("./events.js");

// A gateway whose next streams answer as `answers` says, one after the other.
const answers = [];
const server = createServer((request, response) => (answers.shift() ?? assert.fail("nobody was to ask"))(response)).listen(0, "127.0.0.1");
await once(server, "listening");
const bound = { timeout: 30_000 }; // what never comes fails
const address = `http://127.0.0.1:${server.address().port}/stream`;
after(() => {
  server.closeAllConnections();
  server.close();
});

const sse = (response) => response.writeHead(200, { "Content-Type": "text/event-stream" });

// watched opens a stream; told(n) waits for the nth thing that it tells.
function watched(unseen) {
  const all = [];
  let wake = () => {};
  const tell = (...what) => {
    all.push(what);
    wake();
  };
  const stream = new Stream(address, {
    heard: (name, data) => tell("heard", name, data), earlier: (ms) => tell("earlier", ms), contact: (lost) => tell("contact", lost !== null), refused: () => tell("refused"),
  }, unseen);
  stream.open();
  return {
    stream,
    all,
    async told(n) {
      while (all.length < n) {
        await new Promise((resolve) => (wake = resolve));
      }
      return all[n - 1];
    },
  };
}

test("messages arrive whole, however they are cut", bound, async () => {
  const text = Buffer.from('event: picture\ndata: {"who":"Zoë"}\n\n: a comment\n\nevent: beat\r\ndata: {}\r\n\r\nevent: bye\n\nevent: half\n');
  for (const size of [1, 2, 3, 7, text.length]) {
    const heard = [];
    const body = new ReadableStream({
      start(to) {
        for (let at = 0; at < text.length; at += size) {
          to.enqueue(text.subarray(at, at + size));
        }
        to.close();
      },
    });
    await events(body, (...event) => heard.push(event));
    assert.deepEqual(heard, [["picture", '{"who":"Zoë"}'], ["beat", "{}"], ["bye", ""]], `in pieces of ${size}`);
  }
});

test("a connection that is cut, and a gateway that is not ready, are tried again by themselves", bound, async () => {
  answers.push(
    (response) => sse(response).end('event: picture\ndata: {"n":1}\n\n'),
    (response) => response.writeHead(503).end(),
    (response) => response.destroy(),
    (response) => sse(response).write('event: picture\ndata: {"n":2}\n\n'),
  );
  const { stream, all, told } = watched();
  assert.deepEqual(await told(1), ["heard", "picture", { n: 1 }]);
  for (let n = 2; ; n++) {
    const what = await told(n);
    if (what[0] === "heard") {
      assert.deepEqual(what, ["heard", "picture", { n: 2 }]);
      break;
    }
  }
  assert.ok(!all.some(([what]) => what === "refused"));
  assert.deepEqual(all.filter(([what]) => what === "contact").map(([, lost]) => lost).slice(-1), all.some(([what]) => what === "contact") ? [false] : []);
  stream.close();
});

test("a session that is over closes the stream, whether it says so or is refused", bound, async () => {
  answers.push((response) => sse(response).write("event: bye\ndata: {}\n\n"));
  const said = watched();
  assert.deepEqual(await said.told(1), ["refused"]);
  assert.equal(said.stream.isOpen, false);

  answers.push((response) => response.writeHead(401).end());
  const refused = watched();
  assert.deepEqual(await refused.told(1), ["refused"]);
  assert.equal(refused.stream.isOpen, false);

  answers.push((response) => sse(response).write('event: picture\ndata: {"n":3}\n\n'));
  refused.stream.open();
  assert.deepEqual(await refused.told(2), ["heard", "picture", { n: 3 }]);
  refused.stream.close();
});

test("a connection that is doubted is made anew at once, and contact is lost when that gets no answer", bound, async () => {
  answers.push((response) => sse(response).write('event: picture\ndata: {"n":5}\n\n'), () => {});
  const { stream, told } = watched();
  assert.equal((await told(1))[1], "picture");
  stream.renew();
  assert.deepEqual(await told(2), ["contact", true]);
  stream.close();
  stream.renew();
  assert.equal(stream.isOpen, false);
});

test("a picture that was held up on the way is put right by what comes after it", bound, async () => {
  const message = (name, sent) => `event: ${name}\ndata: ${JSON.stringify({ now: new Date(sent).toISOString() })}\n\n`;
  answers.push((response) => {
    const picture = message("picture", Date.now());
    setTimeout(() => {
      sse(response).write(picture);
      const beats = every(() => response.write(message("beat", Date.now())), 50);
      response.on("close", () => clearInterval(beats));
    }, 400);
  });
  const { stream, told } = watched();
  assert.equal((await told(1))[1], "picture");
  for (let n = 2; (await told(n))[0] !== "earlier"; n++);
  stream.close();
});

test("a message that comes late is followed by a new connection, whose picture is fresh", bound, async () => {
  const sent = Date.now();
  const message = (name, ago) => `event: ${name}\ndata: ${JSON.stringify({ now: new Date(sent - ago).toISOString() })}\n\n`;
  answers.push(
    (response) => {
      sse(response).write(message("picture", 0) + message("beat", 60_000));
      const beats = every(() => response.write("event: beat\ndata: {}\n\n"), 100); // it is not silent
      response.on("close", () => clearInterval(beats));
    },
    (response) => sse(response).write('event: picture\ndata: {"n":4}\n\n'),
  );
  const { stream, all, told } = watched();
  assert.equal((await told(1))[1], "picture");
  for (let n = 2; (await told(n))[1] !== "picture"; n++);
  assert.deepEqual(all.at(-1), ["heard", "picture", { n: 4 }]);
  stream.close();
});

test("a tab that nobody looks at gives its connection up, and has another one when somebody does", bound, async () => {
  let gone;
  const cut = new Promise((resolve) => (gone = resolve));
  answers.push(
    (response) => sse(response).write('event: picture\ndata: {"n":8}\n\n', () => response.on("close", gone)),
    (response) => sse(response).write('event: picture\ndata: {"n":9}\n\n'),
  );
  const { stream, all, told } = watched(5);
  assert.deepEqual(await told(1), ["heard", "picture", { n: 8 }]);
  document.hidden = true;
  document.dispatchEvent(new Event("visibilitychange"));
  await cut;
  assert.equal(stream.isOpen, true);
  document.hidden = false;
  document.dispatchEvent(new Event("visibilitychange"));
  assert.deepEqual(await told(2), ["heard", "picture", { n: 9 }]);
  assert.equal(all.length, 2, "nothing is said of lost contact");
  stream.close();
});
