// Staff send an event to the webhook again.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { eventually, scene, story, tell } from "./story.mjs";
import { got, linked, sell } from "./pos.mjs";

await story(async () => {
  await linked();
  const session = (await sell(1, "Jo Smith")).session_id;
  await got(session, "sessionCreated", "sessionStarted");

  tell("Staff look at the deliveries, and send the first one again");
  const control = await Control.signedIn("sam");
  await control.go("Deliveries");
  const row = control.page.locator("#deliveries tbody tr").filter({ hasText: "sessionCreated" });
  await row.getByRole("button", { name: "Send again: sessionCreated, Lane 1" }).click();
  await row.filter({ hasText: "2 attempts" }).waitFor();

  tell("The integrator has it twice, the same one");
  const arrived = await eventually("it arrives again", async () => {
    const events = (await (await fetch(`${scene.world}/arrived`)).json()).filter((event) => event.session_id === session);
    return events.length === 3 && events;
  });
  assert.deepEqual(arrived.map((event) => event.event), ["sessionCreated", "sessionStarted", "sessionCreated"]);
  assert.deepEqual(arrived[2], arrived[0]);

  tell("The staff log says who did it");
  await control.go("Staff log");
  const act = control.page.locator("#acts tbody tr").filter({ hasText: "event sent again" });
  await act.filter({ hasText: "sam" }).filter({ hasText: "sessionCreated" }).waitFor();
});
