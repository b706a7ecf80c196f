// The actions that a lane offers on the board itself, one touch each; stopping takes two.
import { action, button } from "./act.js";
import { twice } from "./twice.js";
import { stateOf } from "./urgency.js";

// quickActions are the buttons for the lane as it stands. open shows the lane with everything that can be done.
export function quickActions(desk, lane, trouble, open) {
  const { t } = desk;
  const named = (words) => t("quick.on_lane", { words, lane: lane.name }); // a name of its own for each of 400 buttons
  const one = (key, sign, act, kind = "") => {
    const words = t(`quick.${key}`);
    return action(desk, { words, sign, kind, label: named(words) }, trouble, act);
  };
  const more = (minutes) =>
    action(desk, { words: `+${minutes}`, label: named(t("quick.more", { minutes })) }, trouble,
      () => desk.session(lane, "modify", { minutes }));
  const stop = () =>
    twice(desk, { words: t("quick.stop"), kind: "danger", label: named(t("quick.stop")) }, t("quick.stop_sure"), trouble,
      () => desk.session(lane, "stop"));

  const offered = [];
  if (lane.help) {
    offered.push(lane.help.coming
      ? one("help_done", "check", () => desk.lane(lane, "help", { done: true }), "wide")
      : one("help_coming", "bell", () => desk.lane(lane, "help", { done: false }), "wide primary"));
  }
  switch (stateOf(lane)) {
    case "free":
    case "closed": // for the till; staff may use it
      offered.push(button({ words: t("quick.create"), sign: "plus", label: named(t("quick.create")) }, open));
      break;
    case "waiting":
      offered.push(one("start", "play", () => desk.session(lane, "start"), "primary"), more(15), stop());
      break;
    case "running":
      offered.push(more(5), more(15), one("pause", "", () => desk.session(lane, "pause")), stop());
      break;
    case "paused":
      offered.push(...(lane.session.paused_by_hold ? [] : [one("resume", "play", () => desk.session(lane, "resume"), "primary")]), more(5), stop());
  }
  return offered;
}
