// The POS, which sees the range through the API alone, and what a story does to the world around the screens.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PATIENCE, eventually, scene } from "./story.mjs";

// ask makes one request below /api/v2/pos and answers {status, text}.
export async function ask(method, path, body, key) {
  const response = await fetch(`${scene.api}/api/v2/pos${path}`, {
    method, headers: { "range-id": scene.range, token: scene.token, "Content-Type": "application/json", ...(key && { "Idempotency-Key": key }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

// pos makes a request below /api/v2/pos and answers its body. It is answered with that status. As a POS it repeats, with one key, what is
// refused because the store of a busy machine takes its time, and what nobody knows. A simulation takes no key.
export async function pos(method, path, body, status = method === "GET" ? 200 : 204) {
  const key = method === "GET" || path.startsWith("/simulate/") ? undefined : randomUUID();
  const isForNow = (answer) => isStoreAway(answer) || (answer.status === 504 && (key || method === "GET"));
  const answer = await repeat(() => ask(method, path, body, key), isForNow);
  assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
  return answer.text === "" ? null : JSON.parse(answer.text);
}

// isStoreAway is true of an answer after which nothing was changed.
const isStoreAway = ({ status, text }) => status === 503 && JSON.parse(text).code === "store_unavailable";

// repeat makes a request again while its answer is one for now.
async function repeat(make, isForNow) {
  for (const end = Date.now() + PATIENCE; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const answer = await make();
    if (!isForNow(answer) || Date.now() > end) {
      return answer;
    }
  }
}

// operate makes a request of an operator about the range, and answers its body.
export async function operate(method, path, body) {
  const operations = await (await fetch(`${scene.world}/operations`)).text(); // another address each time that the gateway starts
  const { status, text } = await repeat(async () => {
    const response = await fetch(`${operations}/ranges/${scene.range}${path}`, {
      method, headers: { Authorization: `Bearer ${scene.operator}`, "Content-Type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  }, isStoreAway);
  assert.equal(status, 200, `${method} ${path}: ${text}`);
  return JSON.parse(text);
}

export const sessions = () => pos("GET", "/sessions");

// sessionOn is the one session that the POS sees on the lane.
export async function sessionOn(n) {
  return (await sessions()).find((session) => session.lane_id === scene.lanes[n - 1].id);
}

// order is what a sale of the lane asks for.
export const order = (n, customer, more = {}) => ({
  customer_name: customer, lane_id: scene.lanes[n - 1].id, group_id: "33333333-3333-4333-8333-000000000001", duration: 60,
  enable_purchasing: true, ...more,
});

// sell begins a session as the POS does, and answers it.
export const sell = (n, customer, more) => pos("POST", "/sessions", order(n, customer, more), 201);

export const advance = (session, minutes) => pos("POST", "/simulate/advance", { session_id: session, minutes });

// runDown lets the session on the lane run until so many minutes are left, however long the story took to come here.
export async function runDown(n, minutes) {
  const { session_id, minutes_remaining } = await sessionOn(n);
  await advance(session_id, minutes_remaining - minutes);
}

// leave gives the session on the lane so many minutes, less than an hour, whether it has more or less by now.
export async function leave(n, minutes) {
  await pos("POST", `/sessions/${(await sessionOn(n)).session_id}/modify?time=60`);
  await runDown(n, minutes);
}

// linked waits until the controllers of all lanes are reached.
export const linked = () =>
  eventually("every link is up", async () => (await pos("GET", "/lanes/status")).every((lane) => lane.link === "up"));

// changeWorld asks for what no screen can do: see world_test.go.
export async function changeWorld(path, body = {}) {
  const response = await fetch(scene.world + path, { method: "POST", body: JSON.stringify(body) });
  assert.equal(response.status, 200, path);
}

// controller is what the hardware of the lane has in force: {open, session}.
export async function controller(n) {
  return (await fetch(`${scene.world}/lane/${n}`)).json();
}

// got waits until the webhook has got exactly these events about the session, in their order.
export async function got(session, ...kinds) {
  let arrived;
  const about = async () => {
    arrived = (await (await fetch(`${scene.world}/arrived`)).json()).filter((event) => event.session_id === session);
    return arrived.length >= kinds.length;
  };
  await eventually(`the webhook gets ${kinds}`, about).catch(() => {});
  assert.deepEqual(arrived.map(({ event }) => event), kinds);
  return arrived;
}
