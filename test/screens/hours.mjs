// A range that closes in half an hour: every screen says so, nothing is sold past that, and what staff sell anyway is on record.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { look, requireAccessible } from "./look.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { changeWorld, controller, linked, sell, sessionOn } from "./pos.mjs";

await story(async () => {
  await linked();
  const staff = await Control.signedIn("sam", { hasTouch: true });
  const { page, panel } = staff;

  tell("The control screen makes the last call");
  await page.locator("#tally .hours").filter({ hasText: /^Last call: closes at \d?\d:\d\d/ }).waitFor();
  await look(page, "the last call");

  tell("A sale that would end after closing is refused, with what fits, and staff may sell it anyway");
  await staff.openLane(1);
  await panel.getByRole("button", { name: "Sell 60 minutes", exact: true }).tap();
  await panel.locator(".trouble").filter({ hasText: /Closing time is .*: \d+ minutes fit\./ }).waitFor();
  assert.equal(await sessionOn(1), undefined, "nothing was sold");
  await look(page, "a sale after closing");
  await panel.getByRole("button", { name: "Sell anyway" }).tap();
  await eventually("lane 1 is sold", async () => (await sessionOn(1))?.duration === 60);

  tell("So are minutes that are added");
  await staff.openLane(1);
  await panel.getByRole("button", { name: "15 minutes more", exact: true }).tap();
  await panel.locator(".trouble").filter({ hasText: "nothing more fits" }).waitFor();
  await panel.getByRole("button", { name: "Sell anyway" }).tap();
  await eventually("15 minutes are added", async () => (await sessionOn(1))?.duration === 75);

  tell("So are several lanes at once, and those that were refused are sold by one touch");
  const selection = page.locator("#selection");
  const many = async (control) => {
    await page.locator(".many-actions[data-moved]").waitFor({ state: "detached" }); // presses count again
    await control.tap();
  };
  await panel.getByRole("button", { name: "Close" }).tap();
  await page.getByRole("button", { name: "Select", exact: true }).tap();
  await selection.getByRole("textbox", { name: "Lanes to select" }).or(selection.locator("form.typed input")).first().fill("3-4");
  await page.keyboard.press("Enter");
  await many(selection.locator("summary").filter({ hasText: "Sell 2" }));
  await many(selection.getByRole("button", { name: "Sell 90 minutes", exact: true }));
  await page.locator("#outcome").filter({ hasText: "Closing time is" }).waitFor();
  assert.deepEqual(await Promise.all([3, 4].map(sessionOn)), [undefined, undefined], "nothing was sold");
  await page.locator("#outcome").getByRole("button", { name: "Sell anyway" }).tap();
  await eventually("both lanes are sold", async () => (await Promise.all([3, 4].map(sessionOn))).every((session) => session?.duration === 90));

  tell("Their log says so");
  await page.goto(`${scene.api}/control/${scene.range}#acts`);
  await page.getByText("60 min, after closing", { exact: true }).waitFor();
  await page.getByText("90 min, after closing", { exact: true }).nth(1).waitFor();
  await page.getByText("+15 min, after closing", { exact: true }).waitFor();

  tell("The wall board and the lane screen make the last call too, in German");
  const german = { locale: "de-DE", hasTouch: true };
  const wall = await open(await device({ ...german, viewport: { width: 1920, height: 1080 } }), `${scene.api}/board/${scene.range}?key=${scene.board}`);
  await wall.locator(".closing").filter({ hasText: "Letzte Runde" }).waitFor();
  await look(wall, "the last call on the wall", ["light"]);
  const lane = await Lane.at(2, german);
  await lane.page.locator("#hours").filter({ hasText: /^Letzte Runde: diese Bahn schließt um \d?\d:\d\d/ }).waitFor();
  await look(lane.page, "the last call on a lane");

  tell("What the customer buys at the lane's hardware and is refused is told at its screen, in German: at once, or by the catalogue");
  await sell(2, "Bo Lang", { duration: 5 });
  await lane.inState("running");
  await eventually("the hardware has the session", async () => (await controller(2)).session !== null);
  const back = lane.shop.getByRole("button", { name: "Zurück zu meiner Zeit" });
  await changeWorld("/lane/2/buys/60");
  await lane.shop.getByText(/^Schluss ist um \d?\d:\d\d\. Es wurde nichts gekauft\.$/).waitFor();
  await look(lane.page, "a purchase at the hardware is refused");
  await back.tap();
  await changeWorld("/lane/2/buys/7");
  await lane.shopSays("Lane time: Verkauft werden mindestens 15 Minuten.");
  await back.tap();
  await lane.page.reload();
  await lane.inState("running");
  assert.equal(await lane.page.locator("dialog[open]").count(), 0, "what was told before the page was loaded is not told again");

  tell("Where the shop has been opened, it is told above the products");
  await lane.page.getByRole("button", { name: "Einkaufen" }).tap();
  await lane.shop.getByRole("tab", { name: "Zeit" }).waitFor();
  await changeWorld("/lane/2/buys/7");
  await lane.shopSays("Lane time: Verkauft werden mindestens 15 Minuten.");
  requireAccessible();
});
