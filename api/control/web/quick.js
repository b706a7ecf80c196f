// The quick actions of a lane on the board: one click each; stopping needs a confirmation. Those of the kind one-tap are on small tiles too.
import { action, button } from "./actions.js";
import { confirmButton } from "./confirmbutton.js";
import { stateOf } from "./rules.js";

// quickActions are the buttons for the lane's state. open shows the lane with all its actions.
export function quickActions(client, lane, error, open) {
  const { t } = client;
  const named = (words) => t("quick.on_lane", { words, lane: lane.name }); // a distinct name for each of 400 buttons
  const command = (key, sign, act, kind = "") => {
    const words = t(`quick.${key}`);
    return action(client, { words, sign, kind, label: named(words) }, error, act);
  };
  const more = (minutes) =>
    action(client, { words: `+${minutes}`, kind: minutes === 15 ? "one-tap" : "", label: named(t("quick.more", { minutes })) }, error,
      (anyway) => client.outcome.modify(lane, minutes, anyway));
  const stop = () =>
    confirmButton(client, { words: t("quick.stop"), kind: "danger", label: named(t("quick.stop")) }, t("quick.stop_sure"), error,
      () => client.outcome.stop(lane));

  const buttons = [];
  if (lane.help) {
    // A sign alone, as the tile keeps its size. The queue has the words.
    const answer = (key, sign, done, kind) => action(client, { sign, kind, label: named(t(`quick.${key}`)) }, error, client.answerHelp(lane, done));
    buttons.push(lane.help.coming ? answer("help_done", "check", true, "") : answer("help_coming", "bell", false, "primary"));
  }
  switch (stateOf(lane)) {
    case "ended":
      buttons.push(command("cleared", "check", client.sayClear(lane), "primary one-tap"));
      // falls through: staff may sell the lane all the same
    case "free":
    case "closed": // closed for the POS; staff may use it
      if (!lane.reserved) {
        buttons.push(button({ words: t("quick.create"), sign: "plus", label: named(t("quick.create")) }, open));
      }
      break;
    case "waiting":
      buttons.push(...(lane.held ? [] : [command("start", "play", () => client.session(lane, "start"), "primary one-tap")]), more(15), stop());
      break;
    case "running":
    case "beyond":
      buttons.push(...(lane.help ? [] : [more(5)]), more(15), command("pause", "pause", () => client.outcome.pause(lane), "one-tap"), stop());
      break;
    case "grace":
      buttons.push(action(client, { words: "+15", kind: "primary one-tap", label: named(t("quick.more", { minutes: 15 })) }, error,
        (anyway) => client.outcome.modify(lane, 15, anyway)), ...(lane.help ? [] : [more(5)]), stop());
      break;
    case "paused":
      buttons.push(...(lane.session.paused_by_hold || lane.held ? [] : [command("resume", "play", () => client.session(lane, "resume"), "primary one-tap")]), ...(lane.help ? [] : [more(5)]), stop());
  }
  return buttons;
}
