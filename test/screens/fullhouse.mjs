// Many lanes on one screen: every lane is in sight without scrolling, and stays where it is whatever happens on it.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { device, open, scene, story, tell } from "./story.mjs";

await story(async () => {
  for (const [lanes, width, height, touch] of [[60, 1280, 800, true], [200, 1920, 1080, false]]) {
    tell(`${lanes} lanes on ${width} × ${height}: all of them are in sight`);
    const range = `11111111-0000-4000-8000-${String(lanes).padStart(12, "0")}`;
    const staff = new Control();
    const page = (staff.page = await open(await device({ viewport: { width, height }, hasTouch: touch, ...(touch ? {} : { locale: "de-DE", colorScheme: "dark" }) }), `${scene.api}/control/${range}`));
    await staff.signIn("sam");
    const lane = (n) => `44444444-0000-4000-8000-${String(lanes).padStart(6, "0")}${String(n).padStart(6, "0")}`;
    const tile = (n) => page.locator(`.lane[data-lane="${lane(n)}"]`);
    const places = await placesOf(page);
    assert.equal(places.length, lanes);
    assert.deepEqual(places.filter(({ inSight }) => !inSight), []);
    assert.ok(places.every(({ w, h }) => w >= 48 && h >= 48), "a finger hits each of them");

    tell("Sessions begin, pause and end, lanes are closed and locked, and the panel is opened: nothing moves");
    const ask = (method, path, body) => page.evaluate(async ([method, path, body]) => {
      const response = await fetch(`/control/api${path}`, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
      return [response.status, await response.json().catch(() => null)];
    }, [method, path, body]);
    const sell = (n) => ask("POST", "/sessions", {
      lane_id: lane(n), customer_name: `A customer with a very long name ${n}`, group_id: `33333333-0000-4000-8000-${String(lanes).padStart(6, "0")}000001`, duration: 60,
      enable_purchasing: false, auto_start: n !== 3,
    });
    const sold = [];
    for (const n of [1, 2, 3, 4, 7, lanes]) {
      sold.push((await sell(n))[1]);
    }
    await tile(2).and(page.locator("[data-state=running]")).waitFor();
    await ask("POST", `/sessions/${sold[1].session_id}/pause`, {});
    await ask("POST", `/sessions/${sold[3].session_id}/stop`, {});
    await ended(range, lanes, sold[4]);
    await ask("POST", `/lanes/${lane(5)}/sale`, { sale: "closed" });
    await ask("PUT", "/holds", { scope: "lane", id: lane(6), on: true });
    await tile(1).getByRole("button", { name: "Lane 1", exact: true }).click();
    await staff.panel.getByRole("heading", { name: "Lane 1" }).waitFor();
    for (const [n, state] of [[1, "[data-state=running]"], [2, "[data-state=paused]"], [3, "[data-state=waiting]"], [4, "[data-state=free]"], [5, "[data-state=closed]"], [7, "[data-state=ended]"], [6, "[data-held]"]]) {
      await tile(n).and(page.locator(state)).waitFor();
    }
    await staff.alarm.waitFor({ state: "hidden" });
    const cut = await page.evaluate(() => [...document.querySelectorAll(".lane[data-session], .lane[data-state=ended]")].filter((of) => {
      const [open, time, quick] = [".open", ".time", ".quick"].map((part) => of.querySelector(part));
      const right = quick.checkVisibility() ? quick.getBoundingClientRect().left : of.getBoundingClientRect().right;
      return open.scrollWidth > open.clientWidth || (time.checkVisibility() && time.getBoundingClientRect().right > right);
    }).map((of) => of.textContent));
    assert.deepEqual(cut, [], "the name of a lane and its time are not cut off by its actions");
    assert.deepEqual(await placesOf(page), places);

    tell("Lanes are selected, by touch or by mouse, in English or in German: nothing moves, and the ceasefire stays in reach");
    await page.keyboard.press("Escape");
    const bar = page.locator("#selection");
    const named = (n) => tile(n).getByRole("button", { name: `Lane ${n}`, exact: true });
    if (touch) {
      await hold(page, named(10));
      await named(12).tap();
      await named(14).tap();
      await named(14).tap();
    } else {
      await named(12).click({ modifiers: ["Control"] });
      await named(19).click({ modifiers: ["Shift"] });
    }
    await bar.getByText(touch ? "2 lanes" : "8 Bahnen").waitFor();
    assert.deepEqual(await placesOf(page), places);
    assert.equal(await page.locator(".lane .open[aria-pressed=true]").count(), touch ? 2 : 8);
    await bar.getByRole("textbox").fill("1-5, 55");
    await page.keyboard.press("Enter");
    await bar.getByText(touch ? "8 lanes" : "14 Bahnen").waitFor();
    await page.locator(".many-actions:not([data-moved])").waitFor();
    await bar.locator("button", { hasText: "Pause 1" }).click();
    await tile(1).and(page.locator("[data-state=paused]")).waitFor();
    assert.deepEqual(await placesOf(page), places);
    await bar.locator("summary").first().click();
    assert.ok(await inReach(page, "#begin button"), "nothing lies over it");
    await page.getByRole("button", { name: touch ? "All" : "Alle", exact: true }).click();
    await bar.getByText(`${lanes} ${touch ? "lanes" : "Bahnen"}`).waitFor();
    await bar.getByRole("button", { name: touch ? "Stop selecting" : "Auswahl beenden" }).click();
    await bar.waitFor({ state: "hidden" });
    assert.deepEqual(await placesOf(page), places);
  }
});

// hold touches a control until lanes are being selected.
async function hold(page, control) {
  const { x, y } = await control.boundingBox();
  const finger = await page.context().newCDPSession(page);
  await finger.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x: x + 5, y: y + 5 }] });
  await page.locator("#selection").waitFor();
  await finger.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

// inReach is true if a press on the middle of the control, or near its corners, hits it.
function inReach(page, selector) {
  return page.evaluate((selector) => {
    const control = document.querySelector(selector);
    const { left, top, right, bottom } = control.getBoundingClientRect();
    const points = [[(left + right) / 2, (top + bottom) / 2], [left + 8, top + 8], [right - 8, bottom - 8], [left + 8, bottom - 8], [right - 8, top + 8]];
    return points.every(([x, y]) => control.contains(document.elementFromPoint(x, y)));
  }, selector);
}

// ended lets the time of a session be up.
async function ended(range, lanes, session) {
  const token = `22222222-0000-4000-8000-${String(lanes).padStart(6, "0")}000000`;
  const response = await fetch(`${scene.api}/api/v2/pos/simulate/advance`, {
    method: "POST", headers: { "range-id": range, token, "Content-Type": "application/json" }, body: JSON.stringify({ session_id: session.session_id, minutes: 60 }),
  });
  assert.equal(response.status, 204);
}

// placesOf are the places of all tiles in the board, and whether they can be seen whole.
function placesOf(page) {
  return page.evaluate(() => {
    const main = document.getElementById("main");
    const frame = main.getBoundingClientRect();
    return [...document.querySelectorAll(".lane")].map((of) => {
      const { x, y, width: w, height: h } = of.getBoundingClientRect();
      return { x: x - frame.x, y: y - frame.y, w, h, inSight: x >= frame.x && y >= frame.y && x + w <= frame.right && y + h <= frame.bottom && main.scrollTop === 0 };
    });
  });
}
