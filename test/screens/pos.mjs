// The POS, which sees the range through the API alone, and what a story does to the world around the screens.
import assert from "node:assert/strict";
import { eventually, scene } from "./story.mjs";

// pos makes a request below /api/v2/pos and answers its body. It is answered with that status.
export async function pos(method, path, body, status = method === "GET" ? 200 : 204) {
  const response = await fetch(`${scene.api}/api/v2/pos${path}`, {
    method, headers: { "range-id": scene.range, token: scene.token, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, status, `${method} ${path}: ${text}`);
  return text === "" ? null : JSON.parse(text);
}

// operate makes a request of an operator about the range, and answers its body.
export async function operate(method, path, body) {
  const operations = await (await fetch(`${scene.world}/operations`)).text(); // another address each time that the gateway starts
  const response = await fetch(`${operations}/ranges/${scene.range}${path}`, {
    method, headers: { Authorization: `Bearer ${scene.operator}`, "Content-Type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${text}`);
  return JSON.parse(text);
}

export const sessions = () => pos("GET", "/sessions");

// sessionOn is the one session that the POS sees on the lane.
export async function sessionOn(n) {
  return (await sessions()).find((session) => session.lane_id === scene.lanes[n - 1].id);
}

// sell begins a session as the POS does, and answers it.
export function sell(n, customer, more = {}) {
  return pos("POST", "/sessions", {
    customer_name: customer, lane_id: scene.lanes[n - 1].id, group_id: "33333333-3333-4333-8333-000000000001", duration: 60,
    enable_purchasing: true, ...more,
  }, 201);
}

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
