// Two members of staff at two control screens, and a shooter: what one of them does, the others see at once: the gateway tells their pages,
// which ask for nothing. How long it took is printed, and not judged: that depends on the machine.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { scene, story, tell } from "./story.mjs";
import { linked, sell } from "./pos.mjs";

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
  await told(sam, () => sam.create(2, "Ann Lee"), [[kim, card(2, '[data-state="running"]')]]);

  tell("Kim pauses it and lets it go on: Sam sees it, and Jo");
  await told(kim, () => kim.quick("Pause", 1).click(), [[sam, card(1, '[data-state="paused"]')], [jo, lane("paused")]]);
  await told(kim, () => kim.quick("Resume", 1).click(), [[sam, card(1, '[data-state="running"]')], [jo, lane("running")]]);

  tell("Jo calls for help: both see it");
  await told(jo, () => jo.page.getByRole("button", { name: "Help" }).click(), [[sam, card(1, "[data-help]")], [kim, card(1, "[data-help]")]]);

  tell("Sam begins a ceasefire: Kim sees it, and Jo");
  await told(sam, () => sam.beginCeasefire(), [[kim, "body[data-ceasefire] #alarm:not([hidden])"], [jo, lane("ceasefire")]]);
});

// told waits until the others see what act does on the actor's screen, as [screen, selector], and wants that their pages have asked for
// nothing meanwhile.
async function told(actor, act, others) {
  const asked = [];
  // A page to which a busy machine brings nothing for some seconds connects anew; that tells it what has happened, and is none of its questions.
  const note = (request) => request.url().endsWith("/stream") || asked.push(`${request.method()} ${request.url()}`);
  others.forEach(([{ page }]) => page.on("request", note));
  const touch = touched(actor.page);
  const seen = others.map(([{ page }, selector]) => seenAt(page, selector));
  await Promise.all([touch, ...seen].map(({ set }) => set));
  await act();
  const at = await Promise.all(seen.map(({ when }) => when()));
  const began = await touch.when();
  console.log(`    seen after ${at.map((time) => time - began).join(" and ")} ms`);
  others.forEach(([{ page }]) => page.off("request", note));
  assert.deepEqual(asked, []);
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
