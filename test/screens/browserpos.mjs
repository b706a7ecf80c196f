// A POS that is a page of another origin: one that the configuration names does all that a POS does, any other does nothing.
import assert from "node:assert/strict";
import { device, open, scene, story, tell } from "./story.mjs";
import { linked, sessions } from "./pos.mjs";

const GROUP = "33333333-3333-4333-8333-000000000001";

// asks has the page make a request to the gateway, and answers what the page can read of it; {failed} if the browser keeps it from that.
function asks(page, method, path, { body, headers = {}, token = scene.token } = {}) {
  const credentials = { "range-id": scene.range, token };
  return page.evaluate(async ([url, options]) => {
    try {
      const response = await fetch(url, options);
      const text = await response.text();
      return { status: response.status, body: text && JSON.parse(text), headers: Object.fromEntries(response.headers) };
    } catch (failure) {
      return { failed: failure.name };
    }
  }, [scene.api + path, {
    method, headers: { ...credentials, ...(body ? { "Content-Type": "application/json" } : {}), ...headers }, body: body && JSON.stringify(body),
  }]);
}

const sale = (lane) => ({ customer_name: "Jo Smith", lane_id: scene.lanes[lane - 1].id, group_id: GROUP, duration: 30 });

await story(async () => {
  await linked();
  const till = await open(await device(), `${scene.world}/elsewhere`);
  const stranger = await open(await device(), `${scene.world.replace("127.0.0.1", "localhost")}/elsewhere`);

  tell("The page that the configuration names sells, and repeats itself safely");
  const first = await asks(till, "POST", "/api/v2/pos/sessions", { body: sale(1), headers: { "Idempotency-Key": "receipt-1" } });
  assert.equal(first.status, 201);
  assert.match(first.headers["trace-id"], /^[0-9a-f]{32}$/);
  const again = await asks(till, "POST", "/api/v2/pos/sessions", { body: sale(1), headers: { "Idempotency-Key": "receipt-1" } });
  assert.equal(again.body.session_id, first.body.session_id);
  assert.equal(again.headers["idempotency-replayed"], "true");
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const read = await asks(till, "GET", `/api/v2/pos/sessions/${first.body.session_id}`, { headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } });
  assert.equal(read.headers["trace-id"], trace);
  const changed = await asks(till, "PATCH", "/api/v1/pos/sessions", { body: { id: first.body.session_id, duration: 45 } });
  assert.deepEqual(changed.body, { id: first.body.session_id, duration: 45 });

  tell("It reads why something was refused");
  const occupied = await asks(till, "POST", "/api/v2/pos/sessions", { body: sale(1) });
  assert.deepEqual([occupied.status, occupied.body.code], [409, "lane_occupied"]);
  const wrong = await asks(till, "GET", "/api/v2/pos/sessions", { token: scene.range });
  assert.deepEqual([wrong.status, wrong.body.code], [401, "unauthorized"]);

  tell("It reaches the API alone");
  assert.deepEqual(await asks(till, "GET", "/control/api/history"), { failed: "TypeError" });
  assert.deepEqual(await asks(till, "GET", `/lane/${scene.lanes[0].id}/`), { failed: "TypeError" });

  tell("A page of any other origin reads nothing and changes nothing, although it has the token");
  const before = await sessions();
  assert.deepEqual(await asks(stranger, "GET", "/api/v2/pos/sessions"), { failed: "TypeError" });
  assert.deepEqual(await asks(stranger, "POST", "/api/v2/pos/sessions", { body: sale(2) }), { failed: "TypeError" });
  assert.deepEqual(await asks(stranger, "POST", `/api/v2/pos/sessions/${first.body.session_id}/stop`), { failed: "TypeError" });
  assert.deepEqual((await sessions()).map((session) => session.session_id), before.map((session) => session.session_id));
});
