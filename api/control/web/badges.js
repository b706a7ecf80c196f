// What else there is to say of a lane, each with a sign and words: help, hold, link, purchase, a hit nobody paid for.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { notReached } from "./urgency.js";

export function badges(desk, lane) {
  const { t } = desk;
  const said = [];
  const say = (kind, sign, sentence) => said.push(element(`span.badge.${kind}`, {}, icon(sign), element("span", {}, sentence)));

  if (lane.held) {
    notReached(lane) ? say("missing", "alert", t("badge.not_reached")) : say("danger", "lock", t("badge.locked"));
  }
  if (lane.help) {
    say(lane.help.coming ? "plain" : "warn", "bell", t(lane.help.coming ? "badge.help_coming" : "badge.help", { time: t.time(lane.help.at) }));
  }
  if (lane.link !== "up") {
    say("warn", "unlink", t(`badge.link_${lane.link}`, { time: t.time(lane.link_since) }));
  }
  if (!lane.usable && lane.link === "up") {
    say("warn", "alert", t("badge.unusable", { reason: lane.not_usable_because ?? "" }));
  }
  if (lane.purchase) {
    const minutes = lane.purchase.minutes ? t("badge.purchase_minutes", { minutes: lane.purchase.minutes }) : "";
    lane.purchase.phase === "unresolved"
      ? say("warn", "cart", t("badge.purchase_unresolved", { minutes }))
      : lane.purchase.phase === "pending" && say("plain", "cart", t("badge.purchase", { minutes }));
  }
  if (lane.stray_hit) {
    say("warn", "hit", t("badge.stray_hit", { time: t.time(lane.stray_hit) }));
  }
  if (lane.session?.paused_by_hold) {
    say("plain", "pause", t("badge.resumes"));
  }
  if (lane.session?.ran_on_ms > 0) {
    say("plain", "hourglass", t("badge.ran_on"));
  }
  return said;
}
