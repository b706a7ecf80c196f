// Ceasefires at screens of every size, and who presses what of them.
import { Control } from "./control.mjs";
import { Fingers, middle } from "./hands.mjs";
import { operate } from "./pos.mjs";
import { EVERY, LANGUAGES, SIZES } from "./sizes.mjs";

// DEVICES are [width, height, touch, language]: a desk, a tablet, a telephone crosswise and upright.
export const DEVICES = EVERY ? SIZES.flatMap((size) => LANGUAGES.map((language) => [...size, language])) : [
  [1920, 1080, false, "en-GB"], [1024, 768, true, "de-DE"], [667, 375, true, "en-GB"], [390, 844, true, "de-DE"],
];
export const HELD = { "en-GB": /^Hold down to end/, "de-DE": /^Gedrückt halten zum Aufheben/ };

// holds are those in force, as an operator sees them: "range sam".
export const holds = async () => (await operate("GET", "/holds")).map(({ scope, who }) => `${scope} ${who}`);
// lift ends every hold, as an operator does: the ceasefire over the range, and those that controllers kept over the death of a gateway which
// had not saved it yet.
export async function lift() {
  for (const { scope, id } of await operate("GET", "/holds")) {
    await operate("PUT", "/holds", { scope, id, on: false });
  }
}

// at is a screen of that size, with the requests about holds that it has sent.
export async function at([width, height, hasTouch, locale], who = "sam") {
  const staff = await Control.signedIn(who, { viewport: { width, height }, hasTouch, locale });
  const sent = [];
  staff.page.on("request", (request) => {
    if (request.method() === "PUT") {
      sent.push(request.postDataJSON()?.on === false ? "end" : "begin");
    }
  });
  return Object.assign(staff, { begin: staff.page.locator("#begin button"), sent, locale });
}

// inForce waits until the screen shows a ceasefire, and isOver until it shows none.
export const inForce = (staff) => staff.page.locator("body[data-ceasefire] #alarm:not([hidden])").waitFor();
export const isOver = (staff) => staff.page.locator("body:not([data-ceasefire]):not([data-unset])").waitFor();
export const endButton = (staff) => staff.alarm.locator(".pressed");

// hold keeps a finger, or the mouse, on a control while done is done.
export async function hold(page, control, done) {
  const place = await middle(control);
  if (await page.evaluate(() => navigator.maxTouchPoints > 0)) {
    const fingers = await Fingers.on(page);
    await fingers.down(1, place);
    await done();
    await fingers.up(1);
  } else {
    await page.mouse.move(...place);
    await page.mouse.down();
    await done();
    await page.mouse.up();
  }
}
