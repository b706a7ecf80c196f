// A day at the range: staff at the control screen, shooters at their lanes, and the POS that hears of all of it.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { eventually, scene, story, tell } from "./story.mjs";
import { changeWorld, controller, got, linked, operate, pos, runDown, sell, sessionOn, sessions } from "./pos.mjs";

await story(async () => {
  await linked();

  tell("Sam signs in and makes a session for Jo, whose time starts on entry");
  const staff = await Control.signedIn("sam");
  await staff.create(1, "Jo Smith", { minutes: 30, onEntry: true, purchasing: true });
  const session = (await sessionOn(1)).session_id;
  assert.deepEqual(await sessionOn(1).then(({ duration, began_at, enable_purchasing }) => [duration, began_at, enable_purchasing]), [30, null, true]);
  const happened = ["sessionCreated"];
  await got(session, ...happened);

  tell("Jo comes to the lane and starts; the key is in no address any more");
  const jo = await Lane.at(1);
  assert.equal(jo.page.url(), `${scene.api}/lane/${scene.lanes[0].id}`);
  await jo.shows("Welcome, Jo Smith");
  assert.equal((await controller(1)).open, false);
  await jo.page.getByRole("button", { name: "Start" }).click();
  await jo.inState("running");
  await staff.inState(1, "running");
  assert.notEqual((await sessionOn(1)).began_at, null);
  await eventually("the fire line opens", async () => (await controller(1)).open);
  happened.push("sessionStarted");
  await got(session, ...happened);

  tell("Jo buys time and targets: steps, limits, pictures and the sum are right");
  await jo.openShop();
  await jo.more("Lane time");
  assert.equal(await jo.total(), "€7.50");
  await jo.shop.getByRole("tab", { name: "Targets" }).click();
  for (let touched = 0; touched < 3; touched++) {
    await jo.more("Bullseye");
  }
  assert.equal(await jo.total(), "€10.80");
  assert.equal(await jo.shop.getByRole("button", { name: "More: Bullseye" }).getAttribute("aria-disabled"), "true");
  const card = (product) => jo.shop.locator(".product", { hasText: product });
  await eventually("the picture is shown", () => card("Bullseye").locator("img").evaluate((img) => img.complete && img.naturalWidth > 0));
  await card("Zombie").locator(".picture svg").waitFor(); // a picture that is none
  for (const type of ["Time", "Targets"]) {
    await jo.shop.getByRole("tab", { name: `${type} 1 in the cart` }).waitFor();
  }

  tell("The shop asks once, with every line; Jo calls for help from there and buys");
  await jo.review();
  const lines = () => jo.shop.getByRole("row").allInnerTexts().then((rows) => rows.map((row) => row.split("\t")));
  assert.deepEqual(await lines(), [["Lane time", "15 min", "€7.50"], ["Bullseye", "3 ×", "€3.30"], ["Total", "€10.80"]]);
  await jo.shop.getByRole("button", { name: "Change it" }).click();
  await jo.shop.getByRole("button", { name: "Help" }).click();
  await jo.shop.getByText("Help has been called").waitFor();
  await staff.answer("On my way", 1);
  await staff.answer("Done", 1);
  await jo.shop.getByText("Help is coming").waitFor({ state: "hidden" });
  happened.push("help");
  await jo.buy();
  await jo.shopSays("Your purchase went through");
  await staff.says(1, "of 45 min");
  happened.push("purchaseRequest", "sessionModified");
  const bought = (await got(session, ...happened)).find(({ event }) => event === "purchaseRequest");
  assert.deepEqual(bought.items, [{ id: "time", qty: 15 }, { id: "bullseye", qty: 3 }]);
  assert.equal((await sessionOn(1)).duration, 45);
  await jo.leaveShop();

  tell("A purchase is refused: Jo reads why, and the cart is as it was");
  await changeWorld("/purchases", { how: "refuse", message: "Your card was declined." });
  await jo.openShop();
  assert.equal(await jo.total(), "€0");
  await jo.more("Lane time");
  await jo.buy();
  await jo.shop.getByRole("alert").filter({ hasText: "Your card was declined." }).waitFor();
  assert.equal(await jo.total(), "€7.50");
  happened.push("purchaseRequest");
  await got(session, ...happened);
  assert.equal((await sessionOn(1)).duration, 45);

  tell("The next one is never answered: Jo asks staff, who look at the POS and add the time");
  await changeWorld("/purchases", { how: "hang up" });
  await jo.buy();
  await jo.shopSays("Please ask the staff");
  await jo.leaveShop();
  await staff.says(1, "purchase unresolved: 15 min");
  await staff.openLane(1);
  await staff.panel.getByText("Purchase that may not be paid").waitFor();
  assert.deepEqual(await staff.panel.locator(".unresolved").getByText(/€|min/).allInnerTexts(), ["15 minutes", "€7.50", "€7.50", "Add 15 minutes"]);
  await staff.go("Deliveries"); // the queue is on every page
  await staff.queue.getByText("paid?").waitFor();
  await staff.answer("Add 15 minutes", 1);
  await staff.queue.getByText("Nothing to do").waitFor();
  await staff.go("Board");
  await staff.says(1, "of 60 min");
  happened.push("purchaseRequest", "sessionModified");
  await got(session, ...happened);
  await changeWorld("/purchases", { how: "accept" });

  tell("Jo calls for help: it chimes at Sam's screen, which is in the title too; Sam is on the way, and helps");
  await staff.page.evaluate(() => {
    window.heard = [];
    window.OscillatorNode = class extends OscillatorNode {
      constructor(context, options) {
        super(context, options);
        window.heard.push(options.frequency);
      }
    };
  });
  await jo.page.getByRole("button", { name: "Help" }).click();
  await jo.page.getByText("Help has been called").waitFor();
  await staff.says(1, "Help! since");
  await eventually("it chimes", async () => (await staff.page.evaluate(() => window.heard)).slice(0, 2).join() === "880,1175"); // and again until it is answered
  assert.equal(await staff.page.title(), "(1) North range");
  await staff.queue.getByText(/^\d+:\d\d$/).waitFor(); // how long it has waited
  await staff.answer("On my way", 1);
  await jo.page.getByText("Help is coming").waitFor();
  await staff.answer("Done", 1);
  await jo.page.getByText("Help is coming").waitFor({ state: "hidden" });
  await staff.queue.getByText("Nothing to do").waitFor();
  assert.equal(await staff.page.title(), "North range");
  happened.push("help");
  await got(session, ...happened);

  tell("Jo buys time at one touch");
  await jo.page.getByRole("button", { name: "15 min €7.50: buy more time" }).click();
  await jo.shopSays("Your purchase went through");
  await jo.leaveShop();
  await jo.shows("of 75 minutes");
  happened.push("purchaseRequest", "sessionModified");
  assert.deepEqual((await got(session, ...happened)).findLast(({ event }) => event === "purchaseRequest").items, [{ id: "time", qty: 15 }]);

  tell("A purchase gets no answer: the shop offers nothing but to try it again, and it is bought once");
  const tries = [];
  await jo.page.route("**/purchase", (route) => {
    tries.push(route.request().postDataJSON());
    return tries.length % 2 === 1 ? route.abort() : route.fulfill({ status: 504 }); // also by a proxy
  });
  const trying = async () => {
    await jo.openShop();
    await jo.shop.getByRole("tab", { name: "Targets" }).click();
    await jo.more("Bullseye");
    await jo.buy();
    await jo.shopSays("There was no answer to your purchase for €1.10");
  };
  await trying();
  for (const door of ["Shop", "15 min €7.50: buy more time"]) {
    await jo.leaveShop();
    await jo.page.getByRole("button", { name: door }).click();
    await jo.shopSays("There was no answer to your purchase for €1.10");
  }
  await jo.page.unroute("**/purchase");
  await jo.page.route("**/purchase", (route) => {
    tries.push(route.request().postDataJSON());
    return route.fulfill({ status: 503, json: { code: "starting" } }); // which says nothing of those before
  });
  await jo.shop.getByRole("button", { name: "Try again" }).click();
  await eventually("it is tried again", () => tries.length === 4);
  await jo.shopSays("There was no answer to your purchase for €1.10");
  await jo.page.unroute("**/purchase");
  const again = jo.page.waitForRequest("**/purchase");
  await jo.shop.getByRole("button", { name: "Try again" }).click();
  await jo.shopSays("Your purchase went through");
  await jo.leaveShop();
  assert.equal(new Set([...tries, (await again).postDataJSON()].map((purchase) => JSON.stringify(purchase))).size, 1, "the same purchase each time");

  tell("Another one had arrived all the same: the shop says so once it has heard");
  await jo.page.route("**/purchase", (route) => {
    tries.push(route.request().postDataJSON());
    return route.abort();
  });
  await trying();
  await jo.page.unroute("**/purchase");
  await jo.page.evaluate((purchase) => fetch(`${location.pathname}/purchase`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(purchase),
  }), tries.at(-1));
  await jo.shopSays("Your purchase went through");
  await jo.leaveShop();
  happened.push("purchaseRequest", "purchaseRequest");
  await got(session, ...happened);

  tell("The screen is loaded again before there was an answer: it knows of the purchase, which is bought once, also when a later one has followed");
  const lost = async () => {
    await jo.page.route("**/purchase", (route) => {
      tries.push(route.request().postDataJSON());
      return route.abort();
    });
    await trying();
    await jo.page.unroute("**/purchase");
    return tries.at(-1);
  };
  const arrives = (purchase) => jo.page.evaluate(([path, purchase]) => fetch(`${path}/purchase`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(purchase),
  }).then(({ status }) => status), [`/lane/${scene.lanes[0].id}`, purchase]);
  const purchase = await lost();
  await jo.page.reload();
  await jo.shopSays("There was no answer to your purchase for €1.10");
  const sent = jo.page.waitForRequest("**/purchase");
  await jo.shop.getByRole("button", { name: "Try again" }).click();
  await jo.shopSays("Your purchase went through");
  assert.deepEqual((await sent).postDataJSON(), purchase, "the same purchase");
  await jo.leaveShop();
  await jo.page.reload();
  await jo.inState("running");
  assert.equal(await jo.shop.isVisible(), false, "it is settled");
  const early = await lost();
  const address = jo.page.url();
  await jo.page.goto(`${scene.api}/screens/base.css`); // it is away, and hears nothing
  const late = { ...early, purchase_id: early.purchase_id.replace(/^.{8}/, "00000000") };
  for (const each of [early, late]) {
    await eventually("it arrives, once the one before is settled", async () => (await arrives(each)) === 202);
  }
  await jo.page.goto(address);
  await jo.shopSays("There was no answer to your purchase for €1.10");
  await jo.shop.getByRole("button", { name: "Try again" }).click();
  await jo.shopSays("Your purchase had arrived. The staff see what came of it.");
  await jo.leaveShop();
  await jo.openShop();
  await jo.leaveShop();
  happened.push("purchaseRequest", "purchaseRequest", "purchaseRequest");
  await got(session, ...happened);

  tell("What is for sale comes late: it opens no shop that was closed, and the next customer on the lane sees their own prices");
  const di = (await sell(6, "Di Roe")).session_id;
  const sixth = await Lane.at(6);
  const customer = (name) => sixth.page.locator("#customer", { hasText: name }).waitFor();
  await customer("Di Roe");
  const asked = [];
  await sixth.page.route("**/products", (route) => asked.push(route));
  const ask = async () => {
    const before = asked.length;
    await sixth.page.getByRole("button", { name: "Shop" }).click();
    await eventually("the shop asks", () => asked.length > before);
  };
  const answer = async (nth, price) => {
    const products = await (await asked[nth].fetch()).json();
    await asked[nth].fulfill({ json: { ...products, time: [{ ...products.time[0], price }] } });
    await sixth.page.evaluate(() => fetch("/screens/send.js").then((response) => response.text())); // once it has come
  };
  await ask();
  await sixth.leaveShop();
  await answer(0, "0.90");
  assert.equal(await sixth.shop.isVisible(), false, "Di has closed it");
  await ask();
  await sixth.leaveShop();
  await ask();
  await pos("POST", `/sessions/${di}/stop`);
  await sixth.shop.waitFor({ state: "hidden" });
  const ed = (await sell(6, "Ed Poe")).session_id;
  await customer("Ed Poe");
  await answer(1, "0.90");
  assert.equal(await sixth.shop.isVisible(), false, "Ed has not opened it");
  await ask();
  await answer(2, "0.90");
  await answer(3, "0.50");
  await sixth.shop.getByText("€0.50 a minute").waitFor();
  await pos("POST", `/sessions/${ed}/stop`);
  await sixth.page.context().close();

  tell("A ceasefire; the controller of lane 5 hears nothing, and that is the largest text there is");
  await changeWorld("/lane/5/out-of-reach");
  await staff.beginCeasefire();
  await staff.alarm.getByText("Not reached: Lane 5", { exact: true }).waitFor();
  const sizes = await staff.page.evaluate(() => [...document.body.querySelectorAll("*")]
    .filter((of) => of.checkVisibility() && [...of.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()))
    .map((of) => [parseFloat(getComputedStyle(of).fontSize), of.textContent])
    .toSorted(([a], [b]) => b - a));
  assert.equal(sizes[0][1], "Not reached: Lane 5");
  assert.ok(sizes[0][0] > sizes[1][0], String(sizes[1]));
  await jo.inState("ceasefire");
  await jo.shows("Your time stands still");
  await staff.inState(1, "paused");
  assert.equal((await controller(1)).open, false);
  const left = (await sessionOn(1)).minutes_remaining;

  tell("It is within reach again; the ceasefire stands on every page until it is ended on purpose");
  await changeWorld("/lane/5/within-reach");
  await staff.alarm.getByText("Ceasefire: whole range, all locked").waitFor();
  await staff.go("Health");
  await staff.page.locator("#health table").waitFor();
  await staff.alarm.getByText("Ceasefire: whole range, all locked").waitFor();
  await staff.alarm.getByRole("button", { name: "Hold down to end: whole range" }).click();
  await staff.alarm.getByText("Hold the button down for two seconds.").waitFor(); // a press alone only says so
  assert.equal(await staff.alarm.getByRole("button", { name: "End it now: whole range" }).isVisible(), false);
  assert.equal((await sessionOn(1)).minutes_remaining, left, "time stands still");
  await staff.endCeasefire();
  await staff.go("Board");
  await jo.inState("running");
  await staff.inState(1, "running");
  await eventually("the fire line opens again", async () => (await controller(1)).open);
  happened.push("sessionPaused", "sessionResumed");
  await got(session, ...happened);

  tell("Fingers that go on pressing CEASEFIRE, on devices of every width: it is in force, and nothing else has happened");
  for (const [width, height, touch, scope] of [[1920, 1080, false, "range"], [820, 1180, true, "range"], [390, 844, true, "bay"], [390, 844, true, "range"]]) {
    const kim = await Control.signedIn("kim", { viewport: { width, height }, hasTouch: touch, locale: touch ? "de-DE" : "en-GB" });
    const control = kim.page.locator(scope === "range" ? "#begin button" : ".bay:nth-child(2) .bay-head [data-begins-ceasefire]");
    if (scope === "bay") {
      await kim.view("board");
      await kim.page.locator(".bay:nth-child(2) summary").tap(); // it is in the bay's menu
    }
    if (width < 400 && scope === "range") {
      assert.ok(await kim.clearance() >= 48, "no other control is within 48 px");
    }
    await kim.bang(control, { touch });
    await control.and(kim.page.locator("[data-in-force]:not([aria-busy])")).waitFor();
    await kim.queue.getByText(touch ? "Nichts zu tun" : "Nothing to do").waitFor({ state: "attached" }); // still signed in
    const holds = await operate("GET", "/holds");
    assert.deepEqual(holds.map((hold) => [hold.scope, hold.who]), [[scope, "kim"]]);
    assert.equal((await sessionOn(1)).session_id, session);
    await operate("PUT", "/holds", { scope, id: holds[0].id, on: false });
    await kim.alarm.waitFor({ state: "hidden" });
    await kim.page.context().close();
    await jo.inState("running");
    happened.push(...(scope === "range" ? ["sessionPaused", "sessionResumed"] : []));
  }
  await got(session, ...happened);

  tell("Jo moves to lane 4; time is added and taken away there");
  await staff.openLane(1);
  await staff.move(4);
  await staff.inState(4, "running");
  await staff.inState(1, "free");
  assert.equal((await sessionOn(4)).session_id, session);
  assert.equal(await sessionOn(1), undefined);
  await jo.shows("You are on Lane 4 now");
  const there = await Lane.at(4);
  await there.inState("running");
  await staff.panel.getByRole("heading", { name: "Lane 4 · Jo Smith" }).waitFor(); // it follows the session
  await staff.panel.getByRole("button", { name: "5 minutes less" }).first().waitFor();
  await staff.panel.getByRole("button", { name: "15 minutes less" }).click();
  await there.shows("of 60 minutes");
  await staff.panel.getByLabel("Minutes to add").fill("7");
  await staff.panel.getByRole("button", { name: "Change" }).click();
  await there.shows("of 67 minutes");
  await staff.panel.getByRole("button", { name: "Pause" }).click();
  await there.inState("paused");
  await staff.panel.getByRole("button", { name: "Resume" }).click();
  await there.inState("running");
  await staff.panel.getByRole("button", { name: "Close", exact: true }).click();
  happened.push("sessionModified", "sessionModified", "sessionModified", "sessionPaused", "sessionResumed");
  await got(session, ...happened);

  tell("Staff stop it with two touches");
  await staff.inState(4, "running"); // a change of state between the two takes the question away
  await staff.stop(4);
  await there.shows("Your time is over");
  assert.deepEqual(await sessions(), []);
  happened.push("sessionStopped");
  await got(session, ...happened);

  tell("A lane is closed for sale, and opened");
  const accessible = async (n) => (await pos("GET", "/lanes"))[n - 1].is_accessible;
  await staff.openLane(3);
  await staff.panel.getByRole("radio", { name: "Closed" }).check();
  await staff.inState(3, "closed");
  await staff.page.locator("#tally").getByText("5 free · 1 closed", { exact: true }).waitFor();
  const third = await Lane.at(3);
  await third.shows("This lane is closed");
  assert.equal(await accessible(3), false);
  await staff.panel.getByRole("radio", { name: "As usual" }).check();
  await staff.inState(3, "free");
  await third.inState("idle");
  assert.equal(await accessible(3), true);

  tell("Ann's time runs out: both screens warn, and the lane locks");
  await staff.create(2, "Ann Lee", { minutes: 30 });
  const ann = await Lane.at(2);
  const last = (await sessionOn(2)).session_id;
  await ann.inState("running");
  const colours = [await ann.digits()];
  await runDown(2, 4);
  await ann.shows(/[0-4]:\d\d left/);
  await ann.page.locator("#alarm").filter({ hasText: "Less than 5 minutes left" }).waitFor({ state: "attached" });
  colours.push(await ann.digits());
  await staff.says(2, "ends soon");
  await runDown(2, 0.9);
  await ann.shows(/0:[0-5]\d left/);
  colours.push(await ann.digits());
  assert.equal(new Set(colours).size, 3, `the digits have another colour each time: ${colours}`);
  await runDown(2, 0.025);
  await ann.shows("Your time is over");
  await staff.inState(2, "ended");
  await eventually("the fire line is closed", async () => !(await controller(2)).open);
  await got(last, "sessionCreated", "sessionStarted", "sessionStopped");

  tell("Her lane is to be cleared, until Sam says that it is; the next time the lane's controller says so");
  await staff.says(2, "clear the lane");
  await staff.page.locator("#tally").getByText("5 free · 1 to clear", { exact: true }).waitFor();
  await staff.queue.getByText("clear the lane", { exact: true }).waitFor();
  await ann.page.reload();
  await ann.shows("Please unload, put everything down and leave the lane.");
  await staff.answer("Cleared", 2);
  await staff.inState(2, "free");
  await ann.inState("idle");
  await staff.create(2, "Cy Fox", { minutes: 15 });
  await runDown(2, 0.025);
  await staff.inState(2, "ended");
  await changeWorld("/lane/2/left");
  await staff.inState(2, "free");
  await staff.queue.getByText("Nothing to do").waitFor();

  tell("In the evening all of it is on record: who, what, and what the POS was told");
  await staff.go("Ended");
  await staff.row("Ann Lee", "Lane 2", "Public", "time").waitFor();
  await staff.row("Jo Smith", "Lane 4", "67 min", "staff").waitFor();
  const waited = await staff.page.locator("#history tr", { hasText: "Cy Fox" }).locator("td[data-column='Lane waited']").textContent();
  assert.match(waited, /^[\d.]+\smin$/, "Lane 2 had waited for him since Ann Lee");
  await staff.go("Health");
  await staff.page.getByText("Turn-time, last 12 hours").waitFor();
  await staff.page.getByText("min in the middle").waitFor();
  await staff.go("Staff log");
  for (const [what, detail] of [
    ["session created", "30 min"], ["purchase settled", "time added"], ["help is coming", ""], ["ceasefire", "whole range"], ["ceasefire ended", "whole range"],
    ["moved", "to Lane 4"], ["time changed", "-15"], ["stopped", ""], ["sale changed", "Closed"], ["lane cleared", ""],
  ]) {
    await staff.row("sam", what, detail).waitFor();
  }
  await staff.go("Deliveries");
  await staff.row("purchaseRequest", "Lane 1", "402").waitFor();
  await staff.row("sessionStopped", "Lane 2", "200").waitFor();
  await staff.signOut();
  await staff.page.getByRole("button", { name: "Sign in" }).waitFor();
  assert.equal(await staff.page.getByText("Jo Smith").count(), 0);
});
