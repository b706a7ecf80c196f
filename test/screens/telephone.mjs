// The shooter's own telephone: staff hand out a QR code with the sale, on the screen and on paper; what it opens shows the lane and the time
// until the session ends, wherever it moves, and can do nothing.
import assert from "node:assert/strict";
import decodeQR from "qr/decode.js";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { look, requireAccessible } from "./look.mjs";
import { device, eventually, open, scene, story, tell } from "./story.mjs";
import { changeWorld, linked, pos, runDown, sessionOn } from "./pos.mjs";
import { deadline, exactly, rightly, timesOf, watchTime } from "./times.mjs";

const MM = 96 / 25.4; // CSS pixels

await story(async () => {
  await linked();
  // scan is what a telephone's camera makes of an element of the screen.
  const scan = async (page, code) => {
    await eventually("the code is shown", () => code.evaluate((of) => of.complete && of.naturalWidth > 0));
    const picture = (await code.screenshot()).toString("base64");
    const { width, height, data } = await page.evaluate(async (base64) => {
      const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (of) => of.charCodeAt(0))], { type: "image/png" }));
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      context.drawImage(bitmap, 0, 0);
      return { width: bitmap.width, height: bitmap.height, data: [...context.getImageData(0, 0, bitmap.width, bitmap.height).data] };
    }, picture);
    return decodeQR({ width, height, data: Uint8Array.from(data) });
  };
  const telephone = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };
  const inState = (page, state) => page.locator(`body[data-state="${state}"]`).waitFor();

  tell("A sale is confirmed, with a QR code on demand, which goes at the next press elsewhere");
  const staff = await Control.signedIn("sam", { hasTouch: true, viewport: { width: 820, height: 1180 } });
  const { page } = staff;
  const sold = page.getByRole("region", { name: "What was done last" });
  const code = sold.getByRole("img", { name: "QR code" });
  const showCode = sold.getByRole("button", { name: "QR code for the customer" });
  await staff.create(1, "Jo Smith", { minutes: 90 });
  await sold.getByText("Lane 1: Jo Smith, 90 min").waitFor();
  await showCode.tap();
  const address = await scan(page, code);
  assert.match(address, new RegExp(`^${scene.api}/my/[A-Za-z0-9_-]{43}$`));
  await look(page, "sold");
  await page.locator("#tally").tap();
  await code.waitFor({ state: "detached" });
  await page.evaluate(() => { // the hand has left it
    const { setTimeout } = window;
    window.setTimeout = (act, ms) => setTimeout(act, ms === 30_000 ? 50 : ms);
    document.activeElement.blur();
    document.getElementById("outcome").dispatchEvent(new PointerEvent("pointerleave"));
    window.setTimeout = setTimeout;
  });
  await sold.waitFor({ state: "hidden" });
  assert.doesNotMatch(await page.locator("#outcome").innerHTML(), /Jo/);

  await staff.create(2, "Ann Lee", { minutes: 30 });
  await sold.getByText("Lane 2: Ann Lee, 30 min").waitFor();
  await eventually("a pause is said to be done", async () => { // work goes on
    await staff.quick("Pause", 2).tap();
    await staff.inState(2, "paused");
    const isDone = await sold.getByText("Lane 2: paused").waitFor({ timeout: 5000 }).then(() => true, () => false);
    if (!isDone) { // the store of a busy machine took more than a second: it is in force, and not said to be done
      await staff.quick("Resume", 2).tap();
      await staff.inState(2, "running");
    }
    return isDone;
  });

  tell("The telephone shows the lane and the time, and no name; what it is sent has none either");
  const jo = await open(await device(telephone), address);
  await jo.getByRole("heading", { level: 1, name: "Lane 1", exact: true }).waitFor();
  const running = (await sessionOn(1)).session_id;
  const due = await deadline(running);
  await watchTime(jo, ".face");
  await eventually("the telephone shows its time", async () => (await timesOf(jo)).length > 0);
  await exactly(() => timesOf(jo), due);
  const times = await timesOf(jo);
  times.forEach(([at, shown]) => rightly(shown, at, due));
  assert.match(times[0][1], /^1:\d\d:\d\d$/, "hours, minutes and seconds");
  await look(jo, "telephone: more than an hour");
  const seen = await jo.evaluate(async () => {
    const reader = (await fetch(`${location.pathname}/stream`)).body.getReader();
    return new TextDecoder().decode((await reader.read()).value);
  });
  assert.match(seen.replace(/(event: beat\ndata: \{"now":"[^"]*"\}\n\n)+$/, ""), /^event: picture\ndata: \{"now":"[^"]*","lane":"Lane 1","state":"running","running":true,"left_ms":\d+\}\n\n$/);
  assert.deepEqual(await jo.context().cookies(), []);
  assert.equal(await jo.getByRole("button").count(), 0, "nothing can be done");

  tell("In the lane's panel is the same code, and nobody else gets one");
  await staff.openLane(1);
  const shown = staff.panel.getByRole("button", { name: "QR code for the customer" });
  await shown.tap();
  assert.equal(await scan(page, staff.panel.getByRole("img", { name: "QR code" })), address);
  await look(page, "panel with the code");
  const drawn = await staff.panel.getByRole("img", { name: "QR code" }).getAttribute("src");
  assert.equal((await (await fetch(scene.api + drawn)).json()).code, "unauthorized");

  tell("It is printed on paper of 80 mm: one page, nothing is cut off, and the code can be scanned");
  await page.evaluate(() => (window.print = () => (window.printed = true)));
  await staff.panel.getByRole("button", { name: "Print" }).tap();
  await page.waitForFunction(() => window.printed);
  await page.emulateMedia({ media: "print" });
  const paper = await page.evaluate(() => {
    const sheet = document.getElementById("receipt");
    const { left, right } = sheet.getBoundingClientRect();
    return {
      width: right - left, height: sheet.getBoundingClientRect().height, text: sheet.innerText,
      cut: [...sheet.querySelectorAll("article > *")].filter((of) => of.getBoundingClientRect().left < left || of.getBoundingClientRect().right > right || of.scrollWidth > of.clientWidth).map((of) => of.outerHTML),
      others: [...document.body.children].filter((of) => of !== sheet && of.checkVisibility()).map((of) => of.id),
    };
  });
  assert.ok(Math.abs(paper.width - 72 * MM) < 1 && paper.height <= 97 * MM, `${paper.width} × ${paper.height}`);
  assert.deepEqual([paper.cut, paper.others], [[], []]);
  assert.match(paper.text, /North range\s+Lane 1\s+90 minutes · \d\d:\d\d\s+Your lane and your time/);
  assert.doesNotMatch(paper.text, /Jo/);
  assert.equal(await scan(page, page.locator("#receipt img")), address);
  if (process.env.PICTURES) {
    await page.screenshot({ path: `${process.env.PICTURES}/receipt.png`, clip: { x: 0, y: 0, width: 320, height: 420 } });
  }
  const pdf = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
  const boxes = [...pdf.matchAll(/\/MediaBox \[([^\]]*)\]/g)].map(([, box]) => box.split(" ").map(Number));
  assert.equal(boxes.length, 1, "one page");
  assert.ok(Math.abs(boxes[0][2] - 80 * 72 / 25.4) < 1, String(boxes));
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  await page.emulateMedia({ media: "screen" });
  await staff.panel.getByRole("heading", { name: "Lane 1 · Jo Smith" }).waitFor();

  tell("A pause and a ceasefire, in German too: as red as on the lane screen");
  const anna = await open(await device({ ...telephone, locale: "de-DE" }), address);
  await inState(anna, "running");
  await staff.panel.getByRole("button", { name: "Pause" }).tap();
  await inState(jo, "paused");
  await look(jo, "telephone: paused");
  await staff.panel.getByRole("button", { name: "Resume" }).tap();
  await inState(jo, "running");
  await staff.beginCeasefire();
  for (const [screen, word] of [[jo, "CEASEFIRE"], [anna, "FEUER EINSTELLEN"]]) {
    await inState(screen, "ceasefire");
    await look(screen, `telephone: ${word}`);
    await new Lane().isRed.call({ page: screen }, word);
  }
  await staff.endCeasefire();
  await inState(jo, "running");

  tell("It follows the session to another lane; in the last minutes its digits have the colours of the lane screen");
  await staff.move(4);
  await jo.getByRole("heading", { level: 1, name: "Lane 4", exact: true }).waitFor();
  const lane = await Lane.at(4);
  const colour = () => jo.locator(".left").evaluate((of) => getComputedStyle(of).color);
  const colours = [await colour()];
  for (const [minutes, warning] of [[4, "Less than 5 minutes left"], [0.9, "Last minute"]]) {
    for (const scheme of ["dark", "light"]) {
      await runDown(4, minutes);
      await jo.locator(".warning", { hasText: warning }).waitFor();
      await lane.page.locator(minutes > 1 ? "body[data-soon]" : "body[data-last]").waitFor();
      if (scheme === "dark") { // both pages are light still
        colours.push(await colour());
        assert.equal(colours.at(-1), await lane.digits());
      }
      await look(jo, `telephone: ${warning}`, [scheme]);
      await pos("POST", `/sessions/${running}/modify?time=60`); // a look takes its time
      await jo.locator(".warning", { hasText: warning }).waitFor({ state: "hidden" });
      await lane.page.locator("body:not([data-soon]):not([data-last])").waitFor();
    }
  }
  await runDown(4, 29);
  assert.equal(new Set(colours).size, 3, String(colours));

  tell("The gateway is killed: the telephone says so, and is right again as soon as it is back, at the same address");
  await changeWorld("/gateway/kill");
  await jo.getByText("No contact with the range since").waitFor();
  await changeWorld("/gateway/start");
  await jo.getByText("No contact with the range since").waitFor({ state: "hidden" });
  await jo.reload();
  await jo.getByText(/^2\d:\d\d$/).waitFor();

  tell("After the end it says so, also when it is opened again; in a while there is nothing");
  await pos("POST", `/sessions/${running}/stop`);
  await jo.getByRole("heading", { name: "The session has ended" }).waitFor();
  await look(jo, "telephone: ended");
  await jo.reload();
  await jo.getByRole("heading", { name: "The session has ended" }).waitFor();
  await anna.getByRole("heading", { name: "Die Sitzung ist beendet" }).waitFor();
  await anna.route("**/stream", (route) => route.fulfill({ status: 410, json: { code: "page_gone", error: "", trace_id: "" } }));
  await anna.reload();
  await anna.getByRole("heading", { name: "Hier ist nichts mehr" }).waitFor();
  const forged = address.slice(0, -1) + (address.endsWith("A") ? "Q" : "A");
  assert.equal((await jo.goto(forged)).status(), 404);
  await look(jo, "telephone: nothing here");
  assert.equal((await (await fetch(`${forged}/stream`)).json()).code, "page_gone");
  requireAccessible();
});
