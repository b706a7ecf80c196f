// Two members of staff at two control screens, and a shooter: what one of them does, the others see within half a second.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { scene, story, tell } from "./story.mjs";
import { linked, sell } from "./pos.mjs";

const SOON = 500; // ms, from the touch to the other's screen
const TRIES = 3; // a machine that is busy elsewhere is late now and then

await story(async () => {
  await linked();
  await sell(1, "Jo Smith");
  const sam = await Control.signedIn("sam");
  const kim = await Control.signedIn("kim");
  const jo = await Lane.at(1);
  await jo.inState("running");

  const card = (n, rest) => `.lane[data-lane="${scene.lanes[n - 1].id}"]${rest}`;
  const lane = (state) => `body[data-state="${state}"]`;

  tell("Sam makes a session: Kim sees it");
  await soon(sam, (n) => sam.create(1 + n, "Ann Lee"), (n) => [[kim, card(1 + n, '[data-state="running"]')]]);

  tell("Kim pauses it and lets it go on: Sam sees it, and Jo");
  await soon(kim, () => kim.quick("Pause", 1).click(), () => [[sam, card(1, '[data-state="paused"]')], [jo, lane("paused")]],
    async () => {
      await kim.quick("Resume", 1).click();
      await Promise.all([jo.inState("running"), sam.inState(1, "running"), kim.inState(1, "running")]);
    });

  tell("Jo calls for help: both see it");
  await soon(jo, () => jo.page.getByRole("button", { name: "Help" }).click(), () => [[sam, card(1, "[data-help]")], [kim, card(1, "[data-help]")]],
    async () => {
      await sam.openLane(1);
      await sam.panel.getByRole("button", { name: "Help is done" }).click();
      await jo.page.getByText("Help has been called").waitFor({ state: "hidden" });
    });

  tell("Sam begins a ceasefire: Kim sees it, and Jo");
  await soon(sam, () => sam.beginCeasefire(), () => [[kim, "body[data-ceasefire] #alarm:not([hidden])"], [jo, lane("ceasefire")]],
    async () => {
      await sam.endCeasefire();
      await Promise.all([jo.inState("running"), kim.alarm.waitFor({ state: "hidden" })]);
    });
});

// soon holds the time between the last touch of act(try) on the actor's screen and what the others then see, [screen,
// selector], against the bound. undo is how it was before, for another try.
async function soon(actor, act, others, undo = async () => {}) {
  const took = [];
  for (let tried = 1; tried <= TRIES; tried++) {
    const touch = touched(actor.page);
    const seen = others(tried).map(([screen, selector]) => seenAt(screen.page, selector));
    await Promise.all([touch, ...seen].map(({ set }) => set));
    await act(tried);
    const at = await Promise.all(seen.map(({ when }) => when()));
    const began = await touch.when();
    took.push(Math.max(...at) - began);
    console.log(`    seen after ${at.map((time) => time - began).join(" and ")} ms`);
    await undo();
    if (took.at(-1) <= SOON) {
      return;
    }
  }
  assert.fail(`seen after ${took} ms at best`);
}

// Both are by the wall clock, which all pages of one machine share.

function touched(page) {
  return {
    set: page.evaluate(() => {
      window.touched = 0;
      document.addEventListener("click", () => (window.touched = Date.now()), true);
    }),
    when: () => page.evaluate(() => window.touched),
  };
}

function seenAt(page, selector) {
  return {
    set: page.evaluate((sought) => {
      if (document.querySelector(sought)) {
        throw new Error(`${sought} is there already`);
      }
      window.seen = new Promise((resolve) => {
        const watch = new MutationObserver(() => {
          if (document.querySelector(sought)) {
            watch.disconnect();
            requestAnimationFrame(() => setTimeout(() => resolve(Date.now()))); // once it is painted
          }
        });
        watch.observe(document, { subtree: true, childList: true, attributes: true });
      });
    }, selector),
    when: () => page.evaluate(() => window.seen),
  };
}
