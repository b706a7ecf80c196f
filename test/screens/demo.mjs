// A vendor looks at the demo integrator: an event that its webhook refuses is in the log that it pulls, is sent again, and is known when it
// comes once more.
import assert from "node:assert/strict";
import { device, open, scene, story, tell } from "./story.mjs";
import { changeWorld, linked, pos, sell } from "./pos.mjs";

await story(async () => {
  await linked();
  tell("The next event will be refused");
  const page = await open(await device(), scene.front);
  await page.getByText("waiting for the next event").waitFor();
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.getByText("The next event is refused").waitFor();
  const { session_id: session } = await sell(1, "Jo Smith");
  const arrivals = page.locator("#arrivals .arrival");
  const logged = page.locator("#pulled .logged");
  await arrivals.nth(1).waitFor();
  assert.match(await arrivals.last().innerText(), /sessionCreated[^]*Refused 409/);

  tell("The log that is pulled has it all the same");
  const created = logged.filter({ hasText: "sessionCreated" });
  await created.filter({ hasText: "Not at the webhook" }).waitFor();
  await logged.filter({ hasText: "sessionStarted" }).filter({ hasText: "At the webhook: 2" }).waitFor();

  tell("It is sent again, and accepted");
  const again = page.getByRole("button", { name: /^Send again: sessionCreated, 1\d*$/ });
  await again.click();
  await created.filter({ hasText: "At the webhook: 3" }).waitFor();
  assert.match(await arrivals.first().innerText(), /sessionCreated[^]*Accepted 204[^]*the same webhook-id as 1, which was not accepted/);

  tell("And once more: it is known by its webhook-id");
  await again.click();
  await created.filter({ hasText: "At the webhook: 3, 4" }).waitFor();
  assert.match(await arrivals.first().innerText(), /the same webhook-id as 3, which was accepted/);

  tell("The gateway is away: the page says so, and goes on from its cursor");
  await changeWorld("/gateway/kill");
  await page.locator("#pulling").filter({ hasText: "trying again" }).waitFor();
  await again.click();
  await page.getByText(/^Event 1\d* was not sent again: the gateway cannot be reached\.$/).waitFor();
  await changeWorld("/gateway/start");
  await page.getByText("waiting for the next event").waitFor();
  await linked();
  await pos("POST", `/sessions/${session}/pause`);
  await logged.filter({ hasText: "sessionPaused" }).waitFor();
  assert.equal(await logged.count(), 3, "every event once");
});
