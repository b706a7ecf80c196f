// A session with an open end goes on beyond its minutes: what staff, the shooter and everybody else see of it, and what is paid afterwards.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { look, requireAccessible } from "./look.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { advance, linked, pos, sessionOn } from "./pos.mjs";

await story(async () => {
  await linked();
  const staff = await Control.signedIn("sam", { hasTouch: true });
  const { page, panel } = staff;

  tell("Staff sell with an open end, by a preset of one touch or as they choose");
  await staff.openLane(1);
  await panel.getByRole("button", { name: "Sell 30 minutes", exact: true }).tap();
  await staff.openLane(2);
  await panel.getByRole("checkbox", { name: /^Open end/ }).check();
  await panel.getByRole("spinbutton", { name: "Up to so many minutes in all" }).fill("90");
  await panel.getByRole("button", { name: "Sell 45 minutes", exact: true }).tap();
  await eventually("two lanes are sold", async () => (await Promise.all([1, 2].map(sessionOn))).every(Boolean));
  assert.deepEqual((await Promise.all([1, 2].map(sessionOn))).map((session) => session.open_end), [{ up_to: 60 }, { up_to: 90 }]);
  const jo = await Lane.at(1);
  const wall = await open(await device({ viewport: { width: 1920, height: 1080 } }), `${scene.api}/board/${scene.range}?key=${scene.board}`);
  for (const n of [1, 2]) {
    await advance((await sessionOn(n)).session_id, 50);
  }

  tell("The session goes on, and every screen says how long it has");
  await staff.says(1, "Open end");
  await staff.says(2, "Open end");
  await staff.card(1).locator(".time").filter({ hasText: /^\+2\d:\d\d$/ }).waitFor();
  await look(page, "lanes with an open end");
  await jo.inState("beyond");
  await jo.shows("Your minutes are used up");
  await jo.shows(/\+2\d:\d\d/);
  await jo.shows(/up to \d:\d\d more/);
  await jo.page.getByRole("button", { name: /^30 min/ }).waitFor(); // 15 would not settle what is owed
  await look(jo.page, "a shooter beyond the minutes");
  await wall.locator(".tile[data-state=beyond]").nth(1).waitFor();
  await look(wall, "lanes with an open end on the wall", ["light"]);
  const before = await sessionOn(1);
  assert.equal(before.minutes_remaining, 0);
  assert.ok(before.minutes_beyond >= 20 && before.minutes_beyond < 30, before.minutes_beyond);

  tell("Minutes that are added settle what is owed first");
  await staff.card(1).getByRole("button", { name: /15 minutes more/ }).tap();
  await staff.card(1).locator(".time").filter({ hasText: /^\+\d\d?:\d\d$/ }).waitFor();
  await eventually("fifteen minutes are settled", async () => (await sessionOn(1)).minutes_beyond_settled === 15);
  await jo.page.getByRole("button", { name: /^15 min/ }).waitFor();

  tell("In German too");
  const kim = await Control.signedIn("kim", { hasTouch: true, locale: "de-DE" });
  await kim.says(2, "Offenes Ende");
  await look(kim.page, "lanes with an open end, in German");
  const bo = await Lane.at(2, { locale: "de-DE", viewport: { width: 390, height: 844 } });
  await bo.shows("Ihre Minuten sind aufgebraucht");
  await look(bo.page, "a shooter beyond the minutes, in German on a telephone");

  tell("Who stops it is told what is owed; the list of ended sessions says what it came to");
  const { session_id } = await sessionOn(1);
  await page.route("**/stop", async (route) => { // the answer comes late
    const response = await route.fetch();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await route.fulfill({ response });
  }, { times: 1 });
  await staff.stop(1);
  const stopped = page.getByText(/^Lane 1 stopped\. .* owes \d+:\d\d\.$/).first();
  await stopped.waitFor();
  const [, minutes, seconds] = (await stopped.textContent()).match(/owes (\d+):(\d\d)\./);
  const { minutes_beyond, minutes_beyond_settled } = await pos("GET", `/history/${session_id}`);
  const owed = minutes_beyond - minutes_beyond_settled;
  assert.ok(Math.abs(Number(minutes) + seconds / 60 - owed) <= 1 / 60, `${minutes}:${seconds}, and the receipt has ${owed} minutes`);
  await look(page, "what is owed after a stop");
  await staff.go("Ended");
  await page.locator("#history td").filter({ hasText: /2\d(\.\d)?\smin, 15 settled/ }).waitFor();
  await look(page, "an ended session with an open end");

  tell("A ceasefire stops what is counted");
  await pos("POST", "/simulate/ceasefire", { scope: "range", on: true }, 200);
  await bo.inState("ceasefire");
  await pos("POST", "/simulate/ceasefire", { scope: "range", on: false }, 200);
  await bo.inState("beyond");

  tell("The bound ends a session that nobody stops");
  await advance((await sessionOn(2)).session_id, 60);
  await eventually("lane 2 is left", async () => (await sessionOn(2)) === undefined);
  requireAccessible();
});
