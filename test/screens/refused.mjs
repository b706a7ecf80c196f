// Who may not: at the sign-in, with a cookie of somewhere else, on a page of somebody else, after signing out.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { device, open, scene, story, tell } from "./story.mjs";
import { changeWorld, linked, pos, sell, sessionOn } from "./pos.mjs";

await story(async () => {
  await linked();
  const session = (await sell(1, "Jo Smith")).session_id;
  const [first, second] = scene.lanes;

  tell("A wrong PIN is refused, and says no more than that");
  const stranger = new Control();
  stranger.page = await open(await device(), `${scene.api}/control/${scene.range}`);
  for (const [name, pin] of [["sam", "0000"], ["nobody", scene.pin]]) {
    await stranger.page.getByLabel("Name", { exact: true }).fill(name);
    await stranger.page.getByLabel("PIN", { exact: true }).fill(pin);
    await stranger.page.getByRole("button", { name: "Sign in" }).click();
    await stranger.page.getByText("Name or PIN is wrong.").waitFor();
    assert.equal(await stranger.page.getByLabel("PIN", { exact: true }).inputValue(), "");
    assert.deepEqual(await stranger.page.context().cookies(), []);
  }
  assert.equal(await stranger.page.getByText("Jo Smith").count(), 0);

  tell("Who is signed in to another range sees nothing of this one, and changes nothing");
  const south = await open(await device(), `${scene.api}/control/${scene.another_range}`);
  await south.getByLabel("Name", { exact: true }).fill("sam");
  await south.getByLabel("PIN", { exact: true }).fill(scene.pin);
  await south.getByRole("button", { name: "Sign in" }).click();
  await south.getByText("Lane 99").first().waitFor();
  await south.goto(`${scene.api}/control/${scene.range}`);
  await south.getByText("This browser is signed in to “South range”").waitFor();
  assert.equal(await south.getByText("Jo Smith").count(), 0);
  assert.deepEqual(await asks(south, "POST", `/control/api/sessions/${session}/stop`, {}), [404, "session_not_found"]);
  assert.deepEqual(await asks(south, "PUT", "/control/api/holds", { scope: "lane", id: first.id, on: true }), [400, "invalid_request"]);
  assert.deepEqual(await asks(south, "POST", "/control/api/sessions", {
    lane_id: second.id, customer_name: "X", group_id: "33333333-3333-4333-8333-000000000009", duration: 10, enable_purchasing: false, auto_start: true,
  }), [404, "lane_not_found"]);

  tell("Where only officers end a ceasefire over the range, others see no button for it");
  await south.goto(`${scene.api}/control/${scene.another_range}`);
  await south.getByRole("button", { name: "Ceasefire over the whole range" }).click();
  await south.getByText("An officer ends this ceasefire.").waitFor();
  assert.equal(await south.getByRole("button", { name: "Hold down to end" }).count(), 0);
  assert.deepEqual(await asks(south, "PUT", "/control/api/holds", { scope: "range", id: null, on: false }), [403, "officer_required"]);
  const officer = new Control();
  officer.page = await open(await device(), `${scene.api}/control/${scene.another_range}`);
  await officer.signIn("kim");
  await officer.endCeasefire();
  await south.locator("#alarm").waitFor({ state: "hidden" });

  tell("Another lane's key opens no screen, and another lane's cookie nothing");
  const prying = await open(await device(), `${scene.api}/lane/${first.id}?key=${second.key}`);
  await prying.getByText("This is not the address of this lane's screen").waitFor();
  assert.deepEqual(await prying.context().cookies(), []);
  const other = await Lane.at(2);
  for (const [method, path] of [["GET", "/stream"], ["POST", "/help"], ["GET", "/products"], ["POST", "/start"]]) {
    assert.deepEqual(await asks(other.page, method, `/lane/${first.id}${path}`, method === "POST" ? { session_id: session } : undefined), [401, "unauthorized"], path);
  }
  const [cookie] = await other.page.context().cookies(`${scene.api}/lane/${second.id}`);
  assert.ok(cookie.httpOnly && cookie.sameSite === "Strict");
  await other.page.context().addCookies([{ ...cookie, path: `/lane/${first.id}` }]);
  assert.deepEqual(await asks(other.page, "POST", `/lane/${first.id}/help`, {}), [401, "unauthorized"]);

  tell("A lane screen that was refused comes back by itself: with a key that becomes the lane's, and when a key that was changed is put back");
  const [early, kept] = [await open(await device()), await open(await device())];
  await early.clock.install();
  await kept.clock.install();
  await early.goto(`${scene.api}/lane/${first.id}?key=another-key-of-the-lane`);
  await early.getByText("This is not the address of this lane's screen").waitFor();
  await kept.goto(`${scene.api}/lane/${first.id}?key=${first.key}`);
  const heading = { level: 1, name: "Lane 1", exact: true };
  await kept.getByRole("heading", heading).waitFor();
  await changeWorld("/lane/1/key/another-key-of-the-lane");
  await kept.getByText("This is not the address of this lane's screen").waitFor();
  await early.clock.runFor(400_000);
  await early.getByRole("heading", heading).waitFor();
  assert.equal(early.url(), `${scene.api}/lane/${first.id}`, "the key stays in no address");
  await early.close();

  await changeWorld(`/lane/1/key/${first.key}`);
  await kept.route(`**/lane/${first.id}`, (route) => route.abort(), { times: 1 });
  const failed = kept.waitForEvent("requestfailed");
  await kept.clock.runFor(40_000);
  await failed;
  assert.ok(await kept.getByText("This is not the address of this lane's screen").isVisible(), "it leaves for nothing that is not there");
  await kept.clock.runFor(40_000);
  await kept.getByRole("heading", heading).waitFor();
  await kept.close();

  tell("Pages of somebody else do nothing in the name of who is signed in, and cannot frame a screen");
  const staff = await Control.signedIn("sam");
  const [signedIn] = await staff.page.context().cookies(`${scene.api}/control`);
  assert.ok(signedIn.httpOnly && signedIn.sameSite === "Strict");
  const shooter = await Lane.at(1);
  const posts = (page, url) => page.evaluate(async (url) => {
    await fetch(url, { method: "POST", mode: "no-cors", credentials: "include", body: new Blob(['{"sale":"closed","done":false}']) }).catch(() => {});
  }, url);
  await posts(staff.page, `${scene.api}/control/api/lanes/${second.id}/sale`);
  await staff.inState(2, "closed"); // from a page of its own it is done
  for (const host of ["127.0.0.1", "localhost"]) { // the same site at another port, and another site
    const elsewhere = `${scene.world.replace("127.0.0.1", host)}/elsewhere`;
    for (const [screen, paths] of [
      [staff, [`/control/api/sessions/${session}/stop`, `/control/api/lanes/${first.id}/sale`, "/control/sign-out"]],
      [shooter, [`/lane/${first.id}/help`]],
    ]) {
      const page = await open(screen.page.context(), elsewhere);
      for (const path of paths) {
        await posts(page, scene.api + path);
      }
      await page.evaluate((url) => {
        const frame = document.createElement("iframe");
        frame.src = url;
        document.body.append(frame);
        return new Promise((resolve) => frame.addEventListener("load", resolve));
      }, screen.page.url());
      const framed = await page.frames()[1].evaluate(() => document.body.textContent);
      assert.doesNotMatch(framed, /Jo Smith|Sign in|Lane/, "nothing of a screen in a frame");
      await page.close();
    }
  }
  assert.equal((await sessionOn(1))?.session_id, session, "its session goes on");
  await staff.inState(1, "running");
  assert.equal(await staff.page.getByText("Help! since").count(), 0);
  assert.ok((await pos("GET", "/lanes"))[0].is_accessible);

  tell("A session that has ended is over on every screen that has it, and its cookie is worth nothing");
  const twin = new Control();
  const twins = await device();
  await twins.addCookies([signedIn]);
  twin.page = await open(twins, `${scene.api}/control/${scene.range}`);
  await twin.inState(1, "running");
  await staff.signOut();
  await twin.page.getByText("Your sign-in has ended").waitFor();
  assert.doesNotMatch(await twin.page.locator("body").innerText(), /Jo Smith/);
  await twins.addCookies([signedIn]);
  assert.deepEqual(await asks(twin.page, "POST", `/control/api/sessions/${session}/stop`, {}), [401, "unauthorized"]);
  assert.deepEqual(await asks(twin.page, "GET", "/control/stream"), [401, "unauthorized"]);
  await twin.page.reload();
  await twin.page.getByRole("button", { name: "Sign in" }).waitFor();

  tell("After too many wrong PINs not even the right one is taken");
  await stranger.page.getByLabel("Name", { exact: true }).fill("sam");
  await stranger.page.getByLabel("PIN", { exact: true }).fill(scene.pin);
  const wrong = async () => {
    const body = JSON.stringify({ range_id: scene.range, name: "sam", pin: "0000" });
    const response = await fetch(`${scene.api}/control/sign-in`, { method: "POST", body, headers: { "Content-Type": "application/json" } });
    return [response.status, Number(response.headers.get("Retry-After"))];
  };
  const untilNext = async (seconds) => { // the next attempt is so far away
    for (let [status, wait] = [401, 0]; status !== 429 || wait < seconds; ) {
      [status, wait] = await wrong();
      assert.ok(status === 401 || status === 429, `${status}`);
    }
  };
  await stranger.page.route("**/control/sign-in", async (route) => {
    await untilNext(8); // from the request on, however long the press took, and soon enough for the page, which waits for its answer
    await route.continue();
  });
  await stranger.page.getByRole("button", { name: "Sign in" }).click();
  await stranger.page.getByText("Too many attempts").waitFor();
});

// asks makes a request from a page, with the cookies that the browser has for it, and answers [status, code].
function asks(page, method, path, body) {
  return page.evaluate(async ([method, url, body]) => {
    const response = await fetch(url, { method, body, headers: body === undefined ? {} : { "Content-Type": "application/json" } });
    return [response.status, (await response.json().catch(() => ({}))).code];
  }, [method, path, body === undefined ? undefined : JSON.stringify(body)]);
}
