// A range whose configuration names what it sells: one button for each sale, in that order, and no others.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { look } from "./look.mjs";
import { eventually, story, tell } from "./story.mjs";
import { linked, pos, sessionOn } from "./pos.mjs";

const PUBLIC = "33333333-3333-4333-8333-000000000001";
const MEMBERS = "33333333-3333-4333-8333-000000000002";

await story(async () => {
  await linked();
  const staff = await Control.signedIn("sam", { hasTouch: true });
  const { panel } = staff;
  const preset = (name) => panel.getByRole("button", { name, exact: true });
  const names = (within) => within.locator("[data-minutes]").evaluateAll((all) => all.map((button) => button.getAttribute("aria-label")));
  const isSold = (n, minutes, group) => eventually(`lane ${n} is sold`, async () => {
    const session = await sessionOn(n);
    return session?.duration === minutes && session.group_id === group;
  });

  tell("The buttons are those of the configuration");
  await staff.openLane(1);
  assert.deepEqual(await names(panel), ["Sell 20 minutes", "Sell 60 minutes: Members", "Sell 60 minutes"]);
  await look(staff.page, "the presets of a range");

  tell("One touch sells the minutes to the group of the button; without one, to the group that is chosen");
  await preset("Sell 60 minutes: Members").tap();
  await isSold(1, 60, MEMBERS);
  await staff.openLane(2);
  assert.equal(await panel.getByLabel("Group").inputValue(), PUBLIC, "the choice stays as it was");
  assert.deepEqual(await panel.locator("[data-last]").allTextContents(), ["60"], "sold last, to the group that is chosen");
  await preset("Sell 20 minutes").tap();
  await isSold(2, 20, PUBLIC);
  await staff.openLane(3);
  await panel.getByLabel("Group").selectOption(MEMBERS);
  await preset("Sell 20 minutes").tap();
  await isSold(3, 20, MEMBERS);

  tell("Several lanes at once have the same buttons");
  await staff.page.locator("summary").and(staff.page.getByLabel("Bay B: more")).tap();
  await staff.page.getByRole("button", { name: "Select all" }).tap();
  const selection = staff.page.locator("#selection");
  await staff.page.locator(".many-actions[data-moved]").waitFor({ state: "detached" }); // presses count again
  await selection.locator("summary").filter({ visible: true, hasText: "Sell 3" }).tap();
  assert.equal((await names(selection)).length, 3);
  await selection.getByRole("button", { name: "Sell 60 minutes: Members" }).tap();
  for (const n of [4, 5, 6]) {
    await isSold(n, 60, MEMBERS);
  }

  tell("In German, on a telephone");
  await pos("POST", `/sessions/${(await sessionOn(1)).session_id}/stop`);
  const kim = await Control.signedIn("kim", { viewport: { width: 390, height: 844 }, hasTouch: true, locale: "de-DE" });
  await kim.view("board");
  await kim.card(1).getByRole("button", { name: "Lane 1", exact: true }).tap();
  await kim.opened();
  assert.deepEqual(await names(kim.panel), ["20 Minuten verkaufen", "60 Minuten verkaufen: Members", "60 Minuten verkaufen"]);
  await look(kim.page, "the presets of a range in German, on a telephone");
  await kim.panel.getByRole("button", { name: "60 Minuten verkaufen: Members", exact: true }).tap();
  await isSold(1, 60, MEMBERS);
});
