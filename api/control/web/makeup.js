// Time that a session ran while the gateway was down: staff give it back, or leave it.
import { action } from "./act.js";

export function makeUpButtons(desk, lane, trouble) {
  const { t } = desk;
  const minutes = Math.ceil(lane.session.ran_on_ms / 60_000);
  const name = (words) => t("quick.on_lane", { words, lane: lane.name });
  const one = (words, kind, give) =>
    action(desk, { words, kind, label: name(words) }, trouble, () => desk.session(lane, "make-up", { give }));
  return [one(t("ran_on.give", { n: minutes }), "primary", true), one(t("ran_on.leave"), "", false)];
}
