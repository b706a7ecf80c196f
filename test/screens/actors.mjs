// An operator at the page of the actors: with the token alone, from the tree to what one lane was asked, in light and dark, by
// keyboard, and when the gateway is gone.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { look as lookAt, requireAccessible } from "./look.mjs";
import { device, open, scene, story, tell } from "./story.mjs";
import { changeWorld, linked, pos, sell } from "./pos.mjs";

await story(async () => {
  await linked();
  const { session_id: session } = await sell(1, "Jo Smith");
  await pos("POST", `/sessions/${session}/pause`);
  await pos("POST", `/sessions/${session}/pause`, undefined, 409);
  await changeWorld("/lane/6/off");

  const context = await device();
  const page = await open(context, `${scene.operations}/actors`);
  const rows = (table) => page.getByRole("table", { name: table }).getByRole("row");
  const look = (what) => lookAt(page, what);

  tell("Nobody sees anything without the token");
  const token = page.getByLabel("Operations token");
  await token.waitFor();
  assert.equal(await page.getByText("Lane 1").count(), 0);
  await token.fill("a wrong one");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("That is not the operations token.").waitFor();
  await look("token");

  tell("The tree, and what is not in order");
  await token.fill(scene.operator);
  await page.keyboard.press("Enter");
  await rows("The tree").filter({ hasText: "lane" }).waitFor();
  const lanes = rows("The tree").filter({ has: page.getByRole("rowheader", { name: "lane", exact: true }) });
  assert.equal(await lanes.getByRole("cell").first().textContent(), "7", "of both ranges");
  await rows("Links that are not in order").filter({ hasText: "Lane 6" }).waitFor();
  assert.equal(await rows("Ranges").count(), 3);
  await look("overview");

  tell("One range");
  await page.getByRole("link", { name: "South range" }).click();
  await page.getByRole("navigation").getByText("South range").waitFor();
  assert.equal(await lanes.getByRole("cell").first().textContent(), "1");
  await page.getByText("Every link is up").waitFor();
  await page.getByText("Lanes that wait for a session").waitFor();
  await page.goBack();

  tell("One lane, by keyboard, with what it was asked");
  const link = page.getByRole("table", { name: "The slowest commands" }).getByRole("link", { name: "Lane 1" });
  await link.waitFor();
  await link.focus();
  await page.waitForResponse((response) => response.url().endsWith("/actors")); // it is drawn anew under the focus
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Lane 1");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Lane 1, North range" }).waitFor();
  const commands = rows("The latest commands");
  await commands.filter({ hasText: "not_running" }).waitFor();
  assert.deepEqual((await commands.locator("td:nth-child(3)").allTextContents()).slice(0, 3), ["pause", "pause", "create"]);
  assert.match(await commands.nth(1).textContent(), /[0-9a-f]{32}/, "the trace id");
  assert.equal(await page.getByText("Jo Smith").count(), 0, "customers have no name here");
  await look("lane");

  tell("What happens next is there by itself");
  const staff = await Control.signedIn("sam");
  await staff.stop(1);
  await commands.filter({ hasText: "staff: sam" }).filter({ hasText: "stop" }).waitFor();
  assert.equal((await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)), true);

  tell("On a telephone");
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal((await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)), true, "only tables scroll");
  await look("telephone");
  await page.setViewportSize({ width: 1280, height: 900 });

  tell("The token is this tab's");
  const another = await open(context, `${scene.operations}/actors`);
  await another.getByLabel("Operations token").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Lane 1, North range" }).waitFor();

  tell("No contact");
  await changeWorld("/gateway/kill");
  await page.getByText("No contact with the gateway").waitFor();
  assert.ok(await commands.count() > 1, "what was known is still shown");
  await look("no contact");
  await page.getByRole("button", { name: "Forget the token" }).click();
  await page.getByLabel("Operations token").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  assert.equal(await page.getByText("Lane 1").count(), 0);

  requireAccessible();
});
