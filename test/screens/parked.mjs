// A lane that panics whatever is sold on it, at the page of the observer: each restart is there with its reason, the lane that is
// parked after too many is the first row, and an operator who has removed the cause has it tried again.
import assert from "node:assert/strict";
import { look as lookAt } from "./look.mjs";
import { PATIENCE, device, eventually, open, scene, story, tell } from "./story.mjs";
import { ask, linked, order, pos, sell } from "./pos.mjs";

await story(async () => {
  await linked();
  const page = await open(await device(), `${scene.operations}/observer`);
  await page.getByLabel("Operations token").fill(scene.operator);
  await page.keyboard.press("Enter");
  const actor = (...texts) => texts.reduce((found, text) => found.filter({ hasText: text }), page.locator(".actor"));
  const lane = (...texts) => actor("Lane 2", "lane, North range", ...texts);
  await lane("ready").waitFor();

  // sellTheDefect sells what the lane panics on, and does not care how it is refused: as a time-out, or as a lane that starts.
  const sellTheDefect = async () => assert.notEqual((await ask("POST", "/sessions", order(2, "A defect"))).status, 201, "it was sold");

  tell("A lane panics: its restart is there by itself, with the message and the panic's text");
  await sellTheDefect();
  const restarted = lane("It was started again");
  await restarted.waitFor();
  assert.match(await restarted.locator(".why").textContent(), /the message was “create”; the panic was “a planted defect”/);

  tell("After too many it is parked, and the first row");
  await eventually("it is parked", async () => {
    await sellTheDefect();
    return await lane("parked").count() === 1;
  }, 3 * PATIENCE);
  const parked = lane("parked");
  assert.match(await page.locator(".actor").first().textContent(), /Lane 2/);
  await page.locator(".advisories li", { hasText: "Lane 2" }).first().waitFor();
  await lookAt(page, "parked");

  tell("An operator has it tried again, with a second click, and it is ready and for sale");
  await parked.getByRole("link", { name: "Lane 2" }).click();
  const unpark = page.getByRole("button", { name: "Try the parked lane now" });
  await unpark.waitFor();
  assert.equal(await page.getByRole("button", { name: "Restart the lane's actor" }).isVisible(), false, "a parked lane has nothing to restart");
  await unpark.click();
  await eventually("the second click", async () => {
    await page.getByRole("button", { name: /: sure\?$/ }).click({ timeout: 1_000 }).catch(() => {});
    return await page.getByText(/^Asked for at /).count() === 1;
  });
  await actor("lane", "ready").waitFor();
  await actor("connection", "up").waitFor();
  await unpark.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Read it again" }).click();
  await page.getByRole("table", { name: "What is on record" }).getByRole("row").filter({ hasText: "unpark" }).filter({ hasText: scene.operator }).waitFor();
  const { session_id: session } = await sell(2, "Ann Lee");
  await pos("POST", `/sessions/${session}/stop`);
});
