// A ceasefire without a network, without a gateway and without a sign-in: it is in force, or the screen says loudly that it is not.
import assert from "node:assert/strict";
import { at, DEVICES, hold, holds, inForce, isOver, lift } from "./ceasefires.mjs";
import { clicks, touches } from "./hands.mjs";
import { EVERY } from "./sizes.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { changeWorld, linked } from "./pos.mjs";

const TEXTS = {
  "en-GB": { unconfirmed: "CEASEFIRE NOT CONFIRMED: whole range", unset: "CEASEFIRE NOT SET: whole range", out: "CALL IT OUT", over: "CEASEFIRE in force on the whole range", ended: "Your sign-in has ended" },
  "de-DE": { unconfirmed: "FEUEREINSTELLUNG NICHT BESTÄTIGT: ganzer Stand", unset: "FEUEREINSTELLUNG NICHT GESETZT: ganzer Stand", out: "AUSRUFEN", over: "FEUER EINSTELLEN: gilt auf dem ganzen Stand", ended: "Die Anmeldung ist abgelaufen" },
};

await story(async () => {
  await linked();
  for (const size of EVERY ? DEVICES : [DEVICES.at(0), DEVICES.at(-1)]) {
    const texts = TEXTS[size[3]];
    const staff = await at(size, "kim");
    const { page, sent, begin } = staff;
    const context = page.context();
    const press = () => (size[2] ? touches.tap : clicks.click)(page, begin);
    const unset = page.locator(".unset");

    tell(`${size}: without a network the screen says so, and sends it by itself once there is one`);
    await context.setOffline(true);
    await press();
    await unset.getByText(texts.unconfirmed).waitFor();
    await unset.getByText(texts.out).waitFor();
    await eventually("it is sent again", () => sent.length > 2);
    await staff.settled();
    assert.deepEqual(await holds(), []);
    await context.setOffline(false);
    await eventually("it is in force", async () => (await holds()).join() === "range kim");
    await inForce(staff);
    await unset.waitFor({ state: "hidden" });
    await lift();
    await isOver(staff);

    tell(`${size}: the gateway is killed, before the press and right after it, and starts again: it is in force`);
    for (const first of [() => changeWorld("/gateway/kill").then(press), () => press().then(() => changeWorld("/gateway/kill"))]) {
      await first();
      const back = page.waitForResponse((response) => response.url().endsWith("/control/stream") && response.ok());
      await changeWorld("/gateway/start");
      await back; // until then the page may not have heard that it is confirmed, and asks for it again
      await eventually("it is in force", async () => (await holds().catch(() => [])).includes("range kim"));
      await inForce(staff);
      await unset.waitFor({ state: "hidden" });
      await page.locator("#contact").waitFor({ state: "hidden" });
      await linked();
      await lift();
      await isOver(staff);
    }

    tell(`${size}: staff dismiss one by a hold, and by nothing less; it is not sent any more`);
    const holdsURL = /\/control\/(api\/holds|sign-in\/.*\/ceasefire)$/;
    await page.route(holdsURL, (route) => (route.request().method() === "PUT" ? route.abort() : route.continue()));
    await press();
    await unset.getByText(texts.unconfirmed).waitFor();
    await page.locator("body:not([data-settling])").waitFor();
    await staff.settled();
    const dismiss = unset.locator(".pressed");
    await dismiss.scrollIntoViewIfNeeded();
    const [begun, earlier] = [Date.now(), sent.length];
    for (const short of Object.values(size[2] ? touches : clicks).slice(0, 3)) {
      await short(page, dismiss);
      assert.ok(await unset.isVisible());
    }
    assert.ok(sent.length - earlier <= 2 * (Date.now() - begun) / 1_000 + 2, `${sent.length - earlier} attempts in ${Date.now() - begun} ms`);
    await hold(page, dismiss, () => unset.waitFor({ state: "hidden" }));
    sent.length = 0;

    tell(`${size}: a page that is loaded again goes on`);
    await press();
    await unset.getByText(texts.unconfirmed).waitFor();
    await page.reload();
    await unset.getByText(texts.unconfirmed).waitFor();
    await page.unroute(holdsURL);
    await eventually("it is in force", async () => (await holds()).join() === "range kim");
    await inForce(staff);
    await unset.waitFor({ state: "hidden" });
    await lift();
    await isOver(staff);

    tell(`${size}: the sign-in was lost: this browser asks as a device of kim, and the sign-in page says that it is in force`);
    const cookies = await context.cookies();
    const ofDevice = cookies.filter(({ name }) => name.endsWith("rangegate_device"));
    assert.equal(ofDevice.length, 1);
    await context.clearCookies();
    await context.addCookies(ofDevice);
    await press();
    await page.getByText(texts.ended).waitFor();
    await eventually("it is in force", async () => (await holds()).join() === "range device of kim");
    await page.locator("#sign-in-ceasefire").filter({ hasText: texts.over }).waitFor();
    await unset.waitFor({ state: "hidden" });
    await staff.settled();
    await staff.page.getByLabel("PIN", { exact: true }).fill(scene.pin);
    await staff.page.getByLabel("Name", { exact: true }).fill("kim");
    await page.getByLabel("PIN", { exact: true }).press("Enter");
    await inForce(staff);
    await lift();
    await isOver(staff);

    tell(`${size}: nor is it a device of anybody: the page stays red, and says to call it out, until the sign-in`);
    await context.clearCookies();
    await press();
    await page.getByText(texts.ended).waitFor();
    await unset.getByText(texts.unset).waitFor();
    await unset.getByText(texts.out).waitFor();
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(163, 15, 21)");
    assert.equal(await page.locator("#sign-in-begin").isVisible(), false);
    assert.deepEqual(await holds(), []);
    const before = sent.length;
    await eventually("it is sent again", () => sent.length > before + 1);
    assert.ok(await unset.isVisible());
    await staff.settled();
    if (process.env.PICTURES) {
      await page.screenshot({ path: `${process.env.PICTURES}/unset-${size.join("-")}.png`, fullPage: true });
    }
    await staff.page.getByLabel("Name", { exact: true }).fill("kim");
    await staff.page.getByLabel("PIN", { exact: true }).fill(scene.pin);
    await staff.page.getByLabel("PIN", { exact: true }).press("Enter");
    // An attempt that comes right with the sign-in is that of kim's device.
    await eventually("it is in force", async () => /^range (device of )?kim$/.test((await holds()).join()));
    await inForce(staff);
    await unset.waitFor({ state: "hidden" });
    await lift();
    await isOver(staff);

    tell(`${size}: a ceasefire from the sign-in page, where kim has signed in before, and from no other browser`);
    await page.evaluate(() => fetch("/control/sign-out", { method: "POST" }));
    await page.goto(`${scene.api}/control/${scene.range}`);
    const onSignIn = page.locator("#sign-in-begin button");
    await onSignIn.waitFor();
    const { y, height } = await onSignIn.boundingBox();
    for (const control of await page.locator("#sign-in-box :is(button, input)").all()) {
      assert.ok(!(await control.isVisible()) || (await control.boundingBox()).y >= y + height + 48, "it is no neighbour of what is pressed to sign in");
    }
    await onSignIn.scrollIntoViewIfNeeded();
    await (size[2] ? touches["two fingers"] : clicks["drag off"])(page, onSignIn);
    await eventually("it is in force", async () => (await holds()).join() === "range device of kim");
    await page.locator("#sign-in-ceasefire").filter({ hasText: texts.over }).filter({ hasText: "6" }).waitFor();
    await onSignIn.and(page.locator("[data-in-force]")).waitFor();
    if (process.env.PICTURES) {
      await page.screenshot({ path: `${process.env.PICTURES}/signin-${size.join("-")}.png`, fullPage: true });
    }
    await lift();
    await onSignIn.and(page.locator(":not([data-in-force])")).waitFor();
    const stranger = await open(await device(), `${scene.api}/control/${scene.range}`);
    await stranger.getByText("North range").waitFor();
    assert.equal(await stranger.locator("#sign-in-begin").isVisible(), false);
    assert.equal(await stranger.evaluate(async (range) => (await fetch(`/control/sign-in/${range}/ceasefire`, { method: "PUT", headers: { "Content-Type": "application/json" }, body: '{"scope":"range"}' })).status, scene.range), 401);
    assert.deepEqual(await holds(), []);
    await stranger.context().close();
    await context.close();
  }
});
