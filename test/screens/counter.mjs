// An evening at the counter, in which every touch counts: what is wanted most often takes as many as docs/screens.md says, on tiles of
// every size, and what was done by mistake is taken back.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { touches } from "./hands.mjs";
import { Lane } from "./lane.mjs";
import { eventually, scene, story, tell } from "./story.mjs";
import { linked, pos, runDown, sell, sessionOn, sessions } from "./pos.mjs";

await story(async () => {
  await linked();
  const staff = await Control.signedIn("sam", { hasTouch: true });
  const { page } = staff;
  const lane = (n) => staff.card(n).getByRole("button", { name: `Lane ${n}`, exact: true });
  const preset = (n) => staff.panel.getByRole("button", { name: `Sell ${n} minutes` });
  const undo = page.locator("#outcome").getByRole("button", { name: /^Undo/ });
  const compact = page.getByRole("button", { name: "Compact" });
  // taps does something by touches alone, and checks how many it took.
  const taps = async (n, ...touched) => {
    for (const control of touched) {
      await control.waitFor();
      await page.locator(".many-actions[data-moved], #panel[data-just-opened]").waitFor({ state: "detached" }); // presses count again
      await control.tap();
      await page.waitForTimeout(400); // as a finger takes that presses another button
    }
    assert.equal(touched.length, n);
  };
  // turnTo taps a lane, and waits until the panel shows it: the fields are those of the lane before until then.
  const turnTo = async (n) => {
    await lane(n).tap();
    await staff.panel.getByRole("heading", { name: `Lane ${n}` }).waitFor();
  };

  tell("A walk-in: the lane, and the minutes");
  await taps(2, lane(1), preset(45));
  await staff.inState(1, "running");
  await staff.says(1, "Walk-in 1");
  await taps(2, lane(2), preset(30));
  await staff.says(2, "Walk-in 2");
  assert.deepEqual(await sessions().then((sold) => sold.map(({ duration, enable_purchasing }) => [duration, enable_purchasing])), [[45, true], [30, true]]);
  await turnTo(3);
  assert.equal(await staff.panel.getByLabel("Another number").inputValue(), "30", "as the last one");
  await staff.panel.getByRole("button", { name: "Close", exact: true }).tap();

  tell("Two presses where one was meant sell nothing");
  await lane(3).evaluate((of) => {
    of.click();
    const under = document.querySelector('#panel [data-minutes="90"]'); // the finger, now
    under.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 2 }));
  });
  await staff.panel.getByRole("heading", { name: "Lane 3" }).waitFor();
  await page.keyboard.press("Escape");
  assert.equal((await sessions()).length, 2);

  for (const small of [false, true]) {
    tell(small ? "The same on small tiles" : "Time is added and the clock stopped by one touch, and time that was added is taken back by one");
    small && await compact.tap();
    const sold = (await sessionOn(1)).duration;
    await taps(1, staff.quick("15 minutes more", 1));
    await eventually("it is longer", async () => (await sessionOn(1)).duration === sold + 15);
    await undo.and(page.getByLabel("Undo: Lane 1: +15 min")).waitFor();
    await taps(1, undo);
    await eventually("it is as before", async () => (await sessionOn(1)).duration === sold);
    await undo.waitFor({ state: "hidden" });
    await taps(1, staff.quick("Pause", 2));
    await staff.inState(2, "paused");
    await taps(1, staff.quick("Resume", 2));
    await staff.inState(2, "running");
  }
  await compact.tap();

  // sellsOnce has a double tap on +15 add 15 minutes, and a tap after it 15 more. Where the machine took so long that those were two taps, it is
  // done again.
  const sellsOnce = async (on, control, minutes) => {
    await on.evaluate(() => {
      if (!window.taps) {
        window.taps = [];
        document.addEventListener("click", ({ timeStamp }) => (window.taps = [window.taps[1], timeStamp]), { capture: true });
      }
    });
    let before;
    do {
      before = await minutes();
      await touches["double tap"](on, control);
      await eventually("it is longer", async () => (await minutes()) > before);
      await on.waitForTimeout(500); // in which more could arrive
      await control.and(on.locator(":not([aria-busy])")).waitFor();
    } while (await on.evaluate(() => window.taps[1] - window.taps[0] >= 350));
    assert.equal(await minutes(), before + 15);
    await control.tap();
    await eventually("the next press counts", async () => (await minutes()) === before + 30);
  };
  const minutesOf = (n) => async () => (await sessionOn(n)).duration;

  tell("A double tap on +15 adds 15 minutes, wherever that stands: on the tile, in the panel, and on a phone among those who end next");
  await sellsOnce(page, staff.quick("15 minutes more", 1), minutesOf(1));
  await turnTo(1);
  await page.waitForTimeout(1000); // at first the panel takes no double press at all
  await sellsOnce(page, staff.panel.getByRole("button", { name: "15 minutes more" }), minutesOf(1));
  await staff.panel.getByRole("button", { name: "Close", exact: true }).tap();
  const phone = await Control.signedIn("sam", { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } });
  await phone.view("next");
  const ending = phone.page.locator(`.ending[data-lane="${scene.lanes[0].id}"]`); // the last one, which stays where it is
  await sellsOnce(phone.page, ending.getByRole("button", { name: "15 minutes more: Lane 1" }), minutesOf(1));
  await phone.page.close();

  tell("A bay is sold, extended and stopped by a few touches; what could not be done is said by lane, and what was done is taken back");
  const bayB = page.locator("summary").and(page.getByLabel("Bay B: more"));
  const all = page.getByRole("button", { name: "Select all" });
  const many = (name) => page.locator("#selection").locator("button, summary").filter({ visible: true, hasText: name });
  const report = page.locator("#outcome");
  const minutes = async () => Promise.all([4, 5, 6].map(async (n) => (await sessionOn(n))?.duration));
  await taps(4, bayB, all, many("Sell 3"), page.locator("#selection").getByRole("button", { name: "Sell 60 minutes" }));
  await report.getByText("3 sold").waitFor();
  assert.deepEqual(await minutes(), [60, 60, 60]);
  for (const n of [4, 5, 6]) {
    await staff.inState(n, "running");
  }
  const customers = () => page.locator(".lane[data-session] .customer").allTextContents();
  assert.deepEqual(await customers(), [1, 2, 3, 4, 5].map((n) => `Walk-in ${n}`), "each customer has a number, in the order of the lanes");
  await taps(1, undo);
  await report.waitFor({ state: "hidden" });
  assert.deepEqual(await customers(), ["Walk-in 1", "Walk-in 2"]);
  await taps(2, many("Sell 3"), page.locator("#selection").getByRole("button", { name: "Sell 60 minutes" }));
  await report.getByText("3 sold").waitFor();
  await page.evaluate(() => (window.print = () => (window.printed = document.getElementById("receipt").innerText)));
  await taps(1, report.getByRole("button", { name: "Print 3 codes" }));
  await page.waitForFunction(() => window.printed);
  assert.deepEqual((await page.evaluate(() => window.printed)).match(/Lane \d/g), ["Lane 4", "Lane 5", "Lane 6"]);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  await taps(1, page.getByRole("button", { name: "Stop selecting" }));
  await taps(3, bayB, all, many("+15 for 3"));
  await report.getByText("3 extended by 15 min").waitFor();
  assert.deepEqual(await minutes(), [75, 75, 75]);
  await taps(1, undo);
  await report.waitFor({ state: "hidden" });
  assert.deepEqual(await minutes(), [60, 60, 60]);
  await sellsOnce(page, many("+15 for 3"), minutesOf(4));
  await eventually("all three are longer", async () => new Set(await minutes()).size === 1);
  for (const n of [4, 5, 6]) {
    await pos("POST", `/sessions/${(await sessionOn(n)).session_id}/modify?time=${60 - (await minutesOf(n)())}`);
  }
  await pos("POST", `/sessions/${(await sessionOn(5)).session_id}/modify?time=415`);
  await staff.says(5, "of 475 min");
  await lane(3).tap(); // which is free
  await page.getByText("4 lanes").waitFor();
  await taps(1, many("+15 for 3"));
  await report.getByText("2 extended by 15 min").waitFor();
  assert.deepEqual(await report.getByRole("listitem").allTextContents(), ["Lane 5: A session may have 1 to 480 minutes in all.", "Lane 3: no session"]);
  assert.deepEqual(await minutes(), [75, 475, 75]);
  await taps(1, many("Pause 3"));
  await report.getByText("3 paused").waitFor();
  await staff.inState(5, "paused");
  await taps(1, many("Resume 3"));
  await staff.inState(5, "running");
  await taps(1, many("Stop 3"));
  await taps(1, page.locator("#selection .sure:not([aria-disabled])"));
  await report.getByText("3 stopped").waitFor();
  await staff.inState(4, "free");
  assert.equal((await sessions()).length, 2);
  await taps(1, undo);
  await report.waitFor({ state: "hidden" }); // all of them are taken back
  assert.deepEqual(await minutes(), [75, 475, 75]);
  await many("Stop 3").waitFor();
  await taps(1, many("Stop 3"));
  await taps(1, page.locator("#selection .sure:not([aria-disabled])"));
  await staff.inState(6, "free");
  await page.keyboard.press("Escape");

  tell("A session moves to the lane that is touched; the panel follows it, there and back");
  const moving = (await sessionOn(1)).session_id;
  const move = staff.panel.getByRole("button", { name: "Move …" });
  await taps(3, lane(1), move, lane(4));
  await staff.panel.getByRole("heading", { name: "Lane 4 · Walk-in 1" }).waitFor();
  assert.equal((await sessionOn(4)).session_id, moving);
  await taps(1, undo);
  await staff.panel.getByRole("heading", { name: "Lane 1 · Walk-in 1" }).waitFor();
  await staff.inState(4, "free");
  await move.tap();
  await lane(2).tap(); // which is not free
  await page.getByRole("button", { name: "Cancel" }).tap();
  await staff.panel.getByRole("heading", { name: "Lane 1 · Walk-in 1" }).waitFor();
  await staff.panel.getByRole("button", { name: "Close", exact: true }).tap();

  tell("A stop asks once; taken back, the session goes on with the minutes that it had left");
  await taps(1, staff.quick("Stop", 1));
  await taps(1, staff.card(1).locator(".sure:not([aria-disabled])"));
  await staff.inState(1, "free");
  await taps(1, undo);
  await staff.inState(1, "running");
  const again = await sessionOn(1);
  const [stopped] = (await pos("GET", "/history")).sessions.filter(({ session_id }) => session_id === moving);
  assert.deepEqual([again.duration, again.session_id === moving], [Math.ceil(stopped.duration - stopped.minutes_used), false]);
  await staff.says(1, "Walk-in 1");

  tell("The place is taken meanwhile: it is said, and nothing is lost");
  await staff.stop(2);
  await sell(2, "Ann Lee");
  await taps(1, undo);
  await page.locator("#outcome").getByText("The lane is occupied by another session.").waitFor();
  assert.equal((await sessions()).length, 2);

  tell("A name that was typed is not lost when the till sells the lane, nor when the sign-in ends");
  const name = staff.panel.getByLabel("Customer", { exact: true });
  await turnTo(6);
  await name.fill("Cy Poe");
  await sell(6, "Ann Lee");
  await staff.panel.getByText("Cy Poe was not sold anything").waitFor();
  await turnTo(3);
  assert.equal(await name.inputValue(), "Cy Poe");
  await staff.opened();
  await page.context().clearCookies();
  await preset(30).tap();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await staff.signIn("sam");
  await turnTo(3);
  assert.equal(await name.inputValue(), "Cy Poe");
  await staff.opened();
  await taps(1, preset(30));
  await staff.says(3, "Cy Poe");
  await lane(6).tap();
  await staff.panel.getByRole("heading", { name: "Lane 6 · Ann Lee" }).waitFor();
  await staff.panel.getByText("was not sold anything").waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await staff.stop(3);
  await staff.stop(6);

  tell("A save takes its time: the next lane is served meanwhile, and what becomes of the first is told with its name");
  // answerTo keeps the request of a press back until it is told what becomes of it: nothing, so that it goes on, or a refusal. It resolves once
  // the page has the answer.
  const answerTo = async (press, path = "/sessions") => {
    let resolve;
    const promise = new Promise((made) => (resolve = made));
    await page.route(`**/control/api${path}`, async (route) => {
      const refusal = await promise;
      await (refusal ? route.fulfill({ status: 409, contentType: "application/problem+json", json: { code: refusal } }) : route.continue());
    }, { times: 1 });
    const asked = page.waitForRequest(`**/control/api${path}`);
    const answered = page.waitForResponse(`**/control/api${path}`);
    await press();
    await asked;
    return async (refusal) => {
      resolve(refusal);
      await (await answered).finished();
    };
  };
  const sellTo = async (n, customer) => {
    await turnTo(n);
    await name.fill(customer);
    await staff.opened();
    await preset(30).tap();
  };
  let answer = await answerTo(() => sellTo(3, "Di Moe"));
  await sellTo(6, "Ed Lux");
  await staff.says(6, "Ed Lux");
  await turnTo(5);
  await name.fill("Flo Ray");
  await staff.opened();
  await answer();
  await staff.says(3, "Di Moe");
  await report.getByText(/Lane 3.*Di Moe/).waitFor();
  assert.ok(await staff.panel.getByRole("heading", { name: "Lane 5" }).isVisible());
  assert.equal(await name.inputValue(), "Flo Ray");
  for (const serveNext of [() => turnTo(4), () => staff.panel.getByRole("button", { name: "Close", exact: true }).tap()]) {
    answer = await answerTo(() => sellTo(5, "Flo Ray"));
    await staff.opened();
    await serveNext();
    await answer("lane_occupied");
    await report.getByText("Lane 5: The lane is occupied by another session.").waitFor();
    assert.equal(await staff.panel.getByText("occupied").count(), 0);
    assert.equal(await staff.panel.locator("[aria-busy]").count(), 0);
    await report.getByRole("button", { name: "Close" }).tap();
    await turnTo(2);
    await turnTo(4);
    assert.equal(await name.inputValue(), "Flo Ray", "who was not sold anything is the next one to serve");
    await name.fill("");
  }
  const anyway = (place) => place.getByRole("button", { name: "Sell anyway" });
  answer = await answerTo(() => sellTo(5, "Flo Ray"));
  await turnTo(4);
  await answer("after_closing");
  await anyway(report).tap();
  await staff.says(5, "Flo Ray");
  await staff.panel.getByRole("heading", { name: "Lane 4" }).waitFor();
  assert.equal(await staff.panel.locator("[aria-disabled=true]").count(), 0);
  answer = await answerTo(() => sellTo(4, "Gus Orr"));
  await answer("after_closing");
  await anyway(staff.panel).waitFor();
  await name.fill("Hal Poe"); // it was about Gus Orr
  await anyway(staff.panel).waitFor({ state: "detached" });

  tell("What is answered late hides nothing that was told since, and empties nothing that was typed since");
  await taps(1, staff.quick("15 minutes more", 2));
  answer = await answerTo(() => undo.tap(), "/sessions/*/modify");
  await staff.quick("Pause", 1).tap();
  await undo.and(page.getByLabel("Undo: Lane 1: paused")).waitFor();
  await answer();
  await staff.says(2, "Ann Lee");
  await undo.and(page.getByLabel("Undo: Lane 1: paused")).tap();
  await staff.inState(1, "running");
  const change = staff.panel.getByRole("spinbutton", { name: "Minutes to add" });
  await turnTo(2);
  await change.fill("20");
  await staff.opened();
  answer = await answerTo(() => staff.panel.getByRole("button", { name: "Change", exact: true }).tap(), "/sessions/*/modify");
  await turnTo(1);
  await change.fill("1");
  await answer();
  await report.getByText("Lane 2: +20 min").waitFor();
  assert.equal(await change.inputValue(), "1");
  await staff.opened();
  await staff.panel.getByRole("button", { name: "Close", exact: true }).tap();
  for (const n of [3, 5, 6]) {
    await staff.stop(n);
  }

  tell("A session is found by what the till knows it by, and by its id; one that was stopped is taken up again, on another lane if need be");
  const known = await sell(5, "Bo Doe", { external_id: "till-7/4711" });
  const find = page.getByRole("searchbox").first();
  for (const typed of ["till-7/4711", known.session_id.slice(0, 8)]) {
    await find.fill(typed);
    await staff.card(1).waitFor({ state: "hidden" });
    await staff.card(5).waitFor();
  }
  await find.fill("");
  await staff.stop(5);
  await sell(5, "Cy Fox");
  await staff.go("Ended");
  await page.getByRole("searchbox", { name: "Search customer, lane or ID" }).fill("till-7");
  await staff.row("Bo Doe", "Lane 5").getByRole("button", { name: "Go on with the session of Bo Doe" }).tap();
  await page.getByText("Choose a lane for Bo Doe").first().waitFor();
  await lane(6).tap();
  await staff.inState(6, "running");
  await staff.says(6, "Bo Doe");
  assert.equal((await sessionOn(6)).external_id, "till-7/4711");
  await staff.go("Ended");
  await page.getByLabel("Up to and with").fill("2001-01-01");
  await page.getByText("No session is found.").waitFor();
  await staff.go("Board");

  tell("A call for help, a lane to clear, and a ceasefire are one touch each");
  const ann = await Lane.at(2);
  await ann.page.getByRole("button", { name: "Help" }).click();
  await taps(1, staff.need("On my way", 2));
  await ann.page.getByText("Help is coming").waitFor();
  await taps(1, staff.need("Done", 2));
  await runDown(1, 0.025);
  await staff.inState(1, "ended");
  await taps(1, staff.quick("Cleared", 1));
  await staff.inState(1, "free");
  await taps(1, page.getByRole("button", { name: "Ceasefire over the whole range" }));
  await staff.alarm.getByText("Ceasefire: whole range, all locked").waitFor();
});
