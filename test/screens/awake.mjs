// What only the whole browser has: a display that stays on (Screen Wake Lock), and notifications of a page that is hidden.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { linked, sell } from "./pos.mjs";
import { eventually, story, tell } from "./story.mjs";

await story(async () => {
  await linked();
  await sell(1, "Jo Smith");
  const staff = await Control.signedIn("sam");
  await staff.inState(1, "running");

  tell("The lane screen keeps the display on, at the beginning and whenever it is seen again");
  const jo = await Lane.at(1);
  const locked = await jo.page.evaluate(() => new Promise((resolve) => {
    const request = navigator.wakeLock.request.bind(navigator.wakeLock);
    navigator.wakeLock.request = async (type) => request(type).then((lock) => resolve([type, lock.released]));
    document.dispatchEvent(new Event("visibilitychange"));
  }));
  assert.deepEqual(locked, ["screen", false]);

  tell("Sam's page is hidden: the device says that Jo calls, and Sam comes by the lane's card");
  await staff.page.context().grantPermissions(["notifications"]);
  await staff.openQueue();
  await staff.queue.getByLabel("Notify me while this page is hidden").check();
  await staff.page.keyboard.press("Escape");
  const hide = (hidden) => staff.page.evaluate((now) => {
    Object.defineProperty(document, "hidden", { value: now, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await staff.page.evaluate(() => {
    window.notified = [];
    window.Notification = class {
      static permission = "granted";
      constructor(title, { body }) {
        window.notified.push([title, body]);
      }
    };
  });
  await hide(true);
  await staff.page.evaluate(() => navigator.locks.query().then(({ held }) => held.length)).then((held) => assert.equal(held, 1, "one hidden page keeps its connection"));
  await jo.page.getByRole("button", { name: "Help" }).click();
  assert.deepEqual(await eventually("the device says so", async () => {
    const notified = await staff.page.evaluate(() => window.notified);
    return notified.length > 0 && notified;
  }), [["Lane 1", "help · Jo Smith"]]);
  await hide(false);
  await staff.quick("Help is coming", 1).click();
  await jo.page.getByText("Help is coming").waitFor();
  await staff.quick("Help is done", 1).click();
  await jo.page.getByText("Help is coming").waitFor({ state: "hidden" });
});
