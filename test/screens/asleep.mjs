// Screens that slept for ten minutes show the right time as soon as they are awake.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { advance, changeWorld, linked, pos, sell } from "./pos.mjs";
import { LATE, deadline, exactly, milliseconds, rightly } from "./times.mjs";

const NAP = 10 * 60_000;

await story(async () => {
  await linked();
  const session = (await sell(1, "Jo Smith")).session_id;

  tell("A tab is frozen while ten minutes of the session go by, and thaws");
  const frozen = await Lane.at(1);
  await frozen.inState("running");
  const awake = await Lane.at(1);
  await awake.inState("running");
  await watchFace(frozen.page, ".face");
  const frost = await frozen.page.context().newCDPSession(frozen.page);
  const stands = new Promise((resolve) => frost.once("Debugger.paused", resolve));
  await frost.send("Debugger.enable");
  await frost.send("Debugger.pause");
  await stands; // nothing in it runs any more, and what comes for it waits
  const asleep = Date.now();
  await advance(session, NAP / 60_000);
  await awake.page.locator(".face").filter({ hasText: /^(50:00|4\d:)/ }).waitFor();
  const due = await deadline(session);
  const thaws = Date.now();
  await frost.send("Debugger.resume");
  const faces = await eventually("it shows times", async () => {
    const shown = await facesOf(frozen.page);
    return shown.length > 3 && shown.at(-1)[0] > thaws + 1000 && shown;
  });
  assert.ok(faces.every(([at]) => at < asleep || at >= thaws), "it was frozen");
  assert.ok(milliseconds(faces.findLast(([at]) => at < asleep)[1]) > due.to - asleep + NAP / 2, "and had not heard of it");
  await exactly(() => facesOf(frozen.page), due);
  const thawed = (await facesOf(frozen.page)).filter(([at]) => at >= thaws);
  const heard = thawed.findIndex(([at, face]) => milliseconds(face) < due.to - at + NAP / 2); // those before are of what it knew before
  assert.ok(thawed[heard][0] < thaws + LATE, "it hears of it soon");
  thawed.slice(heard).forEach(([at, face]) => rightly(face, at, due));

  tell("Two devices sleep, and the gateway is started anew meanwhile");
  const control = await clocked(`${scene.api}/control/${scene.range}`);
  const staff = new Control();
  staff.page = control;
  await staff.signIn("sam");
  await staff.inState(1, "running");
  const lane = await clocked(`${scene.api}/lane/${scene.lanes[0].id}?key=${scene.lanes[0].key}`);
  await lane.locator(".face").waitFor();
  const pages = [[control, `.lane[data-lane="${scene.lanes[0].id}"] .time`], [lane, ".face"]];
  await changeWorld("/gateway/kill"); // a clock that stands would take what still comes for older than it is
  for (const [page, selector] of pages) {
    // On a busy machine the page may be past that time when it hears of it: its clock stands then, and the next attempt succeeds.
    await eventually("its clock stands", () => page.clock.pauseAt(Date.now() + 100).then(() => true, () => false));
    await watchFace(page, selector);
  }
  await changeWorld("/gateway/start");
  await pos("GET", `/sessions/${session}`);
  await advance(session, NAP / 60_000);
  const then = await deadline(session);

  tell("They wake up: one whose clocks went on, and one whose monotonic clock stood still as it does in a suspension");
  const woken = Date.now() + NAP; // by the pages' clocks
  await control.clock.fastForward(Date.now() + NAP - (await control.evaluate(() => Date.now())));
  await control.clock.resume();
  await lane.clock.setSystemTime(Date.now() + NAP);
  await lane.clock.resume();
  for (const [page] of pages) {
    await eventually("it shows times", async () => (await facesOf(page)).length > 2);
    await page.locator("#contact").waitFor({ state: "hidden" });
    const contacted = (await facesOf(page)).length;
    await eventually("it shows times after it has contact again", async () => (await facesOf(page)).length > contacted + 1);
    const asked = Date.now();
    const at = await page.evaluate(() => Date.now()); // less than NAP ahead: its clock stood until a busy machine had it go on
    const due = { from: then.from + at - Date.now(), to: then.to + at - asked };
    await exactly(() => facesOf(page), due);
    const shown = await facesOf(page);
    console.log(`    ${shown.map(([at, face]) => `${face} at ${at - woken}`).join(", ")}`);
    assert.ok(shown.at(-1)[0] > woken);
    shown.filter(([at]) => at >= woken).forEach(([at, face]) => rightly(face, at, due)); // what it showed when it fell asleep is as old as its timers
  }
});

// clocked is a page whose clocks can be set.
async function clocked(address) {
  const page = await open(await device());
  await page.clock.install();
  await page.goto(address);
  return page;
}

// watchFace has the page write down the time that it shows there, and every other one from now on.
function watchFace(page, selector) {
  return page.evaluate((sought) => {
    window.faces = [[Date.now(), document.querySelector(sought).textContent]];
    new MutationObserver(() => {
      const shown = document.querySelector(sought)?.textContent;
      if (shown && shown !== window.faces.at(-1)?.[1]) {
        window.faces.push([Date.now(), shown]);
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  }, selector);
}

function facesOf(page) {
  return page.evaluate(() => window.faces);
}
