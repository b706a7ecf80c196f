// Whoever presses twice, or again as nothing has happened yet, means what was there, and not what has taken its place.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { middle } from "./hands.mjs";
import { Lane } from "./lane.mjs";
import { eventually, story, tell } from "./story.mjs";
import { controller, linked, pos, sell, sessionOn } from "./pos.mjs";

await story(async () => {
  await linked();
  const staff = await Control.signedIn("sam", { hasTouch: true });
  const { page } = staff;
  const inPanel = (name) => staff.panel.getByRole("button", { name, exact: true });
  const { session_id: session } = await sell(1, "Jo Smith");
  const openPanel = async () => {
    await staff.card(1).getByRole("button", { name: "Lane 1", exact: true }).tap();
    await staff.opened();
    await page.waitForTimeout(500); // at first it takes no double press at all
  };

  // slowed has a place take no press for 5 s on that page, in place of half a second: a busy machine comes to press it so much later.
  const slowed = (on) => on.evaluate(() => {
    const { setTimeout } = window;
    window.setTimeout = (act, ms, ...rest) => setTimeout(act, ms === 500 && /\/replaced\.js/.test(new Error().stack) ? 10 * ms : ms, ...rest);
    addEventListener("click", () => (window.wasReplaced = document.body.hasAttribute("data-replaced")), { capture: true });
  });
  // twice presses a control, and its place again as soon as another one has come there. It does so anew, from the beginning, where even those 5 s
  // were over by then.
  const twice = async (on, begin, control, came) => {
    for (let tries = 0; tries < 10; tries++) {
      await begin();
      const at = await middle(control);
      await on.touchscreen.tap(...at);
      await eventually("another control has come", () => came.isVisible()); // unlike waitFor, it sees that at once: see open
      await on.touchscreen.tap(...at);
      await on.waitForTimeout(1_000); // in which it could act
      if (await on.evaluate(() => window.wasReplaced)) {
        return;
      }
    }
    assert.fail("each of ten times the place took the second press");
  };

  await slowed(page);
  tell("On Pause, in the panel: the clock stands, and the line stays closed");
  await openPanel();
  await twice(page, async () => {
    (await controller(1)).open || (await pos("POST", `/sessions/${session}/resume`));
    await inPanel("Pause").waitFor();
  }, inPanel("Pause"), inPanel("Resume"));
  assert.equal((await controller(1)).open, false);
  await inPanel("Resume").tap();
  await staff.inState(1, "running");
  await inPanel("Close").tap();

  tell("On On my way, in the queue: nobody has been there yet");
  const jo = await Lane.at(1, { hasTouch: true });
  await slowed(jo.page);
  await twice(page, async () => {
    if (!(await jo.page.getByText("Help has been called").isVisible())) {
      await jo.page.getByRole("button", { name: "Help" }).tap();
    }
    await staff.need("On my way", 1).waitFor();
  }, staff.need("On my way", 1), staff.queue.getByText("on the way", { exact: true }));
  await jo.page.getByText("Help is coming").waitFor();
  await staff.answer("Done", 1);
  await jo.page.getByText("Help is coming").waitFor({ state: "hidden" });

  tell("On Look and buy, at the lane: nothing is bought that nobody has looked at");
  const review = jo.shop.getByRole("button", { name: "Look and buy" });
  const buy = jo.shop.getByRole("button", { name: "Buy for" });
  let sold;
  await twice(jo.page, async () => {
    sold = (await sessionOn(1)).duration;
    (await jo.shop.isVisible()) && (await jo.leaveShop());
    await jo.openShop();
    await jo.more("Lane time");
  }, review, buy);
  assert.ok(await buy.isVisible());
  assert.equal((await sessionOn(1)).duration, sold);
  await buy.tap();
  await jo.shopSays("Your purchase went through");
});
