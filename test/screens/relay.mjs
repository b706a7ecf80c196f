// A relay at one counter: twenty lanes are sold and begin together, by a few touches. The shooters see how long it is until then, and so
// does the wall; a start can be called off.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { look } from "./look.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { Lane } from "./lane.mjs";
import { linked, pos, sell, sessionOn } from "./pos.mjs";

const LANES = 20;
const range = `11111111-0000-4000-8000-${String(LANES).padStart(12, "0")}`;

await story(async () => {
  await linked();
  const staff = new Control();
  const page = (staff.page = await open(await device({ viewport: { width: 1280, height: 800 }, hasTouch: true }), `${scene.api}/control/${range}`));
  await staff.signIn("sam");
  let taps = 0;
  const touch = async (control) => {
    await page.locator(".many-actions[data-moved]").waitFor({ state: "detached" }); // presses count again
    await control.tap();
    await page.waitForTimeout(300); // as a finger takes
  };
  const tap = async (control) => {
    await touch(control);
    taps++;
  };
  const selection = page.locator("#selection");
  const many = (name) => selection.locator("button, summary").filter({ visible: true, hasText: name });

  tell("Twenty lanes are sold; with their start together that takes less than eight touches");
  await page.locator(".lane[data-state=free]").nth(LANES - 1).waitFor();
  await tap(page.getByRole("button", { name: "Select", exact: true }));
  await tap(many("All"));
  await tap(many(`Sell ${LANES}`));
  await tap(selection.locator('input[name=start][value=entry]'));
  await tap(selection.getByRole("button", { name: "Sell 30 minutes" }));
  await page.locator(".lane[data-state=waiting]").nth(LANES - 1).waitFor();

  tell("Every lane counts down, on the wall too, until that start is taken back");
  const wall = await open(await device({ viewport: { width: 1920, height: 1080 } }), `${scene.api}/board/${range}?key=${scene.board}-${LANES}`);
  await wall.locator(".tile[data-state=waiting]").nth(LANES - 1).waitFor();
  await watchCountdown(page, ".lane .time", "in (1:00|0?0:\\d\\d)");
  await watchCountdown(wall, ".tile .time", "^(1:00|0?0:\\d\\d)$");
  const more = selection.locator("summary").and(page.getByLabel("More for the selected lanes"));
  await touch(more);
  await touch(many(`Start ${LANES} in 1 min`)); // ten seconds are not long for two pages to draw all of it in
  await page.locator("#outcome").getByText(`${LANES} start together in 1 min`).waitFor();
  for (const screen of [page, wall]) {
    await eventually("every lane counts down", async () => (await screen.evaluate(() => window.counted)) === LANES);
  }
  await touch(page.locator("#outcome").getByRole("button", { name: /^Undo/ }));
  await page.locator("#outcome").waitFor({ state: "hidden" });

  tell("They begin together");
  await tap(more);
  await tap(many(`Start ${LANES} in 10 s`));
  assert.ok(taps < 8, `${taps} touches`);
  console.log(`    ${taps} touches`);
  await page.locator("#outcome").getByText(`${LANES} start together in 10 s`).waitFor();
  await page.locator(".lane[data-state=running]").nth(LANES - 1).waitFor();
  await wall.locator(".tile[data-state=running]").nth(LANES - 1).waitFor();

  tell("The shooter sees how long it is, and has no button of their own");
  const first = (await sell(1, "Jo Smith", { auto_start: false })).session_id;
  const second = (await sell(2, "Ann Lee", { auto_start: false })).session_id;
  const start = await pos("POST", "/starts", { session_ids: [first, second], in_seconds: 3600 }, 201);
  const jo = await Lane.at(1);
  await jo.inState("scheduled");
  await jo.shows("Your time starts in");
  assert.equal(await jo.page.getByRole("button", { name: "Start", exact: true }).count(), 0);
  await look(jo.page, "a shooter before the start of a relay");
  const bo = await Lane.at(2, { locale: "de-DE", viewport: { width: 390, height: 844 } });
  await bo.shows("Ihre Zeit beginnt in");
  await look(bo.page, "a shooter before the start of a relay, in German on a telephone");

  tell("Staff see the start on the tile and call it off; the customers begin by themselves again");
  const kim = await Control.signedIn("kim", { hasTouch: true, locale: "de-DE" });
  await kim.says(1, "Beginnt");
  await look(kim.page, "lanes that start together, in German");
  await kim.card(1).getByRole("button", { name: "Lane 1", exact: true }).tap();
  await kim.opened();
  await kim.panel.getByRole("button", { name: "Start absagen" }).tap();
  await jo.inState("waiting");
  await bo.inState("waiting");
  await pos("GET", `/starts/${start.start_id}`, undefined, 404);
  assert.equal((await sessionOn(1)).starts_at, undefined);

  tell("Two starts are called off at once, of which one has come already: staff read which lanes it is off for, and why not for the others");
  const [off, come] = [await pos("POST", "/starts", { session_ids: [first], in_seconds: 3600 }, 201), await pos("POST", "/starts", { session_ids: [second], in_seconds: 3600 }, 201)];
  await kim.page.route(`**/starts/${come.start_id}`, (route) => route.fulfill({ status: 409, json: { code: "not_waiting", error: "running" } }));
  await kim.panel.getByRole("button", { name: "Schließen", exact: true }).tap();
  await kim.page.getByRole("button", { name: "Auswählen", exact: true }).tap();
  const typed = kim.page.getByLabel("Bahnen auswählen");
  await typed.fill("1-2");
  await typed.press("Enter");
  await kim.page.locator(".many-actions[data-moved]").waitFor({ state: "detached" });
  await kim.page.locator("#selection summary").and(kim.page.getByLabel("Mehr für die ausgewählten Bahnen")).tap();
  await kim.page.getByRole("button", { name: "Start von 2 absagen" }).tap();
  const told = kim.page.locator("#outcome");
  await told.getByText("Lane 2: Die Sitzung hat schon begonnen.").waitFor();
  assert.ok(await told.getByText("Start von 1 abgesagt").isVisible());
  await jo.inState("waiting");
  await bo.inState("scheduled");
  await pos("GET", `/starts/${off.start_id}`, undefined, 404);
  await pos("DELETE", `/starts/${come.start_id}`, undefined, 204);
  await bo.inState("waiting");

  tell("A start that has come is on every screen");
  await pos("POST", "/starts", { session_ids: [first, second], in_seconds: 1 }, 201);
  await jo.inState("running");
  await bo.inState("running");
  await eventually("both began at one instant", async () => (await sessionOn(1)).began_at === (await sessionOn(2)).began_at);
});

// watchCountdown has the page write down how many elements have shown a countdown at once, whoever looks later.
function watchCountdown(page, selector, pattern) {
  return page.evaluate(([selector, pattern]) => {
    window.counted = 0;
    const isCountdown = new RegExp(pattern);
    new MutationObserver(() => {
      const counting = [...document.querySelectorAll(selector)].filter(({ textContent }) => isCountdown.test(textContent));
      window.counted = Math.max(window.counted, counting.length);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  }, [selector, pattern]);
}
