// A session that is warned twice, at ten minutes and at two: every screen marks it from then on, and not at the minutes of others.
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { look, requireAccessible } from "./look.mjs";
import { linked, runDown, sell } from "./pos.mjs";
import { device, open, scene, story, tell } from "./story.mjs";

await story(async () => {
  await linked();
  await sell(1, "Jo Smith", { warn_at_minutes: [10, 2] });
  await sell(2, "Ann Lee");
  const staff = await Control.signedIn("sam", { hasTouch: true });
  const wall = await open(await device({ viewport: { width: 1920, height: 1080 } }), `${scene.api}/board/${scene.range}?key=${scene.board}`);
  const first = await Lane.at(1, { locale: "de-DE" });
  const second = await Lane.at(2);

  tell("With nine minutes left only the one that is warned then is marked");
  await runDown(1, 9.5);
  await runDown(2, 9.5);
  await staff.page.locator('li[data-urgent="soon"]').filter({ hasText: "Jo Smith" }).waitFor();
  await staff.page.locator('li.lane:not([data-urgent="soon"])').filter({ hasText: "Ann Lee" }).waitFor();
  await wall.locator('[data-urgency="soon"]').filter({ hasText: "1" }).waitFor();
  await first.page.locator("body[data-soon]").waitFor();
  await first.page.locator(".warning").filter({ hasText: /^noch [2-9]:/ }).waitFor();
  await first.page.getByRole("alert").filter({ hasText: "Weniger als 10 Minuten" }).or(first.page.getByText("Weniger als 10 Minuten")).first().waitFor({ state: "attached" });
  await second.page.locator("body:not([data-soon])").waitFor();
  await look(first.page, "ten minutes left, in German");

  tell("With less than two it is in its last time, and the other one ends soon");
  await runDown(1, 1.9);
  await runDown(2, 1.9);
  await wall.locator('[data-urgency="last"]').waitFor();
  await first.page.locator("body[data-last]").waitFor();
  await second.page.locator("body[data-soon]").waitFor();
  await second.page.getByText("Less than 5 minutes left").first().waitFor({ state: "attached" });
  await look(wall, "the last two minutes on the wall", ["light"]);
  requireAccessible();
});
