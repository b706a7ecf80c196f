// Many lanes on one screen: every lane is in sight without scrolling, and stays where it is whatever happens on it.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";

await story(async () => {
  for (const [lanes, width, height, touch] of [[60, 1280, 800, true], [200, 1920, 1080, false]]) {
    tell(`${lanes} lanes on ${width} × ${height}: all of them are in sight`);
    const range = `11111111-0000-4000-8000-${String(lanes).padStart(12, "0")}`;
    const staff = new Control();
    const page = (staff.page = await open(await device({ viewport: { width, height }, hasTouch: touch, ...(touch ? { locale: "de-DE", colorScheme: "dark" } : {}) }), `${scene.api}/control/${range}`));
    await staff.signIn("sam");
    const lane = (n) => `44444444-0000-4000-8000-${String(lanes).padStart(6, "0")}${String(n).padStart(6, "0")}`;
    const tile = (n) => page.locator(`.lane[data-lane="${lane(n)}"]`);
    const places = await placesOf(page);
    assert.equal(places.length, lanes);
    assert.deepEqual(places.filter(({ inSight }) => !inSight), []);
    assert.ok(places.every(({ w, h }) => w >= 48 && h >= 48), "a finger hits each of them");

    tell("On another desk too, and the room is not left empty");
    await page.setViewportSize(lanes === 60 ? { width: 1920, height: 1080 } : { width: 1440, height: 900 });
    await eventually("all of them are in sight", async () => (await placesOf(page)).every(({ inSight }) => inSight));
    await eventually("and take more than nine tenths of the height", async () => {
      const used = await page.evaluate(() => {
        const main = document.getElementById("main").getBoundingClientRect();
        const [first, last] = [document.querySelector(".lane"), [...document.querySelectorAll(".lane")].at(-1)].map((of) => of.getBoundingClientRect());
        return (last.bottom - first.top) / (main.bottom - first.top);
      });
      return used > 0.9;
    });
    await page.setViewportSize({ width, height });
    await eventually("each is where it was", async () => JSON.stringify(await placesOf(page)) === JSON.stringify(places));

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
    await tile(6).and(page.locator("[data-held]")).waitFor();
    await staff.alarm.waitFor({ state: "hidden" });
    await staff.settled();
    await tile(1).getByRole("button", { name: "Lane 1", exact: true }).click();
    await staff.panel.getByRole("heading", { name: "Lane 1" }).waitFor();
    for (const [n, state] of [[1, "[data-state=running]"], [2, "[data-state=paused]"], [3, "[data-state=waiting]"], [4, "[data-state=free]"], [5, "[data-state=closed]"], [7, "[data-state=ended]"], [6, "[data-held]"]]) {
      await tile(n).and(page.locator(state)).waitFor();
    }
    await staff.alarm.waitFor({ state: "hidden" });
    const cut = await page.evaluate(() => [...document.querySelectorAll(".lane[data-session], .lane[data-state=ended]")].filter((of) => {
      const [open, time, quick] = [".open", ".time", ".quick"].map((part) => of.querySelector(part));
      const [tile, ends, actions] = [of, time, quick].map((part) => part.getBoundingClientRect());
      const covered = quick.checkVisibility() && ends.right > actions.left && ends.bottom > actions.top;
      return open.scrollWidth > open.clientWidth || (time.checkVisibility() && (ends.right > tile.right || covered));
    }).map((of) => of.textContent));
    assert.deepEqual(cut, [], "the name of a lane and its time are not cut off by its actions");
    assert.deepEqual(await placesOf(page), places);

    tell("Lanes are selected, by touch or by mouse, in English or in German: nothing moves, and the ceasefire stays in reach");
    await page.keyboard.press("Escape");
    const bar = page.locator("#selection");
    const named = (n) => tile(n).getByRole("button", { name: `Lane ${n}`, exact: true });
    if (touch) {
      await hold(page, named(10), bar.waitFor());
      await named(12).tap();
      await named(14).tap();
      await named(14).tap();
    } else {
      await named(12).click({ modifiers: ["Control"] });
      await named(19).click({ modifiers: ["Shift"] });
    }
    await bar.getByText(touch ? "2 Bahnen" : "8 lanes").waitFor();
    assert.deepEqual(await placesOf(page), places);
    assert.equal(await page.locator(".lane .open[aria-pressed=true]").count(), touch ? 2 : 8);
    await bar.getByRole("textbox").fill("1-5, 55");
    await page.keyboard.press("Enter");
    await bar.getByText(touch ? "8 Bahnen" : "14 lanes").waitFor();
    await page.locator(".many-actions:not([data-moved])").waitFor();
    await bar.locator("button", { hasText: "Pause 1" }).click();
    await tile(1).and(page.locator("[data-state=paused]")).waitFor();
    assert.deepEqual(await placesOf(page), places);
    await bar.locator("button", { hasText: touch ? "Weiter" : "Resume" }).waitFor();
    await page.locator(".many-actions:not([data-moved])").waitFor();
    await bar.locator("summary").first().click();
    await bar.locator("[data-minutes]").first().waitFor();
    assert.ok(await staff.isInReach(), "nothing lies over it");
    await named(30).click();
    assert.equal(await page.locator(".lane .open[aria-pressed=true]").count(), touch ? 8 : 14, "a press beside an open menu closes it, and that is all");
    await page.getByRole("button", { name: touch ? "Alle" : "All", exact: true }).click();
    await bar.getByText(`${lanes} ${touch ? "Bahnen" : "lanes"}`).waitFor();
    await bar.getByRole("button", { name: touch ? "Auswahl beenden" : "Stop selecting" }).click();
    await bar.waitFor({ state: "hidden" });
    assert.deepEqual(await placesOf(page), places);
  }

  for (const [width, height, german] of [[390, 844, false], [360, 640, true]]) {
    tell(`A range officer with a telephone of ${width} × ${height}, and 60 lanes: whoever needs him is first`);
    const range = "11111111-0000-4000-8000-000000000060";
    const staff = new Control();
    const page = (staff.page = await open(await device({ viewport: { width, height }, hasTouch: true, isMobile: true, ...(german ? { locale: "de-DE", colorScheme: "dark" } : {}) }), `${scene.api}/control/${range}`));
    await staff.signIn("sam");
    await staff.queue.locator(".need[data-kind=clear]").waitFor();
    assert.equal(await page.locator("#queue-number").textContent(), "1");
    const safe = async (where) => {
      assert.ok(await staff.clearance() >= 48 && await staff.isInReach(), `${where}: the ceasefire is in reach, and 48 px from anything else`);
      const { scrollWidth, scrollHeight } = await page.evaluate(() => ({ scrollWidth: document.documentElement.scrollWidth, scrollHeight: document.documentElement.scrollHeight }));
      assert.deepEqual([scrollWidth, scrollHeight], [width, height], `${where}: the page itself has nothing to scroll, which would take the ceasefire away`);
    };
    await safe("queue");
    german && await staff.queue.getByRole("button", { name: "Geräumt" }).tap();
    german && await staff.queue.getByText("Nichts zu tun").waitFor();

    tell("Who ends next is by the time that is left; one is extended, and opened");
    await staff.view("next");
    const rows = page.locator(".ending");
    const lanes = () => rows.locator("strong").allTextContents();
    assert.deepEqual(await lanes(), ["Lane 60", "Lane 1", "Lane 2"], "those that run, and then those that are paused");
    await safe("next");
    await rows.first().getByRole("button", { name: german ? "15 Minuten mehr: Lane 60" : "15 minutes more: Lane 60" }).tap();
    await page.locator("#outcome").getByText("Lane 60: +15 min").waitFor();
    await rows.first().locator(".open-lane").tap();
    await staff.panel.getByRole("heading", { name: "Lane 60" }).waitFor();
    await staff.opened();
    await safe("panel");
    assert.ok((await staff.panel.getByRole("button", { name: german ? "Stoppen" : "Stop" }).boundingBox()).y > height * 0.4, "the thumb reaches what is done with it");
    await staff.panel.getByRole("button", { name: german ? "Schließen" : "Close", exact: true }).tap();
    await page.locator("#outcome").getByRole("button", { name: german ? "Rückgängig: Lane 60: +15 min" : "Undo: Lane 60: +15 min" }).tap();
    await page.locator("#outcome").waitFor({ state: "hidden" });

    tell("All lanes are at most two screens, and a bay is one touch away; selecting moves nothing");
    await staff.view("board");
    const places = await placesOf(page);
    assert.ok(places.every(({ w, h, x }) => w >= 48 && h >= 48 && x >= 0 && x + w <= width), "a finger hits each of them");
    assert.ok(await page.evaluate(() => document.getElementById("main").scrollHeight <= 2 * innerHeight), "not much is scrolled");
    await safe("board");
    await page.locator(".jump button").last().tap();
    await page.waitForFunction(() => document.querySelector(".bay:last-child .bay-head").getBoundingClientRect().bottom < innerHeight / 1.5);
    await hold(page, page.getByRole("button", { name: "Lane 60", exact: true }), page.locator("#selection").waitFor());
    await page.getByRole("button", { name: "Lane 58", exact: true }).tap();
    await page.locator("#selection").getByText(german ? "2 Bahnen" : "2 lanes").waitFor();
    await safe("selecting");
    await page.locator(".many-actions:not([data-moved])").waitFor();
    await page.locator("#selection summary").first().tap();
    await page.locator("#selection [data-minutes]").first().waitFor();
    await safe("selling to several");
    await page.locator("#tally").tap(); // beside the form
    assert.deepEqual((await placesOf(page)).map(({ w, h }) => [w, h]), places.map(({ w, h }) => [w, h]));
    await page.locator("#selection").getByRole("button", { name: german ? "Auswahl beenden" : "Stop selecting" }).tap();
    await page.evaluate(() => document.getElementById("main").scrollTo(0, 0));
    assert.deepEqual(await placesOf(page), places);

    tell("A ceasefire: every view is still there, and the control that began it");
    await page.locator("#begin button").tap();
    await page.locator("#begin [data-in-force]").waitFor();
    for (const view of ["queue", "next", "board"]) {
      await staff.view(view);
      await safe(`${view} in a ceasefire`);
      assert.ok(await page.evaluate(() => document.getElementById("main").clientHeight >= 100), "there is room for it");
    }
    await staff.settled();
    await hold(page, staff.alarm.locator(".pressed"), staff.alarm.waitFor({ state: "hidden" }));
    await page.context().close();
  }
});

