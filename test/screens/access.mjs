// Every page and state of the screens under axe, which knows what keeps people with other eyes and hands from using a
// page: in light and in dark, on a desk and on a telephone.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { look, requireAccessible } from "./look.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { changeWorld, leave, linked, pos, runDown, sell, sessionOn } from "./pos.mjs";

await story(async () => {
  await linked();

  tell("Whoever wants German gets German");
  const german = { locale: "de-DE" };
  const anmeldung = await open(await device(german), `${scene.api}/control/${scene.range}`);
  await anmeldung.getByRole("button", { name: "Anmelden" }).waitFor();
  const bahn = await Lane.at(5, german);
  await bahn.page.getByRole("button", { name: "Hilfe" }).waitFor();
  for (const page of [anmeldung, bahn.page]) {
    assert.equal(await page.locator("html").getAttribute("lang"), "de");
  }

  tell("Signing in");
  const staff = new Control();
  const page = (staff.page = await open(await device(), `${scene.api}/control/${scene.range}`));
  await page.getByLabel("Name", { exact: true }).fill("sam");
  await page.getByLabel("PIN", { exact: true }).fill("0000");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Name or PIN is wrong.").waitFor();
  await look(page, "sign-in");
  await staff.signIn("sam");

  tell("The board with a lane in every state");
  const jo = await Lane.at(1);
  await jo.inState("idle");
  await look(jo.page, "lane: idle");
  const first = (await sell(1, "Jo Smith", { warn_at_minutes: [5, 3] })).session_id; // so that its last time is as long as a look takes
  await jo.inState("running");
  await look(jo.page, "lane: running");
  await sell(2, "Ann Lee", { auto_start: false });
  const paused = (await sell(3, "Bo Doe")).session_id;
  await pos("POST", `/sessions/${paused}/pause`);
  await staff.openLane(4);
  await look(page, "panel: a new session");
  await staff.panel.getByRole("radio", { name: "Closed" }).check();
  await staff.inState(4, "closed");
  await jo.page.getByRole("button", { name: "Help" }).click();
  await staff.says(1, "Help! since");
  await sell(5, "Di Roe");
  await runDown(5, 0.025);
  await staff.inState(5, "ended");
  await bahn.inState("over");
  await look(bahn.page, "lane: over, to be cleared");
  await staff.openLane(5);
  await look(page, "panel: a lane to be cleared");
  await changeWorld("/lane/6/off");
  await staff.says(6, "controller faulty since");
  await leave(1, 4.9);
  await staff.says(1, "ends soon");
  await look(page, "board");
  await pos("POST", `/sessions/${first}/modify?time=60`); // it lasts
  await staff.openLane(1);
  await look(page, "panel: a session");
  await staff.panel.getByRole("button", { name: "5 minutes more" }).first().click();
  await page.locator("#outcome").getByRole("button").waitFor();
  await look(page, "panel: what may be taken back");
  await staff.panel.getByRole("button", { name: "5 minutes less" }).first().click();
  await staff.panel.getByRole("button", { name: "Move …" }).click();
  await look(page, "board: a lane is to be chosen");
  await page.getByRole("button", { name: "Cancel" }).click();
  await staff.panel.getByRole("button", { name: "Close", exact: true }).click();
  await page.locator("summary").and(page.getByLabel("Bay A: more")).click();
  await look(page, "board: the menu of a bay");
  await staff.quick("Stop", 1).click();
  await staff.card(1).locator(".sure:not([aria-disabled])").waitFor();
  await look(page, "board: a stop that is asked for");
  await page.getByRole("button", { name: "Compact" }).click();
  await look(page, "board: compact");
  await page.getByRole("button", { name: "Compact" }).click();

  tell("Several lanes");
  await staff.quick("Cleared", 5).click(); // the free lane among them
  await staff.inState(5, "free");
  await page.getByRole("button", { name: "Select", exact: true }).click();
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.locator("#selection .many-actions:not([data-moved])").waitFor();
  await page.getByRole("button", { name: "Resume 1" }).click();
  await page.locator("#outcome").getByText("1 resumed").waitFor();
  await look(page, "board: several lanes, and what became of them");
  await page.locator("#outcome").getByRole("button", { name: "Close", exact: true }).click(); // on a telephone it lies on the menu
  await pos("POST", `/sessions/${paused}/pause`);
  await page.locator("#selection summary").first().click();
  await look(page, "board: several lanes are sold");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");

  tell("The lane screen's other states, and the shop's");
  await leave(1, 4.9);
  await look(jo.page, "lane: five minutes, help called");
  for (const scheme of ["dark", "light"]) {
    await runDown(1, 2.9);
    await jo.shows(/2:[0-5]\d left/);
    await look(jo.page, "lane: last minutes", [scheme]);
    await pos("POST", `/sessions/${first}/modify?time=60`); // a look takes its time
    await jo.page.locator("body:not([data-last])").waitFor();
  }
  const ann = await Lane.at(2, { viewport: { width: 390, height: 844 } });
  await ann.inState("waiting");
  await look(ann.page, "lane: waiting");
  await pos("POST", `/sessions/${(await sessionOn(2)).session_id}/modify?time=60`);
  await ann.page.getByRole("button", { name: "Start" }).click();
  await ann.inState("running");
  await ann.openShop();
  await ann.more("Lane time");
  await look(ann.page, "shop: time");
  await ann.shop.getByRole("tab", { name: "Targets" }).click();
  await look(ann.page, "shop: targets");
  await ann.review();
  await look(ann.page, "shop: what is bought");
  await ann.shop.getByRole("button", { name: "Change it" }).click();
  await changeWorld("/purchases", { how: "refuse", message: "Sold out." });
  await ann.buy();
  await ann.shopSays("Sold out.");
  await look(ann.page, "shop: refused");
  await changeWorld("/purchases", { how: "accept" });
  await ann.page.route("**/purchase", (route) => route.abort());
  await ann.buy();
  await ann.shopSays("There was no answer");
  await look(ann.page, "shop: unanswered");
  await ann.page.unroute("**/purchase");
  await ann.shop.getByRole("button", { name: "Try again" }).click();
  await ann.shopSays("Your purchase went through");
  await look(ann.page, "shop: accepted");
  await ann.leaveShop();
  await changeWorld("/purchases", { how: "hang up" });
  await ann.openShop();
  await ann.more("Lane time");
  await ann.buy();
  await ann.shopSays("Please ask the staff");
  await look(ann.page, "shop: unresolved");
  await ann.leaveShop();
  const bo = await Lane.at(3);
  await bo.inState("paused");
  await look(bo.page, "lane: paused");

  tell("A ceasefire, with a lane that is not reached");
  await staff.beginCeasefire();
  await staff.alarm.getByText("Not reached: Lane 6").waitFor();
  await staff.settled();
  await staff.alarm.getByRole("button", { name: "Hold down to end: whole range" }).click();
  await look(page, "ceasefire: board");
  await anmeldung.getByText("FEUER EINSTELLEN: gilt auf dem ganzen Stand").waitFor();
  await look(anmeldung, "ceasefire: sign-in");
  await ann.inState("ceasefire");
  await look(ann.page, "lane: ceasefire");
  const free = await Lane.at(5);
  await free.inState("closed");
  await look(free.page, "lane: closed");
  await free.isRed("CEASEFIRE");
  await bahn.inState("closed");
  await bahn.isRed("FEUER EINSTELLEN");
  await ann.isRed("CEASEFIRE");
  await sell(5, "Cy Fox", { auto_start: false });
  await free.inState("barred");
  await free.isRed("CEASEFIRE");
  await look(free.page, "lane: sold in a ceasefire");

  tell("The other pages, the ceasefire over them");
  await page.setViewportSize({ width: 390, height: 844 });
  await look(page, "ceasefire: board on a telephone");
  await page.getByRole("button", { name: "Lane 2", exact: true }).click({ modifiers: ["Control"] });
  await look(page, "ceasefire: several lanes on a telephone");
  await page.keyboard.press("Escape");
  for (const [view, text] of [["Needs me", "lock not confirmed"], ["Ends next", "Ann Lee"]]) {
    await page.getByRole("link", { name: view }).click();
    await page.locator("#main").getByText(text).filter({ visible: true }).first().waitFor();
    await look(page, `ceasefire: ${view} on a telephone`);
  }
  await staff.go("Staff log");
  await staff.row("ceasefire").waitFor();
  await look(page, "ceasefire: Staff log on a telephone");
  await page.setViewportSize({ width: 1280, height: 900 });
  await staff.endCeasefire();
  await pos("POST", `/sessions/${paused}/stop`);
  await bo.inState("over");
  await look(bo.page, "lane: over");
  await staff.openQueue();
  await staff.need("Add 15 minutes", 2).waitFor();
  await look(page, "the queue");

  tell("Sessions that lost time have it back, all at once");
  const later = await open(page.context());
  await later.addInitScript(() => { // as after a minute without the gateway
    const parse = JSON.parse;
    JSON.parse = (text) => {
      const read = parse(text);
      read?.lanes?.filter((lane) => lane.session).forEach((lane) => (lane.session.ran_on_ms = 90_000));
      return read;
    };
  });
  await later.goto(`${scene.api}/control/${scene.range}`);
  await later.locator(".need-count").click();
  await later.getByText("6 minutes in all: each session gets full minutes, rounded up.").waitFor();
  await look(later, "the queue: lost time");
  await later.locator("summary", { hasText: "Chimes" }).click();
  assert.deepEqual(await later.getByLabel("Lanes to be cleared").or(later.getByLabel("Calls for help")).evaluateAll((all) => all.map((of) => of.checked)), [true, false]);
  await look(later, "the queue: chimes");
  const given = [];
  later.on("response", (response) => response.url().endsWith("/make-up") && given.push(response.status()));
  await later.getByText("each lost up to 1:30").waitFor();
  await later.locator(".attention").getByRole("button", { name: "Give 6 minutes back" }).click();
  await eventually("it is given back", () => given.length === 3);
  assert.deepEqual(given, [204, 204, 204]);
  await later.close();
  await page.keyboard.press("Escape");

  tell("A session whose purchase is open is stopped by mistake, and goes on on another lane: there its minutes are added");
  await staff.go("Board");
  await staff.stop(2);
  await sell(2, "Ed Lux");
  await staff.openLane(2);
  await staff.panel.getByText("Its session has ended.").waitFor();
  await staff.go("Ended");
  await staff.row("Ann Lee", "Lane 2").getByRole("button", { name: "Go on with the session of Ann Lee" }).click();
  await page.getByText("Choose a lane for Ann Lee").first().waitFor();
  await page.getByRole("button", { name: "Lane 3", exact: true }).click();
  await staff.says(3, "Ann Lee");
  const { duration } = await sessionOn(3);
  await staff.openLane(3);
  await staff.panel.getByText("It was bought at Lane 2, before the session went on here.").waitFor();
  await look(page, "a purchase of a session that goes on elsewhere");
  await page.keyboard.press("Escape");
  await staff.openQueue();
  await staff.answer("Add 15 minutes", 3);
  await staff.says(3, `of ${duration + 15} min`);
  await page.keyboard.press("Escape");
  for (const [tab, text] of [["Ended", "Bo Doe"], ["Deliveries", "purchaseRequest"], ["Staff log", "ceasefire"], ["Health", "Lane 6"]]) {
    await staff.go(tab);
    await staff.row(text).waitFor();
    await look(page, tab);
  }

  tell("No contact, and no key");
  await changeWorld("/gateway/kill");
  await page.locator("#contact").filter({ hasText: "No contact" }).waitFor();
  await look(page, "control: no contact");
  await anmeldung.getByText("Ob eine Feuereinstellung in Kraft ist, ist gerade nicht bekannt").waitFor();
  await look(anmeldung, "sign-in: no contact");
  await free.page.locator("#contact").filter({ hasText: "No contact" }).waitFor();
  await look(free.page, "lane: no contact");
  await changeWorld("/gateway/start");
  const refused = await open(await device(), `${scene.api}/lane/${scene.lanes[0].id}?key=wrong`);
  await look(refused, "lane: refused");
  const [left, right] = await refused.locator("h1").evaluate((of) => [of.getBoundingClientRect().left, innerWidth - of.getBoundingClientRect().right]);
  assert.ok(Math.abs(left - right) <= 1, "in the middle");

  requireAccessible();
});
