// A display on the wall: everything is in sight at once, it says what is so, and it comes back by itself from whatever happens.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { look as lookIn, requireAccessible } from "./look.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { advance, changeWorld, leave, linked, operate, pos, runDown, sell } from "./pos.mjs";
import { deadline, exactly, rightly, timesOf, watchTime } from "./times.mjs";

const address = (range, key) => `${scene.api}/board/${range}?key=${key}`;
const crowd = (lanes) => `11111111-0000-4000-8000-${String(lanes).padStart(12, "0")}`;
const north = address(scene.range, scene.board);
const tile = (page, n) => page.locator(`.tile[data-lane="${scene.lanes[n - 1].id}"]`);
const notice = (page, text) => page.locator(".notice").filter({ hasText: text }).waitFor();
const hold = (scope, id, on) => operate("PUT", "/holds", { scope, id, on });

const look = (page, what) => lookIn(page, what, ["light"]); // it is the same in the dark

await story(async () => {
  await linked();

  for (const lanes of [12, 60, 200]) {
    tell(`${lanes} lanes: all of them are in sight, on a small display and on a large one`);
    for (const locale of lanes === 200 ? ["en-GB", "de-DE"] : ["en-GB"]) {
      const page = await open(await device({ locale, viewport: { width: 1920, height: 1080 } }), address(crowd(lanes), `${scene.board}-${lanes}`));
      await page.locator(".tile[data-state=free]").nth(lanes - 1).waitFor();
      for (const [width, height] of [[1280, 720], [3840, 2160], [960, 540], [1920, 1080]]) {
        await page.setViewportSize({ width, height });
        const seen = await inSight(page);
        assert.deepEqual(seen.hidden, [], `on ${width} × ${height}`);
        assert.equal(seen.tiles, lanes);
        assert.ok(seen.whole, "nothing is scrolled");
        console.log(`    ${width} × ${height}: digits of ${seen.digits.toFixed(0)} px`);
        assert.ok(seen.digits >= height / { 12: 12, 60: 24, 200: 42 }[lanes]);
      }
      assert.equal(await page.locator("html").getAttribute("lang"), locale.slice(0, 2));
      await page.close();
    }
  }

  tell("The lanes in every state, and what concerns all of them");
  const running = (await sell(1, "Jo Smith")).session_id;
  await sell(2, "Ann Lee", { auto_start: false });
  const paused = (await sell(3, "Bo Doe")).session_id;
  await pos("POST", `/sessions/${paused}/pause`);
  const fourth = (await sell(4, "Di Roe", { duration: 120, warn_at_minutes: [5, 3] })).session_id; // so that its last time is as long as a look takes
  await sell(5, "Ed Poe");
  await runDown(5, 0.025);
  const board = await open(await device({ viewport: { width: 1920, height: 1080 } }), north);
  const tafel = await open(await device({ locale: "de-DE", viewport: { width: 1280, height: 720 } }), north);
  for (const [n, state] of [[1, "running"], [2, "waiting"], [3, "paused"], [5, "ended"], [6, "free"]]) {
    await tile(board, n).and(board.locator(`[data-state=${state}]`)).waitFor();
  }
  await tile(board, 5).locator(".word").getByText("Clear the lane").waitFor();
  await tile(tafel, 5).locator(".word").getByText("Bahn räumen").waitFor();
  await tile(board, 4).locator(".time").filter({ hasText: /^(2:00:00|1:[45]\d:)/ }).waitFor();
  await board.locator(".free strong").filter({ hasText: /^1$/ }).waitFor();
  await eventually("the time of day is on the wall", () => board.evaluate(() => document.querySelector(".of-day").textContent === new Date().toLocaleTimeString("en-GB", { timeStyle: "short" })));
  await runDown(4, 4.9);
  await tile(board, 4).and(board.locator("[data-urgency=soon]")).waitFor();
  await board.locator(".next li").first().filter({ hasText: /^4[0-4]:/ }).waitFor();
  await pos("POST", `/sessions/${fourth}/modify?time=60`); // it lasts
  const shooter = await Lane.at(6);
  await shooter.page.getByRole("button", { name: "Help" }).click();
  await tile(board, 6).and(board.locator("[data-help=called]")).waitFor();
  await board.locator(".called").filter({ hasText: "Help6" }).waitFor();
  await changeWorld("/lane/6/off");
  await tile(board, 6).getByText("No link").waitFor({ state: "attached" });
  await leave(4, 2.9);
  await tile(board, 4).and(board.locator("[data-urgency=last]")).waitFor();
  await look(board, "states");
  await pos("POST", `/sessions/${fourth}/modify?time=60`);
  assert.doesNotMatch(await board.content(), /Smith|Lee|Doe|Roe|Poe/, "no names");
  const staff = await Control.signedIn();
  await staff.openQueue();
  await staff.queue.getByRole("button", { name: "On my way" }).click();
  await tile(board, 6).and(board.locator("[data-help=coming]")).waitFor();
  await look(board, "help is coming");
  await board.locator(".called").waitFor({ state: "hidden" });
  await pos("POST", `/sessions/${fourth}/stop`);

  tell("A lock on one lane, a ceasefire over a bay: its tiles are red, the head says so, and nothing moves");
  const places = await placesOf(board);
  await hold("lane", scene.lanes[3].id, true);
  await tile(board, 4).locator(".word").getByText("Locked", { exact: true }).waitFor();
  await hold("bay", "55555555-5555-4555-8555-000000000001", true);
  await board.locator("body[data-ceasefire=bays] .part").filter({ hasText: "CEASEFIREBay A" }).waitFor();
  await tile(board, 1).and(board.locator("[data-locked=locked]")).waitFor();
  assert.equal(await background(board, ".head"), "rgb(163, 15, 21)");
  assert.deepEqual(await placesOf(board), places);
  await look(board, "a bay's ceasefire");
  await hold("bay", "55555555-5555-4555-8555-000000000001", false);
  await hold("lane", scene.lanes[3].id, false);
  await board.locator("body[data-ceasefire='']").waitFor({ state: "attached" });

  tell("A ceasefire over the range: all of it is red, its word is the largest, and it names the lane that was not reached");
  await hold("range", null, true);
  for (const [page, word] of [[board, "CEASEFIRE"], [tafel, "FEUER EINSTELLEN"]]) {
    await page.locator("body[data-ceasefire=all]").waitFor();
    await isRed(page, word);
    await page.setViewportSize({ width: 1280, height: 720 });
    await isRed(page, word);
    await look(page, "ceasefire");
  }
  await board.getByText("Lock not confirmed: Lane 6").waitFor();

  tell("The gateway is killed in the ceasefire: the board says since when it knows nothing, and stays red");
  await changeWorld("/gateway/kill");
  await notice(board, "No contact with the range since");
  await notice(tafel, "Kein Kontakt zum Stand seit");
  await isRed(board, "CEASEFIRE", "rgb(255, 225, 74)");
  await look(board, "no contact in a ceasefire");
  await changeWorld("/gateway/start");
  await board.locator("body:not([data-old])").waitFor();
  await staff.page.locator("#contact").waitFor({ state: "hidden" }); // what the alarm says changes no more: that would break the hold off
  await staff.alarm.getByText("5 of 6 lanes have confirmed").waitFor();
  await staff.endCeasefire();
  await tile(board, 1).and(board.locator("[data-state=running]")).waitFor();

  tell("Killed again: no time is shown that may be wrong. It comes back by itself, on the page that was there, with the right time");
  const inspector = await board.context().newCDPSession(board);
  const size = async () => {
    await inspector.send("HeapProfiler.collectGarbage");
    const { nodes, jsEventListeners } = await inspector.send("Memory.getDOMCounters");
    return { nodes, jsEventListeners };
  };
  const change = async (times) => {
    for (let n = 0; n < times; n++) {
      await pos("POST", `/sessions/${paused}/${n % 2 === 0 ? "resume" : "pause"}`);
      await tile(board, 3).and(board.locator(`[data-state=${n % 2 === 0 ? "running" : "paused"}]`)).waitFor();
    }
  };
  await change(4);
  const before = await size();
  await board.evaluate(() => (window.same = true));
  await watchTime(board, `.tile[data-lane="${scene.lanes[0].id}"] .time`);
  const due = await deadline(running);
  const seen = async () => (await timesOf(board)).filter(([, shown]) => shown !== "–:––");
  await eventually("it counts", async () => (await seen()).length > 5);
  await changeWorld("/gateway/kill");
  await notice(board, "No contact with the range since");
  await tile(board, 1).getByText("–:––").waitFor();
  await look(board, "no contact");
  await changeWorld("/gateway/start");
  await tile(board, 1).locator(".time").filter({ hasText: /\d:\d\d/ }).waitFor();
  assert.ok(await board.evaluate(() => window.same));
  const until = (await seen()).length;
  await eventually("it counts again", async () => (await seen()).length > until);
  await exactly(seen, due);
  (await seen()).forEach(([at, shown]) => rightly(shown, at, due));

  tell("After thirty changes, and with another connection, the page is no larger");
  await change(30);
  const after = await size();
  console.log(`    ${JSON.stringify(before)}, then ${JSON.stringify(after)}`);
  assert.ok(after.nodes < before.nodes + 25 && after.jsEventListeners < before.jsEventListeners + 25, "not one for each change");

  tell("A display that slept shows no time of before");
  const asleep = await open(await device());
  await asleep.clock.install();
  await asleep.goto(north);
  await tile(asleep, 1).locator(".time").filter({ hasText: /\d:\d\d/ }).waitFor();
  await asleep.evaluate((id) => {
    window.shown = [];
    const time = document.querySelector(`.tile[data-lane="${id}"] .time`);
    new MutationObserver(() => window.shown.push([Date.now(), time.textContent])).observe(time, { subtree: true, childList: true, characterData: true });
  }, scene.lanes[0].id);
  // On a busy machine the page may be past that time when it hears of it: its clock stands then, and the next attempt succeeds.
  await eventually("its clock stands", () => asleep.clock.pauseAt(Date.now() + 100).then(() => true, () => false));
  await changeWorld("/gateway/kill");
  const woken = Date.now() + 600_000;
  await asleep.clock.setSystemTime(woken);
  await asleep.clock.resume();
  await tile(asleep, 1).getByText("–:––").waitFor();
  assert.deepEqual((await asleep.evaluate(() => window.shown)).filter(([at, shown]) => at >= woken && shown !== "–:––"), []);
  await changeWorld("/gateway/start");
  await tile(asleep, 1).locator(".time").filter({ hasText: /\d:\d\d/ }).waitFor();
  await asleep.close();

  tell("A page of an older release loads itself again, but not while there is no page to be had");
  let served = 0;
  const old = await open(await device());
  await old.route((url) => url.pathname === `/board/${scene.range}`, async (route) => {
    served++;
    if (served === 2) {
      await route.fulfill({ status: 502, body: "Bad Gateway" });
      return;
    }
    const response = await route.fetch({ maxRedirects: 0 });
    const text = await response.text();
    await route.fulfill({ response, body: served === 1 ? text.replace(/(name="version" content=")\w+/, "$1of-before") : text });
  });
  await old.context().addCookies(await board.context().cookies(north));
  await old.clock.install();
  await old.goto(`${scene.api}/board/${scene.range}`);
  await tile(old, 1).and(old.locator("[data-state=running]")).waitFor();
  await eventually("it has asked for the page", () => served >= 2);
  await old.clock.runFor(61_000);
  await eventually("it has another page", async () => (await old.locator("meta[name=version]").getAttribute("content")) !== "of-before");
  await tile(old, 1).and(old.locator("[data-state=running]")).waitFor();

  tell("A page of which a file could not be had loads itself again");
  const partial = await open(old.context());
  await partial.clock.install();
  let missing = 1;
  await partial.route("**/board/assets/tiles.js", (route) => (missing-- > 0 ? route.fulfill({ status: 502, body: "Bad Gateway" }) : route.continue()));
  await partial.goto(`${scene.api}/board/${scene.range}`);
  await eventually("it lacks a file", () => missing <= 0);
  assert.ok((await partial.locator(".tile").count()) === 0 || missing < 0, "it begins only after it has loaded itself again, as it may have by now");
  await partial.clock.runFor(21_000);
  await tile(partial, 1).and(partial.locator("[data-state=running]")).waitFor();
  const had = missing;
  await partial.clock.runFor(25_000); // and no more once it has begun
  assert.equal(missing, had);
  await partial.close();

  tell("A reload with another key: every open board closes and shows nothing. If that was a mistake, it comes back by itself");
  await changeWorld("/board/another-key-of-the-wall");
  await notice(board, "This board is no longer one of this range");
  await notice(old, "This board is no longer one of this range");
  await changeWorld(`/board/${scene.board}`);
  await old.clock.runFor(31_000);
  await tile(old, 1).locator(".time").filter({ hasText: /\d:\d\d/ }).waitFor();
  await old.close();
  await changeWorld("/board/another-key-of-the-wall");
  await notice(board, "This board is no longer one of this range");

  tell("The address with the old key is refused, the one with the new key opens the board, with names now");
  assert.equal(await board.locator(".tile").count(), 0);
  await look(board, "refused");
  await board.goto(north);
  await board.getByText("This is not the address of this range's wall board").waitFor();
  await look(board, "a wrong key");
  await board.goto(address(scene.range, "another-key-of-the-wall"));
  await tile(board, 1).getByText("Jo S.", { exact: true }).waitFor();
  assert.ok(!board.url().includes("key"));
  assert.doesNotMatch(await board.content(), /Smith/);
  assert.deepEqual((await inSight(board)).hidden, []);
  await look(board, "names");
  await advance(running, 60);
  await tile(board, 1).and(board.locator("[data-state=ended]")).waitFor();

  requireAccessible();
});

// inSight is how many tiles there are, which of them cannot be seen whole or have text that is cut off, and the size of the digits.
function inSight(page) {
  return page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const all = [...document.querySelectorAll(".tile")];
    const main = document.getElementById("main").getBoundingClientRect();
    const isWhole = (of) => {
      const { left, top, right, bottom } = of.getBoundingClientRect();
      const parts = [...of.querySelectorAll(".name, .time, .word, .customer")].filter((part) => part.textContent);
      return left >= 0 && right <= innerWidth && top >= main.top && bottom <= innerHeight &&
        parts.every((part) => part.getBoundingClientRect().right <= right && part.getBoundingClientRect().bottom <= bottom && part.scrollWidth <= part.clientWidth + 1 && part.scrollHeight <= part.clientHeight * 1.15 + 2);
    };
    const { scrollWidth, scrollHeight } = document.documentElement;
    return {
      tiles: all.length, hidden: all.filter((of) => !isWhole(of)).map((of) => of.textContent), whole: scrollWidth <= innerWidth && scrollHeight <= innerHeight,
      digits: parseFloat(getComputedStyle(document.getElementById("tiles")).fontSize),
    };
  });
}

function placesOf(page) {
  return page.evaluate(() => [...document.querySelectorAll(".tile, .bay")].map((of) => JSON.stringify(of.getBoundingClientRect())));
}

function background(page, selector) {
  return page.evaluate((sought) => getComputedStyle(document.querySelector(sought)).backgroundColor, selector);
}

// isRed is true of a board in a ceasefire: all of it but a notice is red, and the word is the largest text, as wide as the board allows.
async function isRed(page, word, head = "rgb(163, 15, 21)") {
  const seen = await page.evaluate(() => {
    const title = document.querySelector("#full .word");
    const line = Math.max(...[...title.children].map((of) => of.getBoundingClientRect().width));
    const sizes = [...document.body.querySelectorAll("*")].filter((of) => of.checkVisibility() && of.textContent.trim()).map((of) => parseFloat(getComputedStyle(of).fontSize));
    const covered = [...document.body.querySelectorAll("#full, #full *")].every((of) => of.getBoundingClientRect().bottom <= innerHeight);
    return {
      word: title.textContent.trim(), body: getComputedStyle(document.body).backgroundColor, head: getComputedStyle(document.querySelector(".head")).backgroundColor,
      largest: Math.max(...sizes) === parseFloat(getComputedStyle(title).fontSize), tiles: document.getElementById("tiles").checkVisibility(),
      fits: document.documentElement.scrollWidth <= innerWidth && line <= innerWidth && covered, wide: line >= innerWidth * 0.75 || title.getBoundingClientRect().height >= innerHeight * 0.4,
    };
  });
  assert.deepEqual(seen, { word, body: "rgb(163, 15, 21)", head, largest: true, tiles: false, fits: true, wide: true });
}
