// The control screen and the lane screen by keyboard alone: no mouse, and what is touched next is always in sight.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { pressKey } from "./hands.mjs";
import { Lane } from "./lane.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { changeWorld, linked, sessionOn } from "./pos.mjs";

await story(async () => {
  await linked();
  const staff = new Control();
  const page = (staff.page = await open(await device(), `${scene.api}/control/${scene.range}`));
  const keys = new Keys(page);

  tell("Signing in");
  await page.getByLabel("Name", { exact: true }).and(page.locator(":focus")).waitFor();
  await keys.type("sam");
  await keys.to(page.getByLabel("PIN", { exact: true }));
  await keys.type(scene.pin);
  await keys.press("Enter");
  await staff.inState(1, "free");

  tell("A session on lane 2, found by its name");
  await keys.press("/");
  await keys.type("lane 2");
  await staff.card(1).waitFor({ state: "hidden" });
  await keys.to(staff.card(2).getByRole("button", { name: "Lane 2", exact: true }));
  await keys.press("Enter");
  await staff.panel.getByLabel("Customer", { exact: true }).and(page.locator(":focus")).waitFor();
  await staff.opened();
  await keys.type("Jo Smith");
  await keys.to(staff.panel.getByRole("radio", { name: "now", exact: true }));
  await keys.press("ArrowDown");
  await keys.to(staff.panel.getByLabel("Another number"), "Shift+Tab");
  await keys.press("Control+A");
  await keys.type("45");
  await keys.to(staff.panel.getByRole("button", { name: "Create: 45 min, on entry" }));
  await keys.press("Enter");
  await staff.inState(2, "waiting");
  await keys.stands(staff.card(2).getByRole("button", { name: "Lane 2", exact: true }), "back on the lane");
  const { duration, enable_purchasing: purchasing, began_at: began } = await sessionOn(2);
  assert.deepEqual([duration, purchasing, began], [45, true, null]);
  await keys.to(page.getByRole("searchbox"), "Shift+Tab");
  await keys.press("Control+A");
  await keys.press("Delete");
  await staff.card(1).waitFor();

  tell("Whoever hears the screen hears of a lane what is seen on its tile");
  assert.match(await described(page, "Lane 2"), /^Waiting Jo Smith 45:00$/);
  assert.equal(await described(page, "Lane 1"), "Free");

  tell("It is started, paused, resumed, made longer and shorter, and moved");
  await keys.to(staff.quick("Start now", 2));
  await keys.press("Enter");
  await staff.inState(2, "running");
  await keys.stands(staff.card(2).locator("button"), "on what can be done now");
  await keys.to(staff.card(2).getByRole("button", { name: "Lane 2", exact: true }), "Shift+Tab");
  await keys.press("Enter");
  await staff.opened();
  await keys.to(staff.panel.getByRole("button", { name: "Pause" }));
  await staff.opened();
  await keys.press("Enter");
  await staff.inState(2, "paused");
  await keys.stands(staff.panel.getByRole("button", { name: "Resume" }), "on what takes its place");
  await keys.press("Enter");
  await staff.inState(2, "running");
  await keys.to(staff.panel.getByRole("button", { name: "15 minutes more" }));
  await keys.press("Space");
  await staff.says(2, "of 60 min");
  await keys.to(staff.panel.getByLabel("Minutes to add"));
  await keys.type("-7");
  await keys.press("Enter");
  await staff.says(2, "of 53 min");
  await keys.to(staff.panel.getByRole("button", { name: "Move …" }), "Shift+Tab");
  await keys.press("Enter");
  await keys.stands(staff.card(1).getByRole("button", { name: "Lane 1", exact: true }), "on the first free lane");
  await keys.press("Escape");
  await staff.panel.waitFor();
  await keys.to(staff.panel.getByRole("button", { name: "Move …" }));
  await keys.press("Enter");
  for (let lane = 1; lane < 5; lane++) {
    await keys.press("ArrowRight");
  }
  await keys.press("Enter");
  await staff.inState(5, "running");
  await staff.panel.getByRole("heading", { name: "Lane 5 · Jo Smith" }).waitFor();
  await keys.press("Escape");
  await staff.panel.waitFor({ state: "hidden" });
  await keys.stands(staff.card(5).getByRole("button", { name: "Lane 5", exact: true }), "back on the lane that it went to");
  for (let lane = 5; lane > 2; lane--) {
    await keys.press("ArrowLeft");
  }

  tell("A lane is closed for sale and locked, and unlocked");
  await keys.press("ArrowLeft");
  await keys.stands(staff.card(1).getByRole("button", { name: "Lane 1", exact: true }), "an arrow goes from lane to lane");
  await keys.press("Enter");
  await keys.to(staff.panel.getByRole("radio", { name: "As usual" }));
  await staff.opened();
  await keys.press("ArrowLeft");
  await staff.inState(1, "closed");
  await keys.to(staff.panel.getByRole("button", { name: "Lock this lane" }), "Shift+Tab");
  await keys.press("Enter");
  await staff.says(1, "locked");
  await keys.to(staff.panel.getByRole("button", { name: "Hold down to unlock Lane 1" }));
  await keys.hold("Enter", staff.card(1).getByText("locked").waitFor({ state: "hidden" }));
  await keys.press("Escape");

  tell("Several lanes: selected by Shift and arrows, by Ctrl and Space or A; closed for sale, and opened again");
  const first = staff.card(1).getByRole("button", { name: "Lane 1", exact: true });
  const pressed = () => page.locator(".lane .open").evaluateAll((all) => all.map((of) => of.getAttribute("aria-pressed")).join());
  const bar = page.getByRole("region", { name: "Selected lanes" });
  await keys.stands(first, "back on the lane");
  await keys.press("Shift+ArrowRight");
  await bar.getByText("2 lanes").waitFor();
  assert.equal(await pressed(), "true,true,false,false,false,false");
  await page.getByRole("alert").getByText("2 lanes").waitFor(); // which is spoken
  await keys.press("Control+Space");
  await keys.press("ArrowRight");
  await keys.press("Space");
  assert.equal(await pressed(), "true,false,true,false,false,false");
  await keys.press("Control+A");
  assert.equal(await pressed(), "true,true,true,true,true,true");
  await keys.press("Escape");
  await bar.waitFor({ state: "hidden" });
  assert.equal(await pressed(), ",,,,,", "no lane can be selected");
  await keys.press("Control+Space");
  await keys.to(bar.getByLabel("Lanes to select, such as 5-12, 20"));
  await keys.type("1, 7");
  await keys.press("Enter");
  await bar.getByText("There is no lane “7”.").waitFor();
  await keys.press("Control+A");
  await keys.type("1-3");
  await keys.press("Enter");
  await bar.getByText("3 lanes").waitFor();
  await keys.to(bar.locator("summary").and(page.getByLabel("More for the selected lanes")));
  await keys.press("Enter");
  await keys.to(bar.getByRole("button", { name: "Close 2 for sale" }));
  await keys.press("Enter");
  await staff.inState(3, "closed");
  await page.locator("#outcome").getByText("2 closed for sale").waitFor();
  await keys.to(page.locator("#outcome").getByRole("button", { name: "Undo: 2 closed for sale" }));
  await keys.press("Enter");
  await staff.inState(3, "free");
  await staff.inState(1, "closed"); // as it was
  await keys.to(bar.getByRole("button", { name: "Stop selecting" }), "Shift+Tab");
  await keys.press("Enter");
  await keys.stands(staff.card(3).getByRole("button", { name: "Lane 3", exact: true }), "on the lane that was selected last");

  tell("A ceasefire over a bay, ended by two keys; one over the range, by a key held down");
  await keys.to(page.locator("summary").and(page.getByLabel("Bay B: more")));
  await keys.press("Enter");
  await keys.to(page.getByRole("button", { name: "Ceasefire over Bay B" }));
  await keys.press("Enter");
  await staff.alarm.getByText("Ceasefire: Bay B, all locked").waitFor();
  await staff.alarm.getByText("3 of 3 lanes have confirmed that they are locked.", { exact: true }).waitFor();
  await keys.to(staff.alarm.getByRole("button", { name: "Hold down to end: Bay B" }), "Shift+Tab");
  await pressKey(page, "Space");
  const now = staff.alarm.getByRole("button", { name: "End it now: Bay B" });
  await keys.to(now);
  await now.and(page.locator(":not([aria-disabled])")).waitFor(); // it takes no press at first
  await keys.press("Space");
  await staff.alarm.waitFor({ state: "hidden" });
  await keys.to(page.getByRole("button", { name: "Ceasefire over the whole range" }), "Shift+Tab");
  await keys.press("Enter");
  await staff.alarm.getByText("Ceasefire: whole range, all locked").waitFor();
  await keys.stands(page.getByRole("button", { name: "Ceasefire over the whole range: in force" }), "where it was, which is not on what ends it");
  await keys.to(staff.alarm.getByRole("button", { name: "Hold down to end: whole range" }));
  await keys.hold("Space", staff.alarm.waitFor({ state: "hidden" }));

  tell("Jo at lane 5: help, the shop, a purchase that is refused, and one that is not");
  const jo = await Lane.at(5);
  await jo.inState("running");
  const lane = new Keys(jo.page);
  await lane.to(jo.page.getByRole("button", { name: "Help" }));
  await lane.press("Enter");
  await staff.says(5, "Help! since");
  await lane.to(jo.page.getByRole("button", { name: "Shop" }));
  await lane.press("Enter");
  await lane.to(jo.shop.getByRole("tab", { name: "Time" }));
  await lane.press("ArrowRight");
  await lane.stands(jo.shop.getByRole("tab", { name: "Targets" }), "on the next tab");
  await lane.to(jo.shop.getByRole("button", { name: "More: Zombie" }));
  await lane.press("Space");
  await lane.press("Space");
  assert.equal(await jo.total(), "€4");
  await changeWorld("/purchases", { how: "refuse", message: "Sold out." });
  await lane.to(jo.shop.getByRole("button", { name: "Look and buy" }));
  await lane.press("Enter");
  await lane.to(jo.shop.getByRole("button", { name: "Buy for €4" }));
  await lane.press("Enter");
  await jo.shopSays("Sold out.");
  await changeWorld("/purchases", { how: "accept" });
  await lane.to(jo.shop.getByRole("button", { name: "Look and buy" }));
  await lane.press("Enter");
  await lane.to(jo.shop.getByRole("button", { name: "Buy for €4" }));
  await lane.press("Enter");
  await jo.shopSays("Your purchase went through");
  await lane.to(jo.shop.getByRole("button", { name: "Back to my time" }));
  await lane.press("Enter");
  await jo.shop.waitFor({ state: "hidden" });

  tell("Staff acknowledge the call, stop the session, look at every page, and sign out");
  await keys.to(staff.queue.getByRole("button", { name: "1 task" }), "Shift+Tab");
  await keys.press("Enter");
  await staff.need("Done", 5).waitFor();
  await keys.press("Escape");
  await staff.need("Done", 5).waitFor({ state: "hidden" });
  await keys.to(staff.need("On my way", 5));
  await keys.press("Enter");
  await staff.need("Done", 5).waitFor();
  await keys.stands(staff.need("Done", 5), "on what takes its place");
  await keys.press("Enter");
  await staff.need("Done", 5).waitFor({ state: "detached" });
  await keys.stands(staff.queue.getByRole("button", { name: "Nothing to do" }), "still in the queue");
  await keys.to(staff.quick("Stop", 5));
  await keys.press("Enter");
  await staff.card(5).locator(".sure:not([aria-disabled])").waitFor();
  await keys.press("Enter");
  await staff.inState(5, "free");
  await keys.stands(staff.card(5).locator("button"), "still on the lane");
  for (const [tab, heading] of [["Ended", "Ended sessions"],
    ["Deliveries", "Webhook deliveries"], ["Staff log", "What staff did"], ["Health", "Health"]]) {
    await keys.to(page.getByRole("navigation").getByRole("link", { name: tab }), tab === "Ended" ? "Shift+Tab" : "Tab");
    await keys.press("Enter");
    await page.getByRole("heading", { level: 2, name: heading }).waitFor();
  }
  await keys.to(page.getByRole("button", { name: "Sign out" }));
  await keys.press("Enter");
  await page.locator(".who .sure:not([aria-disabled])").waitFor(); // it asks once
  await keys.press("Enter");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
});

