// A lane for a checkout: while a POS is being paid, staff and the wall see that the lane is being sold and for how long, and staff may end it.
import assert from "node:assert/strict";
import { Control } from "./control.mjs";
import { look } from "./look.mjs";
import { device, open, scene, story, tell } from "./story.mjs";
import { linked, pos, sell } from "./pos.mjs";

await story(async () => {
  await linked();
  const lane = (await pos("GET", "/lanes", undefined, 200))[0].lane_id;
  const reserve = () => pos("POST", "/reservations", { lane_ids: [lane], seconds: 600 }, 201);
  const sam = await Control.signedIn("sam", { hasTouch: true });
  const kim = await Control.signedIn("kim", { hasTouch: true, locale: "de-DE" });
  const atLane = await open(await device(), `${scene.api}/lane/${scene.lanes[0].id}?key=${scene.lanes[0].key}`);
  const wall = await open(await device({ viewport: { width: 1920, height: 1080 } }), `${scene.api}/board/${scene.range}?key=${scene.board}`);

  tell("A lane that a POS has reserved is being sold, and for how long");
  let reserved = await reserve();
  await sam.inState(1, "reserved");
  assert.equal(await sam.card(1).getByRole("button", { name: /New session/ }).count(), 0, "only the holder of the token can buy it");
  await atLane.getByRole("heading", { name: "Reserved" }).waitFor();
  await look(atLane, "the screen at a lane that is being sold");
  await sam.says(1, /being sold\s*\d?\d:\d\d/);
  await kim.says(1, /wird verkauft\s*\d?\d:\d\d/);
  await wall.locator(".tile").filter({ hasText: "Being sold" }).filter({ hasText: /\d?\d:\d\d/ }).waitFor();
  await look(sam.page, "a lane that is being sold");
  await look(kim.page, "a lane that is being sold, in German");
  await look(wall, "a lane that is being sold, on the wall");

  tell("Staff end the reservation, and the lane is anybody's");
  await kim.card(1).getByRole("button", { name: "Lane 1", exact: true }).tap();
  await kim.opened();
  await look(kim.page, "the panel of a lane that is being sold");
  await kim.panel.getByRole("button", { name: "Reservierung beenden" }).tap();
  await sam.card(1).getByText("being sold").waitFor({ state: "detached" });
  await sam.inState(1, "free");
  await atLane.getByRole("heading", { name: "Welcome" }).waitFor();
  await pos("GET", `/reservations/${reserved.reservation_id}`, undefined, 404);
  await wall.locator(".tile").filter({ hasText: "Being sold" }).waitFor({ state: "detached" });

  tell("The token buys the lane, which is being sold no more");
  reserved = await reserve();
  await sam.card(1).getByText("being sold").waitFor();
  await sell(1, "Jo Smith", { reservation: reserved.token });
  await sam.inState(1, "running");
  await sam.card(1).getByText("being sold").waitFor({ state: "detached" });
  assert.equal((await pos("GET", "/lanes/status", undefined, 200))[0].reserved_until, undefined);
});
