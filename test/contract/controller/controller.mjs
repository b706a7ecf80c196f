// A lane controller, written from docs/hardware.md alone: it shares no code with the gateway. It serves one lane on
// 127.0.0.1, or dials the URL in the variable GATEWAY; it does what its input says (one word a line, see `does`), and prints a line of JSON whenever something else
// is in force.
import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { createInterface } from "node:readline";
import { WebSocket, WebSocketServer } from "ws";

const [laneId, key, mistake] = process.argv.slice(2); // a mistake to make, for the test of the exam
const log = { id: randomUUID(), seq: 0, kept: [] }; // reports that are not acknowledged
const lane = { hold: false, session: null, purchase: null, since: 0, faults: [] };
let epoch = 0;
let gateway = null; // the newest connection of a gateway that has proven that it has the key
let revision = 0;

const running = () => lane.session?.phase === "running" && !lane.hold;
const passed = () => (running() ? Date.now() - lane.since : 0);
const remaining = () => (lane.session === null ? null : Math.max(0, lane.session.remaining_ms - passed()));
// beyond is for how long the line stays open once what remains is used up.
const beyond = () =>
  mistake === "closes at zero" ? 0 : Math.max(0, (lane.session?.beyond_ms ?? 0) - Math.max(0, passed() - (lane.session?.remaining_ms ?? 0)));
const open = () => running() && remaining() + beyond() > 0;

function show() {
  console.log(JSON.stringify({
    open: open(), hold: lane.hold, session: lane.session?.session_id ?? null, phase: lane.session?.phase ?? null,
    customer: lane.session?.customer_name ?? null, remaining_ms: remaining(), beyond_ms: beyond(), purchase: lane.purchase, kept: log.kept.length,
  }));
}

function send(message) {
  gateway?.send(JSON.stringify(message));
}

function report(kind, more = {}) {
  const happened = { seq: ++log.seq, session_id: lane.session?.session_id ?? null, kind, at: Date.now(), ...more };
  log.kept.push(happened);
  show();
  tell(happened);
}

function tell({ at, ...happened }) {
  send({ type: "report", ...happened, age_ms: Date.now() - at });
}

// prove is the proof of a side: HMAC-SHA256 under the key, over the lines.
const prove = (...lines) => createHmac("sha256", key).update(lines.join("\n")).digest();

// greet answers a gateway's hello. Nothing else changes until the gateway has proven itself.
function greet(socket, hello) {
  const older = hello.epoch < epoch && mistake !== "lets anybody in";
  if (hello.protocol !== 1 || hello.lane_id !== laneId || older || (hello.challenge === undefined && mistake !== "asks for no challenge")) {
    socket.close(1008, "not for me");
    return;
  }
  socket.hello = hello;
  socket.challenge = randomBytes(32).toString("base64url");
  if (mistake === "remembers every epoch") epoch = Math.max(epoch, hello.epoch);
  if (mistake === "forgets") Object.assign(lane, { hold: false, session: null });
  socket.send(JSON.stringify({
    type: "hello", protocol: 1, lane_id: laneId, log_id: log.id, firmware: "node",
    state: {
      hold: lane.hold, session_id: lane.session?.session_id ?? null, phase: lane.session?.phase ?? null,
      remaining_ms: remaining(), ...(beyond() > 0 ? { beyond_ms: beyond() } : {}), faults: lane.faults,
    },
    capabilities: ["open_end"],
    challenge: socket.challenge,
    proof: prove("rangegate.lane.v1 controller", laneId, hello.challenge, socket.challenge, log.id).toString("base64url"),
  }));
}

// believe makes the connection the lane's, once its first state has proven that the gateway has the key.
function believe(socket, proof) {
  const { challenge, epoch: proven } = socket.hello;
  const wanted = prove("rangegate.lane.v1 gateway", laneId, socket.challenge, challenge, String(proven));
  const given = Buffer.from(String(proof), "base64url");
  const valid = given.length === wanted.length && timingSafeEqual(given, wanted);
  if ((!valid && mistake !== "believes every proof") || (proven < epoch && mistake !== "lets anybody in")) {
    socket.close(1008, "not my gateway");
    return false;
  }
  epoch = proven;
  if (mistake !== "keeps every connection") gateway?.close(1000, "replaced");
  gateway = socket;
  revision = 0;
  log.kept.forEach(tell);
  return true;
}

