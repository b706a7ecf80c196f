// The time that sessions lost while the gateway was off: staff give it back, or leave it.
import { action } from "./actions.js";
import { confirmButton } from "./confirmbutton.js";
import { forEachLane, refusalLines } from "./eachlane.js";
import { nameList } from "./rules.js";

// makeUpButtons give the lost time of the lanes' sessions back, or leave it, which asks once where several have lost some. The gateway
// adds minutes, rounded up. onProgress is called with how many of several lanes have an outcome, and with null after that.
export function makeUpButtons(client, lanes, error, onProgress = () => {}) {
  const { t } = client;
  const names = nameList(lanes.map(({ name }) => name), { one: t("lane.word"), many: t("lane.words") });
  const look = (words, kind) => ({ words, kind, label: t("quick.on_lane", { words, lane: names }) });
  const send = (give) => async () => {
    if (lanes.length === 1) {
      await client.session(lanes[0], "make-up", { give });
      return;
    }
    onProgress(0);
    const outcome = await forEachLane(client, lanes, (lane) => client.session(lane, "make-up", { give }), onProgress);
    onProgress(null);
    error.show(refusalLines(client, outcome).join(" "));
  };
  const give = action(client, look(t("ran_on.give", { n: minutesToGive(lanes) }), "primary"), error, send(true));
  const leaving = look(t("ran_on.leave"), "");
  const leave = lanes.length === 1
    ? action(client, leaving, error, send(false))
    : confirmButton(client, leaving, t("ran_on.leave_sure", { n: lanes.length }), error, send(false));
  return [give, leave];
}

// minutesToGive is the sum of the full minutes that each lane's session gets.
export function minutesToGive(lanes) {
  return lanes.reduce((sum, lane) => sum + Math.ceil(lane.session.ran_on_ms / 60_000), 0);
}
