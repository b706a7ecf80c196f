// A page that reads the events through nginx, while the gateway is killed and stopped.
import assert from "node:assert/strict";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { changeWorld, linked, pos, sell } from "./pos.mjs";

const headers = { "range-id": scene.range, token: scene.token };

await story(async () => {
  await linked();
  const first = await sell(1, "Jo Smith");
  const page = await eventually("nginx answers", async () => open(await device(), scene.front + "/").catch(() => null));
  const seen = () => page.evaluate(() => window.seen.map((event) => `${event.cursor} ${event.payload.event}`));
  const log = async () => {
    const { events } = await pos("GET", "/events?limit=1000");
    return events.map((event) => `${event.cursor} ${event.payload.event}`);
  };
  const hasAll = async () => {
    await eventually("the page has every event", async () => (await seen()).length >= (await log()).length);
    assert.deepEqual(await seen(), await log());
  };

  tell("The page has what had happened, and each event as it happens: nginx keeps none back");
  await hasAll();
  for (const command of ["pause", "resume", "pause", "resume"]) {
    await pos("POST", `/sessions/${first.session_id}/${command}`);
    await hasAll();
  }

  tell("A long poll through nginx is answered by the event");
  const last = (await log()).at(-1).split(" ")[0];
  const waiting = fetch(`${scene.front}/api/v2/pos/events?after=${last}&wait=50`, { headers });
  const metrics = async () => (await fetch(`${scene.operations}/metrics`)).text();
  await eventually("it waits", async () => (await metrics()).includes('rangegate_event_readers{kind="poll"} 1'));
  await pos("POST", `/sessions/${first.session_id}/pause`);
  const { events } = await (await waiting).json();
  assert.deepEqual(events.map((event) => event.payload.event), ["sessionPaused"]);

  for (const end of ["kill", "stop", "kill"]) {
    tell(`The gateway is to ${end}, and is started anew after nginx has said that it is away`);
    await changeWorld(`/gateway/${end}`);
    await eventually("nginx says so", async () => (await fetch(`${scene.front}/events/stream`)).status === 502);
    await changeWorld("/gateway/start");
    await linked();
    const session = await sell(2, "Kim Lee");
    await pos("POST", `/sessions/${session.session_id}/stop`);
    await hasAll();
  }

  tell("The gateway is started anew at once: the browser's own EventSource goes on by itself");
  await changeWorld("/gateway/stop");
  await changeWorld("/gateway/start");
  await linked();
  await sell(3, "Sam Fox");
  await hasAll();
});
