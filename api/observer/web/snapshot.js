// The section of a lane's page with the lane as it would be saved.
import { element, setText } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";
import { Refused, fetchJSON } from "./gateway.js";
import { whyUnread } from "./unread.js";

// snapshotSection creates it. queryOf() names the lane, token() is the operator's. clear() removes what it shows.
export function snapshotSection(t, queryOf, token) {
  const shown = element("pre.snapshot", { hidden: true, tabIndex: 0, "aria-label": t("snapshot") });
  const outcome = element("p.outcome", { role: "status" });
  const path = (names) => {
    const { range, lane } = queryOf();
    return `/observer/lanes/${lane}/snapshot?${new URLSearchParams({ range, ...(names && { names }) })}`;
  };
  const show = ({ at, unsaved, snapshot }) => {
    setText(shown, JSON.stringify(snapshot, null, 2));
    shown.hidden = false;
    return t(unsaved ? "snapshot.unsaved" : "snapshot.saved", { time: t.seconds(at) });
  };
  const read = async () => {
    const used = token();
    try {
      const answer = await fetchJSON(path(false), used);
      if (token() === used) {
        setText(outcome, show(answer));
      }
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
      if (token() === used) {
        setText(outcome, whyUnread(t, refused));
      }
    }
  };
  const named = actionButton(t, "read_names", () => path(true), token, { ask: (of) => fetchJSON(of, token()), done: show });
  const section = element("section", { hidden: true }, element("h2", {}, t("snapshot")), element("p", {}, t("snapshot.explained")),
    element("div.act", {}, element("button.button", { type: "button", onclick: read }, t("snapshot.show")), outcome), named, shown);
  return {
    element: section,
    clear() {
      section.hidden = true;
      shown.hidden = true;
      setText(shown, "");
      setText(outcome, "");
      named.erase();
    },
  };
}
