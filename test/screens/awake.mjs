// The display of a lane stays on while its screen is shown: a Screen Wake Lock, which the whole browser has.
import assert from "node:assert/strict";
import { Lane } from "./lane.mjs";
import { linked } from "./pos.mjs";
import { story, tell } from "./story.mjs";

await story(async () => {
  await linked();

  tell("The lane screen keeps the display on, at the beginning and whenever it is seen again");
  const lane = await Lane.at(1);
  const locked = await lane.page.evaluate(() => new Promise((resolve) => {
    const request = navigator.wakeLock.request.bind(navigator.wakeLock);
    navigator.wakeLock.request = async (type) => request(type).then((lock) => resolve([type, lock.released]));
    document.dispatchEvent(new Event("visibilitychange"));
  }));
  assert.deepEqual(locked, ["screen", false]);
});