// described is what a screen reader says of a button behind its name, as Chromium computes it.
async function described(page, name) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  return nodes.find((node) => node.role?.value === "button" && node.name?.value === name).description.value;
}

// Keys are the hands of somebody who has a keyboard alone.
function Keys(page) {
  this.type = (text) => page.keyboard.type(text);
  this.press = async (key) => {
    await page.locator("body:not([data-replaced])").waitFor(); // as whoever sees that the focus has moved
    await page.keyboard.press(key);
  };
  // to goes on from here, key by key, until the focus is on what is sought, which then shows that it has it.
  this.to = async (sought, key = "Tab") => {
    await sought.waitFor();
    for (let pressed = 0; !(await sought.evaluate((of) => of === document.activeElement)); pressed++) {
      assert.ok(pressed < 80, `${sought} is not reached by ${key}`);
      await page.keyboard.press(key);
    }
    await sought.evaluate((of) => {
      const box = of.getBoundingClientRect();
      const styles = [getComputedStyle(of), getComputedStyle(of, "::after"), getComputedStyle(of.closest("label") ?? of), getComputedStyle(of.nextElementSibling ?? of)];
      if (!of.matches(":focus-visible") || !styles.some(({ outlineStyle, boxShadow }) => outlineStyle !== "none" || boxShadow !== "none")) {
        throw new Error(`nothing shows that the focus is on ${of.outerHTML}`);
      }
      if (box.bottom < 0 || box.top > innerHeight) {
        throw new Error(`out of sight: ${of.outerHTML}`);
      }
    });
  };
  // stands waits until the focus is there by itself.
  this.stands = (at, why) =>
    eventually(`the focus is ${why}`, () => at.evaluateAll((all) => all.includes(document.activeElement)));
  // hold keeps the key down until something has come of it.
  this.hold = async (key, done) => {
    await page.keyboard.down(key);
    await done;
    await page.keyboard.up(key);
  };
}