let countdown = null;
function take(state) {
  if (revision > 0 && state.revision < revision && mistake !== "takes older states") return;
  revision = state.revision;
  Object.assign(lane, { hold: state.hold, session: state.session, purchase: state.purchase, since: Date.now() });
  clearTimeout(countdown);
  if (open()) countdown = setTimeout(show, remaining() + beyond()); // at zero, or at the bound, it locks by itself
  if (mistake !== "confirms nothing") send({ type: "applied", revision });
  show();
}

function hear(socket, message) {
  switch (message.type) {
    case "hello":
      greet(socket, message);
      break;
    case "state":
      if (socket === gateway || (socket.hello && !socket.proven && believe(socket, message.proof))) {
        socket.proven = true; // once another connection has replaced it, what comes on it counts no more
        take(message);
      }
      break;
    case "ack":
      if (socket !== gateway) break;
      if (message.log_id === log.id) log.kept = log.kept.filter(({ seq }) => seq > message.seq);
      show();
      break;
  }
}

const SUBPROTOCOL = "rangegate.lane.v1";
const maxPayload = 16 * 1024;

function serve(socket) {
  socket.on("message", (data) => hear(socket, JSON.parse(data)));
  socket.on("close", () => {
    if (gateway === socket) gateway = null;
  });
}

function listen() {
  const server = new WebSocketServer({
    host: "127.0.0.1", port: 0, maxPayload, handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });
  server.on("listening", () => console.log(JSON.stringify({ port: server.address().port })));
  server.on("connection", serve);
}

const SILENCE = 15_000;
let failures = 0;

// dial connects to the gateway, and again whenever the connection has ended: with full jitter below a ceiling that doubles from
// 250 ms to 15 s, or after as long as a busy gateway says.
function dial(url) {
  let pause = null;
  const socket = new WebSocket(url, [SUBPROTOCOL], { maxPayload, followRedirects: true, handshakeTimeout: 5000 });
  const heard = () => {
    clearTimeout(socket.silence);
    if (mistake !== "never gives up") socket.silence = setTimeout(() => socket.terminate(), SILENCE);
  };
  const again = () => {
    clearTimeout(socket.silence);
    failures = socket.proven ? 0 : failures + 1;
    const ceiling = Math.min(250 * 2 ** failures, 15_000);
    if (mistake === "comes back at once" && pause) pause = 1;
    setTimeout(() => dial(url), pause || Math.random() * ceiling);
  };
  socket.on("open", heard);
  socket.on("ping", heard);
  socket.on("message", heard);
  socket.on("unexpected-response", (request, response) => {
    if (response.statusCode === 503) pause = Number(response.headers["retry-after"]) * 1000 + Math.random() * 1000;
    socket.terminate();
  });
  socket.on("error", () => {}); // close follows
  socket.on("close", again);
  serve(socket);
}

if (process.env.GATEWAY) {
  console.log(JSON.stringify({ port: 0 }));
  dial(process.env.GATEWAY);
} else {
  listen();
}

const does = {
  enter: () => report("entered"),
  help: () => report("help"),
  hit: () => report("carrier_hit"),
  buy: () => report("purchase", { purchase_id: randomUUID(), items: [{ id: "time", qty: 15 }] }),
  fault: () => {
    lane.faults = ["the carrier is stuck"];
    report("fault", { detail: lane.faults[0] });
  },
  mend: () => {
    lane.faults = [];
    report("fault_cleared");
  },
  unplug: () => gateway?.terminate(),
};
createInterface({ input: process.stdin }).on("line", (word) => does[word]()).on("close", () => process.exit(0));
