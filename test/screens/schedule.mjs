// A bay that closes before its range does: its lanes say so, those of the other bay do not, and who is to move there is told.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { look, requireAccessible } from "./look.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { linked, sessionOn } from "./pos.mjs";

const [HERE, THERE] = [1, scene.lanes.length]; // in bay A, and in bay B

await story(async () => {
  await linked();
  const staff = await Control.signedIn("sam", { hasTouch: true });
  const { page, panel } = staff;

  tell("The control screen makes the last call for the bay, and its lanes have it as a sign");
  await page.locator("#tally .hours").filter({ hasText: /^Bay B: Last call: closes at \d?\d:\d\d/ }).waitFor();
  await staff.card(THERE).locator(".badge").filter({ hasText: "Last call: closes at" }).waitFor();
  assert.equal(await staff.card(HERE).locator(".badge").count(), 0);
  await look(page, "the last call of a bay");

  tell("A session moves to a lane that closes before its end only if staff say so");
  await staff.openLane(HERE);
  await panel.getByRole("button", { name: "Sell 60 minutes", exact: true }).tap();
  await eventually("lane 1 is sold", async () => (await sessionOn(HERE))?.duration === 60);
  const { session_id: session } = await sessionOn(HERE);
  await staff.openLane(HERE);
  await staff.move(THERE);
  await panel.locator(".trouble").filter({ hasText: /Closing time is .*: \d+ minutes fit\./ }).waitFor();
  assert.equal((await sessionOn(HERE))?.session_id, session, "it has not moved");
  await panel.getByRole("button", { name: "Move anyway" }).tap();
  await eventually("it has moved", async () => (await sessionOn(THERE))?.session_id === session);
  await staff.openLane(THERE);
  await staff.move(HERE);
  await eventually("it is back", async () => (await sessionOn(HERE))?.session_id === session);
  await page.locator("#outcome").getByRole("button", { name: /^Undo/ }).tap();
  await eventually("that is undone, although the lane closes", async () => (await sessionOn(THERE))?.session_id === session);
  await page.goto(`${scene.api}/control/${scene.range}#acts`);
  await page.getByText(/^to Lane \d+, after closing$/).first().waitFor();

  tell("The lane screens of the bay make the last call, the others do not, and the wall board names the bay");
  const german = { locale: "de-DE" };
  const wall = await open(await device({ ...german, viewport: { width: 1920, height: 1080 } }), `${scene.api}/board/${scene.range}?key=${scene.board}`);
  await wall.locator(".closing").filter({ hasText: "Letzte Runde in Bay B" }).waitFor();
  await look(wall, "the last call of a bay on the wall", ["light"]);
  const late = await Lane.at(THERE, german);
  await late.page.locator("#hours").filter({ hasText: /^Letzte Runde: diese Bahn schließt um/ }).waitFor();
  const other = await Lane.at(HERE, german);
  await other.page.locator("#lane").filter({ hasText: /\S/ }).waitFor();
  assert.equal(await other.page.locator("#hours").textContent(), "");
  requireAccessible();
});
