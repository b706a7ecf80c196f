// An operator at the page of the observer: with the token alone, which actors are in trouble and why, what changes by itself, what one
// lane was asked, in light and dark, in German, by keyboard, on a telephone, and when the gateway is gone.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { look as lookAt, requireAccessible } from "./look.mjs";
import { PATIENCE, device, eventually, open, scene, story, tell } from "./story.mjs";
import { ask, changeWorld, linked, order, pos, sell } from "./pos.mjs";

await story(async () => {
  await linked();
  const { session_id: session } = await sell(1, "Jo Smith");
  await pos("POST", `/sessions/${session}/pause`);
  await pos("POST", `/sessions/${session}/pause`, undefined, 409);

  const context = await device();
  const page = await open(context, `${scene.operations}/actors`);
  const rows = (table) => page.getByRole("table", { name: table }).getByRole("row");
  const actors = page.locator(".actor");
  // actor is what the table has of an actor: its row, and why it is stuck.
  const actor = (...texts) => texts.reduce((found, text) => found.filter({ hasText: text }), actors);
  const summary = page.locator(".summary");
  const choice = (name) => page.getByRole("combobox", { name, exact: true });
  const query = () => new URL(page.url()).search;
  const look = (what) => lookAt(page, what);
  // holdBack keeps the next request of a page to an address back. answer(json) has it answered with that, or without any by the gateway, and waits
  // until the page has the answer.
  const holdBack = async (of, address) => {
    let release, ask;
    const released = new Promise((resolve) => (release = resolve));
    const asked = new Promise((resolve) => (ask = resolve)); // by the route: until it has the request, a later route may take it
    await of.route(address, async (route) => {
      ask(route.request());
      const json = await released;
      await (json ? route.fulfill({ json }) : route.continue());
    }, { times: 1 });
    return {
      asked,
      async answer(json) {
        release(json);
        await (await (await asked).response()).finished();
        await of.evaluate(() => new Promise(requestAnimationFrame));
      },
    };
  };
  // confirm presses a button twice, until what it asks for is asked.
  const confirm = async (of, name, sure, asked) => {
    let sent = false;
    asked.then(() => (sent = true));
    await of.getByRole("button", { name, exact: true }).click();
    await eventually("the second click", async () => {
      await of.getByRole("button", { name: sure }).click({ timeout: 1_000 }).catch(() => {});
      return sent;
    });
  };

  tell("Nobody sees anything without the token");
  const token = page.getByLabel("Operations token");
  await token.waitFor();
  assert.equal(new URL(page.url()).pathname, "/observer", "an old bookmark leads to the page");
  assert.equal(await page.getByText("Lane 1").count(), 0);
  await token.fill("a wrong one");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("That is not the operations token.").waitFor();
  await look("token");

  tell("While nothing is in trouble the page says so");
  await token.fill(scene.operator);
  await page.keyboard.press("Enter");
  await summary.filter({ hasText: /^Nothing is in trouble: \d+ actors\.$/ }).waitFor();
  for (const name of ["North range", "South range", "Lane 1", "Lane 99"]) {
    await actor(name).first().waitFor();
  }
  assert.deepEqual((await page.locator("#main h2").allTextContents()).slice(0, 2), ["Actors", "The tree"], "behind the facts the actors come first");
  assert.equal(await page.getByRole("heading", { name: "Advisories" }).count(), 0);

  tell("A link that is lost is the first row, with the reason, by itself");
  await changeWorld("/lane/6/off");
  const link = actor("Lane 6", "connection", "No connection");
  await link.waitFor();
  await summary.filter({ hasText: "in trouble" }).filter({ hasNotText: "Nothing" }).waitFor();
  assert.match(await actors.first().textContent(), /Lane 6/);
  const sentence = () => link.locator(".why p").textContent();
  assert.match(await sentence(), /^No connection to .+ for (\d+ min )?\d+ s.*\.$/);
  const before = await sentence();
  await eventually("the sentence goes on", async () => (await sentence()) !== before);
  await look("actors");

  tell("What lasts is an advisory above the actors, and leads to its lane");
  const advisory = page.locator(".advisories li", { hasText: "The controller is not in order" });
  await advisory.waitFor();
  assert.match(await advisory.textContent(), /^Warning: The controller is not in order Lane 6 · North range · since /);
  await page.getByText("1 advisory.", { exact: true }).waitFor();
  assert.match(await advisory.getByRole("link", { name: "Lane 6" }).getAttribute("href"), /^\/observer\/lanes\//);
  assert.equal((await page.locator("#main h2").allTextContents())[0], "Advisories");
  await look("advisories");

  tell("Only what is in trouble; the address says so and may be sent");
  await page.getByLabel("Only what is in trouble").check();
  await actor("Lane 1").first().waitFor({ state: "detached" });
  await link.waitFor();
  assert.equal(query(), "?trouble=true");
  await page.reload();
  await link.waitFor();
  assert.equal(await page.getByLabel("Only what is in trouble").isChecked(), true);
  assert.equal(await actor("Lane 1").count(), 0);

  tell("A link flaps: it comes and goes by itself");
  await changeWorld("/lane/5/off");
  await actor("Lane 5", "No connection").waitFor();
  await changeWorld("/lane/5/on");
  await actor("Lane 5", "No connection").waitFor({ state: "detached", timeout: 3 * PATIENCE }); // one that was not in order is dialled again later
  await page.getByLabel("Only what is in trouble").uncheck();
  await actor("Lane 1").first().waitFor();
  assert.equal(query(), "");

  tell("By kind, by state, by a search and in another order");
  await choice("Kind").selectOption("Connections");
  await eventually("connections alone", async () => (await page.locator(".actor th small").allTextContents()).every((kind) => kind.startsWith("connection")));
  assert.equal(await actor("Lane 6").count(), 1);
  const state = choice("State");
  await state.locator("option", { hasText: /^up \(\d+\)$/ }).waitFor({ state: "attached" });
  await state.selectOption("up");
  await actor("Lane 6").waitFor({ state: "detached" });
  await actor("Lane 4").waitFor();
  await choice("Kind").selectOption("Lanes");
  assert.equal(query(), "?kind=lane", "no lane is up");
  await page.getByLabel("Search").fill("lane 9");
  await actor("Lane 1").waitFor({ state: "detached" });
  assert.equal(await actors.count(), 1);
  await actor("Lane 99", "South range").waitFor();
  await page.getByLabel("Search").fill("no such lane");
  await summary.filter({ hasText: "No actor is like that." }).waitFor();
  await page.getByLabel("Search").fill("");
  await choice("Sorted by").selectOption("late timers");
  await actor("Lane 1").waitFor();
  assert.equal(query(), "?kind=lane&sort=lateness");
  await choice("Sorted by").selectOption("trouble");
  await choice("Kind").selectOption("all kinds");

  tell("A store that hangs: who waits for it, and for how long");
  const saving = actor("Lane 3", "lane", /It has been saving “create” for (\d+ min )?\d+ s/);
  let sold;
  await eventually("a sale is being saved", async () => {
    await changeWorld("/store/hang");
    sold = ask("POST", "/sessions", order(3, "Ann Lee")); // it may take longer than a request may
    const refused = sold.then(({ text }) => text.includes("store_unavailable") || new Promise(() => {}));
    if (await Promise.race([refused, saving.waitFor().then(() => false)])) { // something else was being saved for longer than a second
      await changeWorld("/store/wake");
      await pos("POST", `/sessions/${(await sell(3, "Ann Lee")).session_id}/stop`); // it saves again
      return false;
    }
    return true;
  });
  await saving.locator(".state", { hasText: "saving" }).waitFor();
  await changeWorld("/store/wake");
  await saving.waitFor({ state: "detached" });
  await sold;

  tell("The focus and what is scrolled stay while the rows change");
  const focused = actor("Lane 1", "lane").first().getByRole("link");
  await focused.focus();
  const scrolled = await page.evaluate(() => {
    document.activeElement.scrollIntoView({ block: "center" });
    return scrollY;
  });
  await page.evaluate(() => {
    window.redrawn = 0;
    new MutationObserver(() => window.redrawn++).observe(document.querySelector(".actor").parentElement, { subtree: true, childList: true, characterData: true });
  });
  await pos("POST", `/sessions/${session}/resume`);
  await pos("POST", `/sessions/${session}/pause`);
  await page.waitForFunction(() => window.redrawn > 3);
  assert.equal(await focused.evaluate((of) => of === document.activeElement), true);
  assert.ok(Math.abs(await page.evaluate(() => scrollY) - scrolled) < 200);
  const moved = actor("Lane 4", "connection").getByRole("link");
  await moved.focus();
  await changeWorld("/lane/4/off");
  await actor("Lane 4", "No connection").waitFor();
  assert.equal(await moved.evaluate((of) => of === document.activeElement), true, "its row has become one of the first");

  tell("The tree, and what is not in order");
  const lanes = rows("The tree").filter({ has: page.getByRole("rowheader", { name: "lane", exact: true }) });
  assert.equal(await lanes.getByRole("cell").first().textContent(), "7", "of both ranges");
  await rows("Links that are not in order").filter({ hasText: "Lane 6" }).waitFor();
  assert.equal(await rows("Ranges").count(), 3);
  await look("overview");

  tell("One range");
  await page.getByRole("table", { name: "Ranges" }).getByRole("link", { name: "South range" }).click();
  await page.getByRole("navigation").getByText("South range").waitFor();
  assert.equal(await lanes.getByRole("cell").first().textContent(), "1");
  await page.getByText("Every link is up").waitFor();
  await page.getByText("Lanes that wait for a session").waitFor();
  await actor("Lane 99").first().waitFor();
  assert.equal(await actor("Lane 1").count(), 0);
  tell("An operator has events sent again, with a second click, of the range that is chosen");
  const replay = page.getByRole("button", { name: /^Send them again/ });
  await replay.click();
  assert.equal(await page.getByLabel("Behind cursor").evaluate((of) => of.validity.valueMissing), true);
  await page.getByLabel("Behind cursor").fill("0");
  await page.getByLabel("Up to cursor").fill("1000");
  await page.getByLabel("Webhook (of several)").fill("nobody's");
  const sendAgain = async (outcome) => {
    await replay.click();
    await eventually("the second click", async () => {
      await page.getByRole("button", { name: "Send them again: sure?" }).click({ timeout: 1_000 }).catch(() => {});
      return await page.getByText(outcome).count() > 0;
    });
  };
  await choice("Range").selectOption("North range");
  await page.getByRole("navigation").getByText("North range").waitFor();
  await sendAgain("Nothing was done: the range has no such webhook.");
  await page.getByLabel("Webhook (of several)").fill("");
  await sendAgain(/^Sent again: [1-9]\d*\.$/);
  await look("events sent again");
  await page.getByRole("button", { name: "Read how they are" }).click();
  const flush = page.locator(".facts div", { hasText: "Last flush" });
  await flush.filter({ hasText: /in .* ms, number \d+/ }).waitFor();
  await page.locator(".facts div", { hasText: "Owner" }).filter({ hasText: /this gateway, epoch \d+/ }).waitFor();
  await page.getByRole("table", { name: /^Webhook/ }).getByRole("row").filter({ hasText: "delivered" }).first().waitFor();
  await look("store, owner and webhooks");
  await page.getByRole("button", { name: "Connect to it" }).click();
  await eventually("the second click", async () => {
    await page.getByRole("button", { name: "Connect to it: sure?" }).click({ timeout: 1_000 }).catch(() => {});
    return await page.getByText(/^http:.* is reached in .* ms, without TLS\.$/).count() > 0;
  });
  const debug = async () => {
    await page.getByRole("button", { name: "Log at debug for 10 minutes" }).click();
    await eventually("the second click", async () => {
      await page.getByRole("button", { name: "Log at debug: sure?" }).click({ timeout: 1_000 }).catch(() => {});
      return await page.getByText(/^It is logged at debug until /).count() > 0;
    });
  };
  await debug();
  await page.getByRole("navigation").getByText("North range").waitFor();
  await actor("Lane 1").first().waitFor();
  await choice("Range").selectOption("all ranges");
  await rows("Ranges").nth(2).waitFor();

  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    (async () => {
      await page.getByRole("button", { name: "Download the heap" }).click();
      await eventually("the second click", async () => {
        await page.getByRole("button", { name: "Download the heap: sure?" }).click({ timeout: 1_000 }).catch(() => {});
        return await page.getByText("It is saved.").count() === 1;
      });
    })(),
  ]);
  assert.equal(saved.suggestedFilename(), "rangegate-heap.pprof");

  tell("An operator has the store verified, and learns why the gateway backs no Redis up");
  const maintain = async (name, sure, outcome) => {
    await page.getByRole("button", { name, exact: true }).click();
    await eventually("the second click", async () => {
      await page.getByRole("button", { name: sure }).click({ timeout: 1_000 }).catch(() => {});
      return await page.getByText(outcome).count() > 0;
    });
  };
  await page.getByText("No backup was made here since the gateway started.").waitFor();
  await maintain("Back up now", "Back up now: sure?", "Nothing was done: the store is a Redis server, which is backed up with its own means.");
  await maintain("Verify the last 24 hours", "Verify them: sure?", /^No differences, .* for \S+: \d+ sessions/);
  await look("maintenance");

  tell("Where nodes are configured, an operator drains one, with a second click");
  assert.equal(await page.getByRole("heading", { name: "Nodes", exact: true }).count(), 0, "here there are none");
  const several = await open(context, `${scene.operations}/observer`);
  const node = (name, here, draining) => ({ name, here, draining, version: "1.0", ranges: 3, refusing: "" });
  let drained = false;
  await several.route("**/nodes", (route) => route.fulfill({ json: { nodes: [node("north-1", true, false), node("north-2", false, drained)], ranges_unowned: 0 } }));
  await several.route("**/nodes/north-2/drain", (route) => {
    drained = route.request().method() === "POST";
    return route.fulfill({ status: 204 });
  });
  await several.getByLabel("Operations token").fill(scene.operator);
  await several.keyboard.press("Enter");
  const nodeRow = several.getByRole("table", { name: "Nodes" }).getByRole("row", { name: "north-2" });
  await eventually("the second click", async () => {
    await nodeRow.getByRole("button", { name: "Drain it" }).click({ timeout: 1_000 }).catch(() => {});
    return drained;
  });
  await nodeRow.getByText("drained").waitFor();
  await lookAt(several, "nodes");
  const give = several.getByRole("button", { name: "Give the range to another node" });
  assert.equal(await give.isVisible(), false, "no range is chosen");
  await several.route("**/observer/drain?range=*", (route) => route.fulfill({ status: 202, json: { node: "north-2" } }));
  await several.getByRole("combobox", { name: "Range", exact: true }).selectOption("North range");
  await give.click();
  await eventually("the second click", async () => {
    await several.getByRole("button", { name: "Give it away: sure?" }).click({ timeout: 1_000 }).catch(() => {});
    return await several.getByText("The range goes to north-2.").count() === 1;
  });

  tell("What came of an action stands below its own range alone, and what is confirmed for one range or webhook is not done to another");
  const choose = async (name) => {
    await several.getByRole("combobox", { name: "Range", exact: true }).selectOption(name);
    await several.getByRole("navigation").getByText(name).waitFor();
  };
  const press = (button) => button.evaluate((of) => of.click()); // as in a browser whose buttons get no focus from a press, and lose none
  await choose("South range");
  assert.equal(await several.getByText("The range goes to").count(), 0);
  await press(give);
  const sure = several.getByRole("button", { name: "Give it away: sure?" });
  await sure.waitFor();
  await choose("North range");
  assert.equal(await sure.count(), 0);
  const tested = [];
  await several.route("**/observer/webhooks/test?*", (route) => {
    tested.push(new URL(route.request().url()).searchParams.get("webhook"));
    return route.fulfill({ json: { reached: true, server: "http://pos.example", tls: null, duration_ms: 1, error: null } });
  });
  const connect = several.getByRole("button", { name: /^Connect to it/ });
  await press(connect);
  await several.getByLabel("Webhook to test (of several)").fill("pos");
  await eventually("the second press", async () => (await connect.textContent()) === "Connect to it" || press(connect));
  await confirm(several, "Connect to it", "Connect to it: sure?", several.waitForRequest("**/observer/webhooks/test?*webhook=pos"));
  await several.getByText(/^http:\/\/pos\.example is reached/).waitFor();
  assert.deepEqual(tested, ["pos"]);

  tell("Events are sent again on from where the gateway has come, unless another part or another range is chosen meanwhile");
  const behind = several.getByLabel("Behind cursor");
  await behind.fill("0");
  await several.getByLabel("Up to cursor").fill("1000");
  const sendThem = async (meanwhile) => {
    const sending = await holdBack(several, "**/observer/redeliver?range=*");
    await confirm(several, "Send them again", "Send them again: sure?", sending.asked);
    await meanwhile();
    await sending.answer({ events: 3, next: "500" });
  };
  const sent = several.getByText("Sent again: 3. There are more behind cursor 500.");
  await sendThem(() => choose("South range"));
  assert.equal(await behind.inputValue(), "0");
  assert.equal(await sent.count(), 0);
  await sendThem(() => behind.fill("7"));
  await sent.waitFor();
  assert.equal(await behind.inputValue(), "7");
  await sendThem(() => {});
  await sent.waitFor();
  await eventually("on from 500", async () => (await behind.inputValue()) === "500");

  tell("What is found in one range, or read of it, does not stay below the next one");
  const nothing = { at: new Date(), trace_id: "", answer: null, not_on_record: [], commands: [], events: [], acts: [], searched_since: new Date(), next: "further" };
  const further = several.getByRole("button", { name: "Search further back" });
  const search = async () => {
    const searching = await holdBack(several, "**/observer/requests?*");
    await several.getByLabel("Trace id or idempotency key").fill("a key of nobody");
    await several.keyboard.press("Enter");
    await searching.asked;
    return searching;
  };
  await (await search()).answer(nothing);
  await further.waitFor();
  await several.getByRole("button", { name: "Read how they are" }).click();
  const lastFlush = several.locator(".facts div", { hasText: "Last flush" });
  await lastFlush.waitFor();
  await choose("North range");
  assert.equal(await further.isVisible(), false);
  assert.equal(await lastFlush.count(), 0);
  const older = await search();
  await (await search()).answer(nothing);
  await further.waitFor();
  await older.answer({ ...nothing, next: null });
  assert.ok(await further.isVisible(), "the answer to the search before comes too late");
  const searching = await search();
  await choose("South range");
  await searching.answer(nothing);
  assert.equal(await further.isVisible(), false);
  await several.route("**/observer/requests?*", (route) => route.abort(), { times: 1 });
  await several.getByLabel("Trace id or idempotency key").press("Enter");
  await several.getByText("The gateway did not answer.").waitFor();
  const reading = await holdBack(several, "**/observer/range?*");
  await several.getByRole("button", { name: "Read how they are" }).click();
  await reading.asked;
  await several.getByRole("button", { name: "Forget the token" }).click();
  await reading.answer();
  await several.getByLabel("Operations token").fill(scene.operator);
  await several.keyboard.press("Enter");
  await several.getByRole("navigation").getByText("South range").waitFor();
  assert.equal(await lastFlush.count(), 0);
  await several.close();

  tell("One lane, by keyboard, with what it was asked");
  const slowest = page.getByRole("table", { name: "The slowest commands" }).getByRole("link", { name: "Lane 1" });
  await slowest.waitFor();
  await slowest.focus();
  await page.waitForResponse((response) => response.url().endsWith("/observer")); // it is drawn anew under the focus
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Lane 1");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Lane 1, North range" }).waitFor();
  await actor("Lane 1", "lane", "ready").waitFor();
  await actor("Lane 1", "connection", "up").waitFor();
  const commands = rows("The latest commands");
  await commands.filter({ hasText: "not_running" }).waitFor();
  assert.deepEqual((await commands.locator("td:nth-child(3)").allTextContents()).slice(-3), ["pause", "pause", "create"]);
  assert.match(await commands.nth(1).textContent(), /[0-9a-f]{32}/, "the trace id");
  assert.equal(await page.getByText("Jo Smith").count(), 0, "customers have no name here");
  await look("lane");

  const fact = (term) => page.locator(".facts div").filter({ has: page.getByRole("term").getByText(term, { exact: true }) }).getByRole("definition");
  assert.match(await fact("Wanted of the hardware").textContent(), /^not held, paused with \d+(\.\d+)? min left then, since .*: in force$/);
  assert.match(await fact("State of the hardware").textContent(), /^not held, paused with .*: its controller has confirmed it$/);
  assert.match(await fact("Controller").textContent(), /^connected since .*; firmware sim; at 127\.0\.0\.1:\d+; capabilities: open_end$/);

  tell("What is on record of the lane is below it, newest first, and is read again when somebody asks");
  const recorded = rows("What is on record");
  await recorded.filter({ hasText: "sessionPaused" }).filter({ hasText: "follows from pause" }).first().waitFor();
  await recorded.filter({ hasText: "command" }).filter({ hasText: "not_running" }).waitFor();
  await recorded.filter({ hasText: "link" }).filter({ hasText: "up" }).first().waitFor();
  assert.match(await recorded.last().textContent(), /restart.*range/, "what this process remembers begins there");
  assert.equal(await recorded.filter({ hasText: "sessionStopped" }).count(), 0);
  await page.getByText(/^As of .* are remembered since /).waitFor();
  await look("timeline");

  tell("A trace id leads to all that is on record of its request, and the search finds it too");
  const trace = await commands.filter({ hasText: "create" }).getByRole("link").textContent();
  const asked = await open(context, `${scene.operations}${await commands.filter({ hasText: "create" }).getByRole("link").getAttribute("href")}`);
  await asked.getByLabel("Operations token").fill(scene.operator);
  await asked.keyboard.press("Enter");
  const rowOf = (table, ...texts) => texts.reduce((found, text) => found.filter({ hasText: text }), asked.getByRole("table", { name: table }).getByRole("row"));
  await rowOf("What was asked", "Lane 1", "create", "POS", "ok").waitFor();
  await rowOf("Events and deliveries", "sessionCreated, 1", "delivered").first().waitFor();
  await rowOf("Events and deliveries", "sessionStarted, 2", "sessionCreated, 1").first().waitFor();
  assert.equal(await asked.getByLabel("Trace id or idempotency key").inputValue(), trace);
  await lookAt(asked, "one request");
  await asked.getByLabel("Trace id or idempotency key").fill("a key of nobody");
  await asked.keyboard.press("Enter");
  await asked.getByText("Nothing of it is on record.").waitFor();
  assert.equal(await rowOf("What was asked").count(), 0);
  await asked.close();

  tell("The lane as it would be saved names nobody, but with a second click, on record");
  const snapshot = page.locator("pre.snapshot");
  await page.getByRole("button", { name: "Show it", exact: true }).click();
  await snapshot.filter({ hasText: session }).waitFor();
  assert.equal(await snapshot.getByText("Jo Smith").count(), 0);
  await look("snapshot");

  tell("Names that come when the operator has gone are not shown to the next one, nor what the gateway said to the one before");
  const names = await holdBack(page, /\/snapshot\?.*names/);
  await confirm(page, "Show it with names", "On record: show it with names?", names.asked);
  await page.getByRole("button", { name: "Forget the token" }).click();
  await names.answer();
  await token.fill(scene.operator);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Lane 1, North range" }).waitFor();
  await page.getByRole("button", { name: "Show it", exact: true }).waitFor();
  assert.equal(await snapshot.isVisible(), false);
  assert.equal(await page.getByText("Jo Smith").count(), 0);
  assert.equal(await page.getByText(/^As of .* saved/).count(), 0);

  tell("It names them to whoever asks, with a second click");
  await page.getByRole("button", { name: "Show it with names" }).click();
  await eventually("the second click", async () => {
    await page.getByRole("button", { name: "On record: show it with names?" }).click({ timeout: 1_000 }).catch(() => {});
    return await snapshot.filter({ hasText: "Jo Smith" }).count() === 1;
  });
  await page.getByRole("button", { name: "Show it", exact: true }).click();
  await snapshot.filter({ hasNotText: "Jo Smith" }).waitFor();
  await page.getByRole("button", { name: "Read it again" }).click();
  await recorded.filter({ hasText: "read_names" }).filter({ hasText: scene.operator }).nth(1).waitFor(); // both times

  tell("An operator follows what goes over the link, with a second click, on record");
  await page.getByRole("button", { name: "Follow the frames of the link" }).click();
  await eventually("the second click", async () => {
    await page.getByRole("button", { name: "On record: follow them?" }).click({ timeout: 1_000 }).catch(() => {});
    return await page.getByText(/^Followed until /).count() === 1;
  });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Stop following", "the button is another one now");
  await page.getByText("Nothing was said yet.").waitFor();

  tell("An operator has the link made anew, with a second click");
  await page.getByRole("button", { name: "Make the link anew" }).click();
  await eventually("the second click", async () => {
    await page.getByRole("button", { name: "Make it anew: sure?" }).click({ timeout: 1_000 }).catch(() => {});
    return await page.getByText(/^Asked for at /).count() === 1;
  });
  await actor("Lane 1", "connection", "up").waitFor();
  await page.getByText(/made anew [1-9]\d* time/).waitFor();

  tell("What the link has said since is there, and neither a customer's name nor what a side proves itself by");
  const frames = rows("Frames of the link");
  const said = (...texts) => texts.reduce((found, text) => found.filter({ hasText: text }), frames).first();
  await said("to the controller", "hello", '"challenge":"(redacted)"').waitFor();
  await said("from it", "hello", '"proof":"(redacted)"', "127.0.0.1:").waitFor();
  await said("to the controller", "state", '"customer_name":"(redacted)"', session).waitFor();
  await said("from it", "applied", '"revision":1').waitFor();
  assert.equal(await frames.filter({ hasText: "pong" }).count(), 0);
  await page.getByLabel("With pings").check();
  await said("from it", "pong").waitFor();
  assert.equal(await page.getByText("Jo Smith").count(), 0);
  await look("frames of a link");
  await page.getByRole("button", { name: "Stop following" }).click();
  await page.getByText(/^Stopped at /).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Follow the frames of the link");
  await said("to the controller", "hello").waitFor();
  await page.getByRole("button", { name: "Read it again" }).click();
  await recorded.filter({ hasText: "follow_frames" }).filter({ hasText: scene.operator }).waitFor();

  await debug();

  tell("An operator has the lane's actor restarted, likewise; a lane that is not parked is not offered another try");
  const parked = page.getByRole("button", { name: "Try the parked lane now", includeHidden: true });
  assert.equal(await parked.count(), 1);
  assert.equal(await parked.isVisible(), false);
  await page.route("**/restart*", (route) => route.fulfill({ status: 409, contentType: "application/problem+json", body: JSON.stringify({ code: "lane_parked" }) }), { times: 1 });
  const restart = async (outcome) => {
    const before = await page.getByText(outcome).count(); // of another button
    await page.getByRole("button", { name: "Restart the lane's actor" }).click();
    await eventually("the second click", async () => {
      await page.getByRole("button", { name: "Restart it: sure?" }).click({ timeout: 1_000 }).catch(() => {});
      return await page.getByText(outcome).count() > before;
    });
  };
  await restart("Nothing was done: the lane is parked.");
  const messages = commands.count();
  await restart(/^Asked for at .*$/);
  await actor("Lane 1", "lane", "ready").waitFor();
  await actor("Lane 1", "connection", "up").waitFor();
  assert.equal(await commands.count(), await messages, "it forgets no command");
  await page.getByRole("button", { name: "Read it again" }).click();
  await recorded.filter({ hasText: "restart" }).filter({ hasText: scene.operator }).waitFor();

  tell("What happens next is there by itself");
  const staff = await Control.signedIn("sam");
  await staff.stop(1);
  await commands.filter({ hasText: "staff: sam" }).filter({ hasText: "stop" }).waitFor();
  await recorded.filter({ hasText: "sessionStopped" }).filter({ hasText: /staff: .* of 60 min used/ }).waitFor();
  await page.getByRole("button", { name: "Read it again" }).click();
  await recorded.filter({ hasText: "staff: sam" }).filter({ hasText: "stop" }).waitFor();
  await recorded.filter({ hasText: "reconnect" }).filter({ hasText: scene.operator }).waitFor();
  await changeWorld("/lane/1/off");
  await actor("Lane 1", "connection", "No connection").waitFor();
  assert.equal((await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)), true);

  tell("On a telephone");
  await page.setViewportSize({ width: 390, height: 844 });
  await look("telephone");
  const small = await open(context, `${scene.operations}/observer?trouble=true`);
  await small.getByLabel("Operations token").fill(scene.operator); // the token is a tab's
  await small.setViewportSize({ width: 390, height: 844 });
  await small.keyboard.press("Enter");
  const reason = small.locator(".actor", { hasText: "Lane 6" }).locator(".why p");
  await reason.waitFor();
  await reason.scrollIntoViewIfNeeded();
  const { x, width } = await reason.boundingBox();
  assert.ok(x >= 0 && x + width <= 390, "why it is stuck is read without scrolling the table");
  await lookAt(small, "actors on a telephone");
  await page.setViewportSize({ width: 1280, height: 900 });

  tell("The newest dump of the flight recorder");
  const dump = small.getByRole("link", { name: "Newest dump" });
  await dump.click();
  await small.getByText("There is none: no session was stopped late").waitFor();
  await small.route("**/debug/flight/newest", (route) => route.fulfill({ body: "go 1.26 trace" }));
  const [dumped] = await Promise.all([small.waitForEvent("download"), dump.click()]);
  assert.equal(dumped.suggestedFilename(), "flight.trace");

  tell("An operator follows the log, filtered by the gateway; the address has the filter and may be sent");
  const log = await open(context, `${scene.operations}/observer`);
  await log.getByLabel("Operations token").fill(scene.operator);
  await log.keyboard.press("Enter");
  await log.getByRole("link", { name: "Follow the log" }).click();
  await log.getByRole("heading", { name: "Log", exact: true }).waitFor();
  const line = (...texts) => texts.reduce((found, text) => found.filter({ hasText: text }), log.locator(".log .line"));
  // shown waits for lines and texts, and has done again what they tell of: what is written while the page connects anew is not shown.
  const shown = (again, ...texts) => eventually("it is in the log", async () => {
    const isThere = await Promise.all(texts.map((text) => text.first().waitFor({ timeout: 10_000 }))).then(() => true, () => false);
    isThere || (await again());
    return isThere;
  }, 3 * PATIENCE);
  // setLink turns the controller of lane 5 on or off, and waits until the gateway knows it.
  const setLink = async (to) => {
    await changeWorld(`/lane/5/${to}`);
    await eventually(`its link is ${to}`, async () => ((await pos("GET", "/lanes/status"))[4].link === "up") === (to === "on"), 3 * PATIENCE); // one that was not in order is dialled again later
  };
  const pick = (name, option) => log.getByRole("combobox", { name, exact: true }).selectOption(option);
  await log.getByText(/^Since .*: \d+ lines?, and 0 that do not match\.$/).waitFor();
  await log.getByText("Nothing below level info is written now. One range or lane is logged at debug until").waitFor();
  const saleAndStop = async () => pos("POST", `/sessions/${(await sell(5, "Ann Lee")).session_id}/stop`);
  await saleAndStop();
  await shown(saleAndStop, line("info", "command", "command=create", "result=ok"), line("info", "request", "status=201"));
  assert.equal(await log.getByText("Ann Lee").count(), 0, "customers have no name here either");
  await lookAt(log, "log");
  await pick("Lowest level", "warn");
  assert.equal(await line("request").count(), 0, "what does not match is not shown any more");
  await pick("Range", "North range");
  await pick("Lane", "Lane 5");
  await log.getByLabel("Text").fill("LINK down");
  await eventually("the address has the filter", () => /^\?range=[0-9a-f-]+&lane=[0-9a-f-]+&text=LINK\+down&level=warn$/.test(new URL(log.url()).search));
  await log.reload();
  assert.equal(await log.getByLabel("Text").inputValue(), "LINK down");
  await log.getByText(/^Since .*: 0 lines, /).waitFor();
  await log.locator("option", { hasText: "Lane 5" }).waitFor({ state: "attached" });
  await setLink("off");
  await shown(() => setLink("on").then(() => setLink("off")), line("warn", "link down"), log.getByText(/^Since .*: [1-9]\d* lines?, and [1-9]/));
  assert.match(await line("link down").first().getByRole("link").first().getAttribute("href"), /^\/observer\/lanes\//);

  tell("It is paused, and goes on with what has come meanwhile");
  await log.getByLabel("Text").fill("");
  await pick("Lowest level", "debug");
  await log.getByText(/^Since .* match\.$/).waitFor();
  await log.getByRole("button", { name: "Pause" }).click();
  const drawn = await line().count();
  await setLink("on");
  await log.getByText(/Paused: [1-9]\d* lines? waits?\.$/).waitFor();
  assert.equal(await line().count(), drawn);
  await log.getByRole("button", { name: "Go on" }).click();
  await shown(() => setLink("off").then(() => setLink("on")), line("info", "link up"));
  await log.setViewportSize({ width: 390, height: 844 });
  assert.equal(await log.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  await lookAt(log, "log on a telephone");

  tell("Whoever is one too many is told");
  const many = await open(context, `${scene.operations}/observer/log`);
  await many.route("**/observer/log", (route) => (route.request().headers().accept.includes("event-stream") ? route.fulfill({ status: 503, json: { code: "overloaded" } }) : route.fallback()));
  await many.getByLabel("Operations token").fill(scene.operator);
  await many.keyboard.press("Enter");
  await many.getByText("Too many follow the log of this node. It is tried again.").waitFor();
  await many.unroute("**/observer/log");
  await many.getByText(/^Since .* match\.$/).waitFor();
  assert.equal(await many.getByText("Too many follow").isVisible(), false);
  await many.close();

  tell("Whoever wants German gets German");
  const seite = await open(await device({ locale: "de-DE" }), `${scene.operations}/observer`);
  await seite.getByLabel("Betriebs-Token").fill(scene.operator);
  await seite.getByRole("button", { name: "Anzeigen" }).click();
  const row = seite.locator(".actor", { hasText: "Lane 6" }).filter({ hasText: "Verbindung" });
  await row.locator(".why p", { hasText: /^Keine Verbindung zu .+ seit (\d+ min )?\d+ s/ }).waitFor();
  assert.equal(await seite.locator("html").getAttribute("lang"), "de");
  await seite.getByLabel("Nur was gestört ist").check();
  await seite.getByRole("table", { name: "Der Baum" }).waitFor();
  await seite.locator(".advisories li", { hasText: /^Warnung: Die Steuerung ist nicht in Ordnung Lane 6 · North range · seit / }).waitFor();
  await lookAt(seite, "actors in German");
  await row.getByRole("link").click();
  await seite.getByRole("heading", { name: "Lane 6, North range" }).waitFor();
  await row.locator(".why p", { hasText: "Keine Verbindung" }).waitFor();
  await lookAt(seite, "lane in German");

  await seite.goto(`${scene.operations}/observer/log`);
  await seite.getByText(/^Seit .*: \d+ Zeilen?, und 0, die nicht passen\.$/).waitFor();
  await lookAt(seite, "log in German");

  tell("The token is this tab's");
  const another = await open(context, `${scene.operations}/observer`);
  await another.getByLabel("Operations token").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Lane 1, North range" }).waitFor();

  tell("No contact");
  await changeWorld("/gateway/kill");
  await page.getByText("No contact with the gateway").waitFor();
  assert.ok(await commands.count() > 1, "what was known is still shown");
  await look("no contact");
  await small.getByText("No contact with the gateway").waitFor();
  await log.getByText("No contact with the gateway").waitFor();
  assert.ok(await line().count() > 0);
  assert.ok(await reason.isVisible());
  await page.getByRole("button", { name: "Forget the token" }).click();
  await page.getByLabel("Operations token").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  assert.equal(await page.getByText("Lane 1").count(), 0);

  requireAccessible();
});
