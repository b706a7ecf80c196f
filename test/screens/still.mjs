// In a ceasefire no lane moves, and those that were not reached are named where everybody sees them.
import assert from "node:assert/strict";
import { at, DEVICES, endButton, inForce, isOver, lift } from "./ceasefires.mjs";
import { clicks, touches } from "./hands.mjs";
import { story, tell } from "./story.mjs";
import { changeWorld, linked } from "./pos.mjs";

await story(async () => {
  await linked();
  for (const size of DEVICES) {
    tell(`${size}: while a ceasefire begins, lanes confirm it and it ends, no lane moves; those that were not reached are always named`);
    const staff = await at(size);
    const { page, begin } = staff;
    if (size[0] < 640 || size[1] < 480) { // a phone, upright or crosswise
      await staff.view("board");
    }
    const places = () => page.evaluate(() => [...document.querySelectorAll(".lane")].map((of) => of.getBoundingClientRect().toJSON()));
    const before = await places();
    const moved = async () => (await places()).filter((place, i) => ["x", "y", "width", "height"].some((of) => Math.abs(place[of] - before[i][of]) >= 1)); // a part of a pixel is rounded
    // drawn waits until the page has drawn what has changed, and has moved what it keeps still.
    const drawn = () => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    // Nothing has moved, or no further than lane 5 needs to be in sight.
    const still = async (when) => {
      const top = await page.locator("#main").evaluate((of) => of.getBoundingClientRect().top);
      const { y } = (await places())[4];
      assert.ok((y >= top - 1 && (await moved()).length === 0) || Math.abs(y - top) < 1, `${when}: ${y}, ${top}, ${JSON.stringify(await moved())}`);
      assert.ok(await staff.card(5).evaluate((of) => of.checkVisibility() && of.getBoundingClientRect().top < document.getElementById("main").getBoundingClientRect().bottom), `${when}: lane 5 is in sight`);
    };
    await changeWorld("/lane/5/out-of-reach");
    await (size[2] ? touches.tap : clicks.click)(page, begin);
    const missing = staff.alarm.locator(".headline", { hasText: /(Not reached: Lane 5|Nicht erreicht: Lane 5)$/ });
    await missing.waitFor();
    await page.locator("body:not([data-settling])").waitFor();
    await drawn();
    await still("the alarm is there");
    const { y, height } = await missing.boundingBox();
    assert.ok(y >= 0 && y + height <= size[1], "it is in sight");
    assert.ok(await missing.evaluate((of) => of.scrollHeight <= of.clientHeight), "all of it");
    if (process.env.PICTURES) {
      await page.screenshot({ path: `${process.env.PICTURES}/missing-${size.join("-")}.png` });
    }
    const end = JSON.stringify(await endButton(staff).boundingBox());
    await changeWorld("/lane/5/within-reach");
    await missing.waitFor({ state: "detached" });
    await drawn();
    await still("all have confirmed");
    assert.equal(JSON.stringify(await endButton(staff).boundingBox()), end);
    if (process.env.PICTURES) {
      await page.screenshot({ path: `${process.env.PICTURES}/locked-${size.join("-")}.png` });
    }
    await lift();
    await isOver(staff);
    await drawn();
    assert.deepEqual(await moved(), [], "it is over");
    await linked();
    await page.context().close();
  }
});
