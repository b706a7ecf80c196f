// From the address of the gateway to the board, and from one user to the next: ranges by their names, a pad for the PIN, and a change of
// users that loses sight of nothing.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { look, requireAccessible } from "./look.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { linked, operate } from "./pos.mjs";

await story(async () => {
  await linked();
  const touch = { hasTouch: true, isMobile: true, viewport: { width: 820, height: 1180 } };
  // tapPIN enters it on the pad; a finger needs 48 px.
  const tapPIN = async (page, pin) => {
    for (const digit of pin) {
      await page.locator(".pin-pad").getByRole("button", { name: digit, exact: true }).tap();
    }
  };

  tell("The address of the gateway is a page: ranges by their names, and documents; a program gets what it asks for");
  const desk = await device();
  const start = await open(desk, `${scene.api}/`);
  await start.getByRole("link", { name: "South range" }).waitFor();
  assert.equal(await start.getByText("sam").count(), 0);
  await look(start, "start");
  const anfang = await open(await device({ locale: "de-DE", ...touch, viewport: { width: 390, height: 844 } }), `${scene.api}/`);
  await anfang.getByRole("heading", { name: "Leitstelle" }).waitFor();
  await anfang.getByRole("link", { name: "North range" }).waitFor();
  await look(anfang, "start on a telephone");
  for (const path of await start.locator("#documents a").evaluateAll((all) => all.map(({ href }) => href))) {
    const response = await fetch(path);
    assert.ok(response.status === 200 && (await response.text()).length > 100, path);
  }
  const asked = async (Accept) => (await fetch(`${scene.api}/`, { headers: { Accept } })).json();
  assert.deepEqual((await asked("application/json")).ranges.map(({ name }) => name), ["North range", "South range"]);
  assert.equal((await asked("*/*")).code, "not_found");
  await start.getByRole("link", { name: "North range" }).click();
  await start.waitForURL(`${scene.api}/control/${scene.range}`);
  await start.getByText("North range").waitFor();

  tell("The control screen asks for the range by its name, and remembers the last one");
  const tablet = await device(touch);
  const page = await open(tablet, `${scene.api}/control/`);
  const staff = new Control();
  staff.page = page;
  await page.getByRole("button", { name: "South range" }).waitFor();
  assert.equal(await page.getByText("Range ID").count(), 0);
  await look(page, "which range");
  await page.getByRole("button", { name: "North range" }).tap();
  await page.locator("#sign-in-range", { hasText: "North range" }).waitFor();
  assert.equal(await page.locator(".known").count(), 0, "a browser in which nobody has signed in shows no name of staff");
  await look(page, "sign-in with the pad");

  tell("Sam signs in by touch: a wrong digit is deleted, a wrong PIN refused, the right one taken");
  await page.getByLabel("Name", { exact: true }).fill("sam");
  await tapPIN(page, "12");
  await page.getByRole("button", { name: "Delete the last character" }).tap();
  assert.equal(await page.getByLabel("PIN", { exact: true }).inputValue(), "1");
  await page.getByRole("button", { name: "Sign in" }).tap();
  await page.getByText("Name or PIN is wrong.").waitFor();
  assert.equal(await page.getByLabel("PIN", { exact: true }).inputValue(), "");
  await page.getByRole("button", { name: "Keyboard, for a PIN with letters" }).tap();
  assert.equal(await page.getByLabel("PIN", { exact: true }).getAttribute("inputmode"), "text");
  await tapPIN(page, scene.pin);
  const sizes = await page.locator(".pin-pad button").evaluateAll((all) => all.map((of) => Math.min(of.offsetWidth, of.offsetHeight)));
  assert.ok(sizes.length === 12 && sizes.every((size) => size >= 48), String(sizes));
  await page.getByRole("button", { name: "Sign in" }).tap();
  await staff.inState(1, "free");
  const again = await open(tablet, `${scene.api}/control/`);
  await again.locator(".lane").first().waitFor();
  assert.equal(again.url(), `${scene.api}/control/${scene.range}`);
  await again.close();

  tell("Sam sells, and hands over to Kim: the board stays in view, and takes no presses meanwhile");
  await staff.create(1, "Jo Smith", { minutes: 30 });
  await staff.openLane(1);
  const change = page.getByRole("button", { name: "Switch user" });
  const pad = page.locator("#switch-user");
  await change.tap();
  await pad.getByText("sam stays signed in until then.").waitFor();
  assert.ok(await staff.card(1).isVisible());
  assert.deepEqual(await page.evaluate(() => ["board", "panel", "attention", "outcome"].map((id) => document.getElementById(id).inert)), [true, true, true, true]);
  await look(page, "switch user");
  await pad.getByLabel("Name", { exact: true }).fill("kim");
  await tapPIN(page, "000000");
  await pad.getByRole("button", { name: "Sign in" }).tap();
  await pad.getByText("Name or PIN is wrong.").waitFor();
  assert.equal(await page.locator("#who").innerText(), "sam", "who is still signed in");

  tell("A ceasefire is begun beside the pad, by who is still signed in");
  await page.getByRole("button", { name: "Ceasefire over the whole range" }).tap();
  await staff.alarm.getByText("Ceasefire: whole range, all locked").waitFor();
  assert.deepEqual((await operate("GET", "/holds")).map(({ scope, who }) => [scope, who]), [["range", "sam"]]);
  await staff.settled();
  await tapPIN(page, scene.pin);
  let compare;
  const compared = new Promise((resolve) => (compare = resolve));
  await page.route("**/control/sign-in", async (route) => {
    await compared;
    await route.continue();
  }, { times: 1 });
  const comparing = page.waitForRequest("**/control/sign-in");
  await pad.getByRole("button", { name: "Sign in" }).tap();
  await comparing;
  await pad.getByRole("button", { name: "Cancel" }).tap(); // too late
  assert.ok(await pad.isVisible());
  compare();
  await pad.waitFor({ state: "hidden" });
  await page.locator("#who", { hasText: "kim" }).waitFor();
  await staff.panel.getByRole("heading", { name: "Lane 1 · Jo Smith" }).waitFor(); // where Sam was
  assert.equal(await staff.panel.evaluate((of) => of.inert), false);
  await operate("PUT", "/holds", { scope: "range", id: null, on: false });
  await staff.alarm.waitFor({ state: "hidden" });
  await staff.settled();

  tell("Back to Sam in as many touches as the PIN has digits, and three: the name is offered; the page stays the same");
  await staff.panel.getByRole("button", { name: "Close", exact: true }).tap();
  await staff.go("Staff log");
  await staff.row("kim", "signed in").waitFor();
  await staff.row("sam", "signed out").waitFor();
  await change.tap();
  assert.equal(await pad.getByLabel("Name", { exact: true }).inputValue(), "sam", "there is nobody else");
  await tapPIN(page, scene.pin);
  await pad.getByRole("button", { name: "Sign in" }).tap();
  await page.locator("#who", { hasText: "sam" }).waitFor();
  assert.equal(new URL(page.url()).hash, "#acts");
  assert.equal(await page.getByText("Your sign-in has ended").count(), 0);
  await staff.go("Board");
  await staff.quick("Pause", 1).tap();
  await staff.inState(1, "paused");
  await staff.go("Staff log");
  await staff.row("sam", "paused").waitFor();

  tell("By keyboard: the pad is opened and left, and the next user signs in by typing");
  await change.focus();
  await page.keyboard.press("Enter");
  await pad.getByLabel("PIN", { exact: true }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await pad.waitFor({ state: "hidden" });
  await eventually("the focus is where it was", () => change.evaluate((of) => of === document.activeElement));
  await page.keyboard.press("Enter");
  await page.keyboard.type(scene.pin);
  await page.keyboard.press("Enter");
  await page.locator("#who", { hasText: "kim" }).waitFor();

  tell("A command of Kim's is answered, and its answer arrives once Sam has signed in: Sam stays signed in");
  await staff.go("Board");
  let carryOut;
  let deliver;
  const carriedOut = new Promise((resolve) => (carryOut = resolve));
  const delivered = new Promise((resolve) => (deliver = resolve));
  await page.route("**/control/api/sessions/*/resume", async (route) => {
    const response = await route.fetch();
    carryOut();
    await delivered;
    await route.fulfill({ response });
  }, { times: 1 });
  await staff.quick("Resume", 1).tap();
  await carriedOut;
  await change.tap();
  await page.keyboard.type(scene.pin);
  await page.keyboard.press("Enter");
  await page.locator("#who", { hasText: "sam" }).waitFor();
  await Promise.all([page.waitForResponse("**/resume"), deliver()]);
  await staff.quick("Pause", 1).tap();
  await staff.inState(1, "paused");
  assert.equal(await page.locator("#who").innerText(), "sam");
  assert.equal(await page.getByText("Your sign-in has ended").count(), 0);

  tell("Signed out, both names are offered by large buttons; one is forgotten; another range is a touch away");
  await Promise.all([page.waitForEvent("load"), staff.signOut()]);
  const known = page.locator(".known");
  await known.getByRole("button", { name: "sam", exact: true }).waitFor();
  assert.equal(await known.count(), 2);
  await known.getByRole("button", { name: "kim", exact: true }).tap();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "kim");
  await look(page, "sign-in of who was here before");
  await known.getByRole("button", { name: "Remove kim from this device" }).tap();
  await known.getByRole("button", { name: "kim", exact: true }).waitFor({ state: "detached" });
  await known.getByRole("button", { name: "sam", exact: true }).tap();
  await page.getByRole("button", { name: "Another range" }).tap();
  await page.getByRole("button", { name: "South range" }).tap();
  await page.locator("#sign-in-range", { hasText: "South range" }).waitFor();
  assert.equal(await known.count(), 0, "each range has names of its own");

  tell("On a telephone in German, and at twice the size: everything is within reach");
  const telefon = new Control();
  telefon.page = await open(await device({ ...touch, locale: "de-DE", viewport: { width: 390, height: 844 } }), `${scene.api}/control/${scene.range}`);
  await look(telefon.page, "sign-in on a telephone");
  await telefon.signIn("sam");
  await telefon.page.locator("#menu").tap();
  await telefon.page.getByRole("button", { name: "Benutzer wechseln" }).tap();
  await telefon.page.locator("#switch-user").getByRole("button", { name: "Anmelden" }).scrollIntoViewIfNeeded();
  await look(telefon.page, "switch user on a telephone");
  await tapPIN(telefon.page, "1");
  await telefon.page.setViewportSize({ width: 640, height: 400 });
  await tapPIN(telefon.page, "9");
  await telefon.page.locator("#switch-user").getByRole("button", { name: "Anmelden" }).tap();

  tell("A gateway with one range goes straight to it; one with very many asks for the name");
  const other = await open(await device());
  const ranges = (complete, ...names) => ({ ranges: names.map((name) => ({ range_id: scene.range, name })), complete });
  let answer = ranges(true, "North range");
  await other.route("**/control/ranges*", (route) => route.fulfill({ json: new URL(route.request().url()).searchParams.get("name") === "north range" ? ranges(false, "North range") : answer }));
  await other.goto(`${scene.api}/control/`);
  await other.getByLabel("PIN", { exact: true }).waitFor();
  assert.equal(await other.getByRole("button", { name: "Another range" }).count(), 0);
  answer = ranges(false);
  await other.goto(`${scene.api}/control/`);
  await other.getByLabel("Name of the range").fill("nowhere");
  await other.keyboard.press("Enter");
  await other.getByText("No range of that name has a control screen here.").waitFor();
  await look(other, "the name of the range");
  await other.getByLabel("Name of the range").fill("north range");
  await other.keyboard.press("Enter");
  await other.getByLabel("PIN", { exact: true }).waitFor();
  requireAccessible();
});
