// The time of a session is used up and its customer may go on: what staff, the shooter and everybody else see of a grace.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { look, requireAccessible } from "./look.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { advance, linked, pos, sell, sessionOn } from "./pos.mjs";

await story(async () => {
  await linked();
  const staff = await Control.signedIn("sam", { hasTouch: true });
  const { page, panel } = staff;

  tell("Staff sell with a grace, by a preset of one touch or as they choose");
  await staff.openLane(1);
  await panel.getByRole("button", { name: "Sell 30 minutes", exact: true }).tap();
  await staff.openLane(2);
  await panel.getByRole("checkbox", { name: "Grace when the time is up" }).check();
  await panel.getByRole("button", { name: "Sell 45 minutes", exact: true }).tap();
  await staff.openLane(3);
  await panel.getByRole("checkbox", { name: "Grace when the time is up" }).uncheck();
  await panel.getByRole("button", { name: "Sell 45 minutes", exact: true }).tap();
  await eventually("three lanes are sold", async () => (await Promise.all([1, 2, 3].map(sessionOn))).every(Boolean));
  const jo = await Lane.at(1);
  const wall = await open(await device({ viewport: { width: 1920, height: 1080 } }), `${scene.api}/board/${scene.range}?key=${scene.board}`);
  for (const n of [1, 2, 3]) {
    await advance((await sessionOn(n)).session_id, 45);
  }

  tell("With a grace the session stays, and every screen says that its time is over");
  await staff.says(1, "In grace");
  await staff.says(2, "In grace");
  await eventually("lane 3 is left", async () => (await sessionOn(3)) === undefined);
  await staff.card(1).locator(".time").filter({ hasText: /^\d?\d:\d\d$/ }).waitFor();
  await staff.card(1).getByText("time is up").waitFor();
  await look(page, "lanes in their grace");
  await jo.inState("grace");
  await jo.shows("Your time is over");
  await jo.shows(/\d?\d:\d\d to decide/);
  await look(jo.page, "a shooter in the grace");
  await wall.locator(".tile[data-state=over]").nth(1).waitFor();
  await look(wall, "lanes in their grace on the wall", ["light"]);
  const before = await sessionOn(1);
  assert.equal(before.minutes_remaining, 0);
  assert.ok(Date.parse(before.grace_ends_at) > Date.now());

  tell("In German too");
  const kim = await Control.signedIn("kim", { hasTouch: true, locale: "de-DE" });
  await kim.says(2, "Nachfrist");
  await look(kim.page, "lanes in their grace, in German");
  const bo = await Lane.at(2, { locale: "de-DE", viewport: { width: 390, height: 844 } });
  await bo.shows("Ihre Zeit ist um");
  await bo.shows("für Ihre Entscheidung");
  await look(bo.page, "a shooter in the grace, in German on a telephone");

  tell("One touch at the tile, and the shooter goes on with what was added");
  await staff.card(1).getByRole("button", { name: /15 minutes more/ }).tap();
  await jo.inState("running");
  await staff.says(1, "Running");
  const after = await sessionOn(1);
  assert.equal(after.duration, before.duration + 15);
  assert.ok(after.minutes_remaining > 5 && after.minutes_remaining <= 15, after.minutes_remaining);
  assert.equal(after.grace_ends_at, undefined);

  tell("Under a ceasefire the shooter reads nothing but that");
  await pos("POST", "/simulate/ceasefire", { scope: "range", on: true }, 200);
  await bo.inState("closed");
  await pos("POST", "/simulate/ceasefire", { scope: "range", on: false }, 200);
  await bo.inState("grace");

  tell("A grace that is over leaves the lane to be cleared");
  await advance((await sessionOn(2)).session_id, 70);
  await bo.inState("over");
  await kim.says(2, "Beendet");
  requireAccessible();
});
