// The gateway dies under open screens, and comes back: they say so, recover by themselves, and are right all the time.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { Lane } from "./lane.mjs";
import { eventually, scene, story, tell } from "./story.mjs";
import { changeWorld, linked, pos, sell } from "./pos.mjs";
import { deadline, exactly, rightly, timesOf, watchTime } from "./times.mjs";

await story(async () => {
  await linked();
  const running = (await sell(1, "Jo Smith")).session_id;
  const paused = (await sell(2, "Ann Lee")).session_id;
  await pos("POST", `/sessions/${paused}/pause`);
  const staff = await Control.signedIn();
  const jo = await Lane.at(1);
  const ann = await Lane.at(2);
  await Promise.all([staff.inState(1, "running"), staff.inState(2, "paused"), jo.inState("running"), ann.inState("paused")]);
  const stood = await ann.page.locator(".face").textContent();
  const due = await deadline(running);
  await watchTime(staff.page, `.lane[data-lane="${scene.lanes[0].id}"] .time`);
  await watchTime(jo.page, ".face");
  await watchTime(ann.page, ".face");
  const contacts = [staff, jo, ann].map((screen) => screen.page.locator("#contact"));

  tell("The gateway hangs, and goes on: every screen says that it has no contact, and that it has");
  await changeWorld("/gateway/freeze");
  await Promise.all(contacts.map((contact) => contact.filter({ hasText: "No contact" }).waitFor()));
  await changeWorld("/gateway/thaw");
  await Promise.all(contacts.map((contact) => contact.waitFor({ state: "hidden" })));
  await linked();

  for (const end of ["kill", "stop"]) {
    tell(`The gateway ends (${end}): every screen says that it has no contact, and what staff do that it did not arrive`);
    await changeWorld(`/gateway/${end}`);
    await Promise.all(contacts.map((contact) => contact.filter({ hasText: "No contact" }).waitFor()));
    await staff.quick("Pause", 1).click();
    await staff.says(1, "The gateway cannot be reached");
    await jo.page.getByRole("button", { name: "Shop" }).click();
    await jo.shopSays("Try again");

    tell("It starts again: every screen goes on by itself");
    await changeWorld("/gateway/start");
    await Promise.all(contacts.map((contact) => contact.waitFor({ state: "hidden" })));
    await linked();
    await jo.shop.getByRole("tab", { name: "Time" }).waitFor(); // it has tried again by itself
    await jo.leaveShop();
    await staff.card(1).getByText("The gateway cannot be reached").waitFor({ state: "hidden" });
  }

  tell("What happens now is on every screen");
  await staff.quick("+5", 2).or(staff.card(2).getByRole("button", { name: "5 minutes more: Lane 2" })).click();
  await ann.shows("of 65 minutes");
  await jo.page.getByRole("button", { name: "Help" }).click();
  await staff.says(1, "Help! since");

  tell("No time was ever wrong");
  for (const { page } of [staff, jo]) {
    await eventually("it counts", async () => new Set((await timesOf(page)).map(([, shown]) => shown)).size > 4);
  }
  const after = await deadline(running);
  assert.ok(after.from < due.to + 50 && after.to > due.from - 50, "the time ran on while the gateway was down, and no faster");
  for (const screen of [staff, jo]) {
    await exactly(() => timesOf(screen.page), due);
    const times = await timesOf(screen.page);
    console.log(`    ${times.length} times`);
    times.forEach(([at, shown]) => rightly(shown, at, due));
  }
  const standing = new Set((await timesOf(ann.page)).map(([, shown]) => shown));
  assert.ok(standing.delete(stood) && standing.size <= 1, `what is paused stands still until time is added: ${stood}, ${[...standing]}`);
});
