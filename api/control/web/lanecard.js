// One lane on the board. It is built once; a change updates only the parts that differ.
import { formatTime } from "/screens/clock.js";
import { element, replaceKeepingFocus, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { ErrorText, ignoreQuickRepeats } from "./actions.js";
import { laneGraceLeft, laneOwed, laneReservedFor, laneStartsIn, laneTimeLeft } from "./model.js";
import { quickActions } from "./quick.js";
import { notReached, stateOf, urgencyOf } from "./rules.js";

const SIGNS = { free: "check", reserved: "cart", ended: "leave", locked: "lock", closed: "close", unusable: "alert", waiting: "person", scheduled: "play", running: "play", beyond: "play", paused: "pause", grace: "hourglass" };

export class LaneCard {
  urgent = "";
  lane;
  #client;
  #open;
  #state = element("span.state");
  #customer = element("p.customer");
  #time = element("span.time");
  #sold = element("span.sold");
  #fill = element("i");
  #badges = element("p.badges");
  #call = element("span.call");
  #actions = element("div.quick");
  #error = new ErrorText();
  #drawn = {}; // the state that each part was drawn from
  #closing = ""; // the badge of the lane's own closing

  // onOpen is called with the lane's id and the event of the press when the lane is opened.
  constructor(client, lane, onOpen) {
    this.#client = client;
    this.lane = lane;
    const said = [this.#state, this.#customer, this.#call, this.#time, this.#badges]; // with the lane's name, to those who do not see the tile
    said.forEach((part, n) => (part.id = `lane-${lane.lane_id}-${n}`));
    this.#open = element("button.open", { type: "button", "aria-describedby": said.map((part) => part.id).join(" "), onclick: (event) => onOpen(lane.lane_id, event) }, ...nameParts(lane.name));
    this.element = element(
      "li.lane", { "data-lane": lane.lane_id },
      element("div.title", {}, element("h3", {}, this.#open), this.#state),
      element("div.buyer", {}, this.#customer, this.#sold),
      element("div.clock", {}, this.#call, this.#time, this.#badges),
      element("div.bar", { "aria-hidden": "true" }, this.#fill),
      this.#actions, this.#error.element,
    );
    ignoreQuickRepeats(this.#actions);
  }

  show(lane, at) {
    this.lane = lane;
    const { t } = this.#client;
    const state = stateOf(lane);
    const session = lane.session;
    this.element.dataset.state = state;
    setFlag(this.element, "data-held", lane.held);
    this.#showHelp(lane);
    setFlag(this.element, "data-missing", notReached(lane));
    const shown = session?.start_id ? "scheduled" : state;
    this.#redraw("state", shown, () => this.#state.replaceChildren(icon(SIGNS[shown]), t(`state.${shown}`)));
    setText(this.#customer, session ? session.customer_name : "");
    setText(this.#sold, session ? t("card.sold", { minutes: session.duration }) : "");
    this.#closing = closingOf(this.#client, lane, at);
    this.#redraw("badges", JSON.stringify([this.#closing, lane.help, lane.uncleared !== null, lane.reserved?.until, lane.stray_hit, lane.purchase, lane.link, lane.link_since, lane.second_controller, lane.held, lane.locked,
      lane.not_usable_because, session?.ran_on_ms, session?.paused_by_hold]),
    () => this.#badges.replaceChildren(...badges(this.#client, lane, at)));
    this.#redraw("actions", `${state} ${session?.session_id} ${session?.paused_by_hold} ${lane.held} ${lane.help?.coming} ${lane.help?.at} ${lane.uncleared?.session_id}`, () => this.#drawActions());
    this.tick(at);
  }

  // A call for help fills the tile until staff have answered, and is a sign and a word.
  #showHelp({ help }) {
    const now = help === null ? "" : help.coming ? "coming" : "called";
    this.#redraw("help", now, () => {
      now ? (this.element.dataset.help = now) : delete this.element.dataset.help;
      this.#call.replaceChildren(...(now === "called" ? [icon("bell"), element("span", {}, this.#client.t("card.help"))] : []));
    });
  }

  // tick updates the time left. It returns whether the urgency has changed.
  tick(at) {
    if (closingOf(this.#client, this.lane, at) !== this.#closing) {
      this.show(this.lane, at);
      return true;
    }
    const session = this.lane.session;
    setFlag(this.element, "data-session", session !== null);
    const leftMs = session ? laneTimeLeft(this.lane, at) : 0;
    const startsIn = laneStartsIn(this.lane, at);
    if (this.lane.reserved) {
      setText(this.#badges.querySelector(".reserved-left"), formatTime(laneReservedFor(this.lane, at)));
    }
    const [graceLeft, owed] = [laneGraceLeft(this.lane, at), laneOwed(this.lane, at)];
    if (!session) {
      setText(this.#time, "");
    } else if (startsIn !== null) {
      setText(this.#time, this.#client.t("card.starts", { time: formatTime(startsIn) }));
    } else if (graceLeft !== null) {
      setText(this.#time, this.#client.t("card.grace", { time: formatTime(graceLeft) }));
      this.#redraw("share", "0", () => (this.#fill.style.transform = "scaleX(0)"));
    } else if (owed !== null) {
      setText(this.#time, this.#client.t("card.over", { time: formatTime(owed) }));
      this.#redraw("share", "0", () => (this.#fill.style.transform = "scaleX(0)"));
    } else {
      setText(this.#time, leftMs > 0 ? formatTime(leftMs) : this.#client.t("card.over", { time: formatTime(leftMs) }));
      const share = Math.min(Math.max(leftMs / (session.duration * 60_000), 0), 1).toFixed(3);
      this.#redraw("share", share, () => (this.#fill.style.transform = `scaleX(${share})`));
    }
    const urgent = urgencyOf(this.lane, leftMs);
    if (urgent === this.urgent) {
      return false;
    }
    this.urgent = urgent;
    this.element.dataset.urgent = urgent;
    this.#redraw("urgent", urgent, () => this.#drawUrgency(urgent));
    return true;
  }

  focus() {
    this.#open.focus();
  }

  // select marks the lane as selected, or not; null: no lanes are being selected.
  select(selected) {
    setFlag(this.element, "data-selected", selected === true);
    if (selected === null) {
      this.#open.removeAttribute("aria-pressed");
    } else if (this.#open.getAttribute("aria-pressed") !== String(selected)) {
      this.#open.setAttribute("aria-pressed", String(selected));
    }
  }

  // The urgency is also a word, because colour must not be the only sign.
  #drawUrgency(urgent) {
    this.element.querySelector(".urgent")?.remove();
    if (urgent) {
      this.#time.after(element("span.urgent", {}, icon(urgent === "soon" ? "hourglass" : "alert"), this.#client.t(`urgent.${urgent}`)));
    }
  }

  #drawActions() {
    this.#error.element.textContent = "";
    replaceKeepingFocus(this.#actions, quickActions(this.#client, this.lane, this.#error, () => this.#open.click()), this.#open);
  }

  #redraw(part, state, draw) {
    if (this.#drawn[part] !== state) {
      this.#drawn[part] = state;
      draw();
    }
  }
}

// nameParts are the parts of a lane's name: of the number at its end nothing is cut off.
function nameParts(name) {
  const [, word, number] = /^(.*\S)(\s+\d{1,9})$/.exec(name) ?? [null, name, ""];
  return [element("span.word", {}, word), element("span.number", {}, number)];
}

// closingOf says that the lane closes soon, or is closed, by hours of its bay or of the group of its session.
const closingOf = ({ range, t }, lane, at) => range.hours.sentenceOfLane(t, lane, at);

// badges are the further states of a lane, each with an icon and words: closing, not clear, being sold, help, hold, link, purchase, a hit without a
// session.
export function badges(client, lane, at) {
  const { t } = client;
  const list = [];
  const add = (kind, sign, sentence) => list.push(element(`span.badge.${kind}`, {}, icon(sign), element("span", {}, sentence)));

  if (lane.held) {
    notReached(lane) ? add("missing", "alert", t("badge.not_reached")) : add("danger", "lock", t("badge.locked"));
  }
  const closing = closingOf(client, lane, at);
  if (closing) {
    add("plain", "hourglass", closing);
  }
  if (lane.uncleared) {
    add("warn", "leave", t("badge.uncleared"));
  }
  if (lane.reserved) {
    add("plain", "cart", t("badge.reserved"));
    list.at(-1).append(element("span.reserved-left"));
  }
  if (lane.help) {
    add(lane.help.coming ? "plain" : "warn", "bell", t(lane.help.coming ? "badge.help_coming" : "badge.help", { time: t.time(lane.help.at) }));
  }
  if (lane.link !== "up") {
    add("warn", "unlink", t(`badge.link_${lane.link}`, { time: t.time(lane.link_since) }));
  }
  if (lane.second_controller) {
    const { at, refused, linked } = lane.second_controller;
    add("danger", "alert", t("badge.second_controller", { time: t.time(at), refused, linked }));
  }
  if (!lane.usable && lane.link === "up") {
    add("warn", "alert", t("badge.unusable", { reason: lane.not_usable_because ?? "" }));
  }
  if (lane.purchase) {
    const minutes = lane.purchase.minutes ? t("badge.purchase_minutes", { minutes: lane.purchase.minutes }) : "";
    lane.purchase.phase === "unresolved"
      ? add("warn", "cart", t("badge.purchase_unresolved", { minutes }))
      : lane.purchase.phase === "pending" && add("plain", "cart", t("badge.purchase", { minutes }));
  }
  if (lane.stray_hit) {
    add("warn", "hit", t("badge.stray_hit", { time: t.time(lane.stray_hit) }));
  }
  if (lane.session?.paused_by_hold) {
    add("plain", "pause", t("badge.resumes"));
  }
  if (lane.session?.ran_on_ms > 0) {
    add("plain", "hourglass", t("badge.ran_on"));
  }
  return list;
}
