// The button by which an operator has a range or a lane logged at debug for a while.
import { element } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";

// debugButton creates it. queryOf() names the range or the lane, token() is the operator's.
export function debugButton(t, queryOf, token) {
  return actionButton(t, "debug_log", () => `/log-level?${new URLSearchParams(queryOf())}`, token, {
    method: "PUT",
    body: () => ({ level: "debug" }),
    done: ({ debug }) => t("debug_log.until", { time: t.seconds(debug.until) }),
  });
}

// debugLog creates the section of a range with the button.
export function debugLog(t, rangeOf, token) {
  const button = debugButton(t, () => ({ range: rangeOf() }), token);
  const section = element("section", { hidden: true }, element("h2", {}, t("debug_log")), element("p", {}, t("debug_log.explained")), button);
  return Object.assign(section, { erase: button.erase });
}