// hold touches a control until something has come of it.
async function hold(page, control, done) {
  const { x, y } = await control.boundingBox();
  const finger = await page.context().newCDPSession(page);
  await finger.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x: x + 5, y: y + 5 }] });
  await done;
  await finger.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

// ended lets the time of a session be up.
async function ended(range, lanes, session) {
  const token = `22222222-0000-4000-8000-${String(lanes).padStart(6, "0")}000000`;
  const response = await fetch(`${scene.api}/api/v2/pos/simulate/advance`, {
    method: "POST", headers: { "range-id": range, token, "Content-Type": "application/json" }, body: JSON.stringify({ session_id: session.session_id, minutes: 60 }),
  });
  assert.equal(response.status, 204);
}

// placesOf are the places of all tiles in the board, and whether they can be seen whole, once nothing is said of lost contact: that takes some of
// the height, and comes on a busy machine.
async function placesOf(page) {
  await page.locator("#contact").waitFor({ state: "hidden" });
  return page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const main = document.getElementById("main");
    const frame = main.getBoundingClientRect();
    return [...document.querySelectorAll(".lane")].map((of) => {
      const { x, y, width: w, height: h } = of.getBoundingClientRect();
      return { x: x - frame.x, y: y - frame.y, w, h, inSight: x >= frame.x && y >= frame.y && x + w <= frame.right && y + h <= frame.bottom && main.scrollTop === 0 };
    });
  });
}
