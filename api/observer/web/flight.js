// The link to the newest dump of the flight recorder. A browser that follows it by itself sends no token.
import { element, setText } from "/screens/element.js";
import { Refused } from "./gateway.js";
import { download } from "./save.js";
import { whyUnread } from "./unread.js";

const NEWEST = "/debug/flight/newest";

// flightLink creates it, with the place where it says that there is none. token() is the operator's.
export function flightLink(t, token) {
  const outcome = element("p.outcome", { role: "status" });
  const follow = async (event) => {
    event.preventDefault();
    setText(outcome, "");
    try {
      await download(NEWEST, token, "flight.trace");
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
      setText(outcome, refused.code === "no_dump" ? t("flight.none") : whyUnread(t, refused));
    }
  };
  return element("section", {}, element("h2", {}, t("flight")), element("p", {}, t("flight.explained")),
    element("p", {}, element("a", { href: NEWEST, onclick: follow }, t("flight.newest"))), outcome);
}
