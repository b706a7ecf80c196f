// A ceasefire under frightened fingers, on devices of every width, by touch, mouse and keys: one press begins it, and nothing ends it but a hold
// of a second and a half.
import assert from "node:assert/strict";
import { at, DEVICES, endButton, HELD, hold, holds, inForce, isOver, lift } from "./ceasefires.mjs";
import { clicks, keys, middle, touches } from "./hands.mjs";
import { eventually, scene, story, tell } from "./story.mjs";
import { linked, operate } from "./pos.mjs";

// stays holds the control down while an operator presses again, until it is drawn anew: the hold is in force afterwards.
async function stays(page, control, over) {
  const drawn = await control.elementHandle();
  await hold(page, control, async () => {
    await operate("PUT", "/holds", { ...over, on: true });
    await page.waitForFunction((of) => !of.isConnected, drawn);
    await page.waitForTimeout(2_000); // as long as would have ended it
  });
  assert.equal((await holds()).length, 1);
}

const SECOND = /^(End it now|Jetzt aufheben)/;

await story(async () => {
  await linked();
  for (const size of DEVICES) {
    const [width, height, hasTouch] = size;
    const staff = await at(size);
    const { page, sent, begin } = staff;
    if (width < 640) {
      await staff.view("board");
    }

    tell(`${width} × ${height}: CEASEFIRE is in force however it is pressed, and one press asks for it once`);
    const rest = await middle(page.locator("#main"));
    for (const [how, press] of Object.entries({ ...(hasTouch ? touches : clicks), ...keys, "click of a screen reader": (_, control) => control.evaluate((of) => of.click()) })) {
      sent.length = 0;
      await press(page, begin, rest);
      await eventually(`${how}: in force`, async () => (await holds()).join() === "range sam");
      await inForce(staff);
      await begin.and(page.locator("[data-in-force]:not([aria-busy])")).waitFor();
      assert.ok(sent.length === 1 || (/double|two/.test(how) && sent.length === 2), `${how}: ${sent}`);
      assert.equal(await page.locator("#panel").isVisible() || await page.locator("#selection").isVisible(), false, `${how}: nothing else has happened`);
      await lift();
      await isOver(staff);
    }

    tell(`${width} × ${height}: no press on what ends it does, but a hold`);
    await begin.press("Enter");
    await inForce(staff);
    await page.locator("body:not([data-settling])").waitFor();
    await staff.settled();
    const end = endButton(staff);
    await end.scrollIntoViewIfNeeded();
    const name = await end.innerText();
    assert.match(name, HELD[staff.locale]);
    const place = JSON.stringify(await end.boundingBox());
    sent.length = 0;
    assert.deepEqual(await end.evaluate((of, name) => { // in one step, however slow the machine is
      of.click();
      const second = [...of.closest("#alarm").querySelectorAll("button")].find((button) => name.test(button.textContent.trim()));
      second.click();
      return [second.checkVisibility(), second.getAttribute("aria-disabled")];
    }, SECOND), [true, "true"], "what a screen reader's click offers takes no press at once");
    for (const [how, press] of Object.entries({ ...(hasTouch ? touches : clicks), ...keys, "click of a screen reader": (_, control) => control.evaluate((of) => of.click()) })) {
      if (how.includes("resting")) {
        continue;
      }
      await press(page, end);
      assert.equal(JSON.stringify(await end.boundingBox()), place, `${how}: it does not move`);
      const [x, y] = await middle(end);
      assert.ok(await end.evaluate((of, [x, y]) => of.contains(document.elementFromPoint(x, y)), [x, y]), `${how}: nothing else is under the finger`);
      await end.filter({ hasText: name }).waitFor(); // not being held
      assert.deepEqual(sent, [], how);
    }
    assert.deepEqual(await holds(), ["range sam"]);

    tell(`${width} × ${height}: a screen reader's click offers another control, elsewhere, which ends it after 1.5 s`);
    const second = staff.alarm.getByRole("button", { name: SECOND });
    await second.and(page.locator(":visible")).waitFor();
    const [a, b] = [await end.boundingBox(), await second.boundingBox()];
    assert.ok(a.x >= b.x + b.width + 8 || b.x >= a.x + a.width + 8 || a.y >= b.y + b.height + 8 || b.y >= a.y + a.height + 8, `${JSON.stringify(a)} ${JSON.stringify(b)}`);
    await second.and(page.locator(":not([aria-disabled])")).waitFor();
    await second.evaluate((of) => of.click());
    await isOver(staff);
    assert.deepEqual(sent, ["end"]);

    tell(`${width} × ${height}: it stays when somebody presses again while a finger holds down what ends it`);
    await begin.press("Space");
    await inForce(staff);
    await page.locator("body:not([data-settling])").waitFor();
    await staff.settled();
    await end.scrollIntoViewIfNeeded();
    await stays(page, end, { scope: "range", id: null });
    await lift();
    await isOver(staff);

    tell(`${width} × ${height}: a hold ends it, after no less than a second and a half`);
    await begin.press("Space");
    await inForce(staff);
    await page.locator("body:not([data-settling])").waitFor();
    await staff.settled();
    await end.scrollIntoViewIfNeeded();
    await page.evaluate(() => {
      window.took = new Promise((resolve) => {
        let down = 0;
        document.addEventListener("pointerdown", ({ timeStamp }) => (down = timeStamp), { capture: true });
        const { fetch } = window;
        window.fetch = (path, options) => {
          options?.body?.includes('"on":false') && resolve(performance.now() - down);
          return fetch(path, options);
        };
      });
    });
    await hold(page, end, () => isOver(staff));
    assert.ok(await page.evaluate(() => window.took) >= 1_500);
    assert.deepEqual(await holds(), []);
    await page.context().close();
  }

  tell("So it is with the lock of one lane, in its panel");
  const staff = await at([1920, 1080, false, "en-GB"]);
  await staff.openLane(1);
  await staff.opened();
  await staff.panel.getByRole("button", { name: "Lock this lane" }).click();
  const unlock = staff.panel.locator(".pressed"); // whose words change while it is held down
  await unlock.waitFor();
  await staff.settled();
  await unlock.scrollIntoViewIfNeeded();
  await stays(staff.page, unlock, { scope: "lane", id: scene.lanes[0].id });
  await hold(staff.page, unlock, () => unlock.waitFor({ state: "detached" }));
  assert.deepEqual(await holds(), []);

  tell("A press counts while the end of the ceasefire before is being saved: it is sent until it has arrived");
  const { page } = staff;
  await staff.begin.press("Enter");
  await inForce(staff);
  await page.locator("body:not([data-settling])").waitFor();
  await staff.settled();
  let save;
  const saved = new Promise((resolve) => (save = resolve));
  let isReached = false;
  await page.route("**/control/api/holds", async (route) => {
    if (!route.request().postDataJSON().on) {
      await saved;
      await route.continue();
    } else {
      await (isReached ? route.continue() : route.abort());
    }
  });
  const asksForEnd = (request) => request.method() === "PUT" && request.postDataJSON().on === false;
  const answered = page.waitForResponse((response) => asksForEnd(response.request()));
  const asked = page.waitForRequest(asksForEnd);
  await hold(page, endButton(staff), () => asked);
  await staff.begin.press("Enter");
  await page.locator("body[data-unset]").waitFor();
  save();
  await answered;
  await eventually("the ceasefire before has ended", async () => (await holds()).length === 0);
  await staff.alarm.getByText("CEASEFIRE NOT").waitFor();
  isReached = true;
  await eventually("in force", async () => (await holds()).join() === "range sam");
  await page.locator("body[data-ceasefire]:not([data-unset])").waitFor();
});
