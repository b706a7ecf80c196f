// The time that sessions lost while the gateway was off: staff give it back, or leave it.
import { action } from "./actions.js";

// makeUpButtons give the lost time of a lane's session back, or leave it. The gateway adds minutes, rounded up.
export function makeUpButtons(client, lane, error) {
  const { t } = client;
  const name = (words) => t("quick.on_lane", { words, lane: lane.name });
  const choice = (words, kind, give) => action(client, { words, kind, label: name(words) }, error, () => client.session(lane, "make-up", { give }));
  return [choice(t("ran_on.give", { n: minutesToGive(lane) }), "primary", true), choice(t("ran_on.leave"), "", false)];
}

export function minutesToGive(lane) {
  return Math.ceil(lane.session.ran_on_ms / 60_000);
}
