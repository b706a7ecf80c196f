// One lane with all its actions, over the board, which does not move. It never covers the ceasefire.
import { onTick, formatTime, now } from "/screens/clock.js";
import { element, replaceKeepingFocus, setFlag, setText } from "/screens/element.js";
import { LaneErrorText, button, showBusy } from "./actions.js";
import { LaneActions } from "./laneactions.js";
import { badges } from "./lanecard.js";
import { laneGraceLeft, laneOwed, laneTimeLeft } from "./model.js";
import { purchaseDetails, settleButtons } from "./purchases.js";
import { laneOfPurchase, stateOf, urgencyOf } from "./rules.js";
import { SessionActions } from "./sessionactions.js";
import { SessionForm } from "./sessionform.js";
import { ShooterCode } from "./shootercode.js";

const JUST_OPENED = 250; // ms in which no press counts
const DOUBLE = 700; // ms in which the later presses of a series do not count

export class Panel {
  #client;
  #root;
  #onShow;
  #onClose;
  #laneID = null;
  #sessionID;
  #title = element("h2", { tabIndex: -1, id: "panel-title" });
  #bay = element("p.bay-name");
  #time = element("p.big-time");
  #urgent = element("p.urgent");
  #badges = element("p.badges");
  #facts = element("dl.facts");
  #error;
  #kept = element("p.note", { role: "status" });
  #form;
  #session;
  #code;
  #lane;
  #purchases = element("div.purchases", { hidden: true });
  #drawnPurchases = "";
  #openedAt = 0;
  #opening = 0; // the timer

  // onShow is called with the id of the shown lane, or null; onClose with the id of the lane that was shown, if the focus
  // must return to it; onSold with a session that was sold, and its lane. pick(customer, isStill) has a free lane chosen, and returns
  // it, or null.
  constructor(client, root, { onShow, onClose, pick, onSold }) {
    this.#client = client;
    this.#root = root;
    this.#onShow = onShow;
    this.#onClose = onClose;
    const { t } = client;
    const shown = () => client.range.lanes.get(this.#laneID);
    this.#error = new LaneErrorText(client, shown);
    this.#form = new SessionForm(client, this.#error, (session, lane) => {
      this.#laneID === lane.lane_id && this.close(); // by now another lane may be shown
      onSold(session, lane);
    });
    this.#session = new SessionActions(client, this.#error, async (lane) => {
      root.hidden = true; // it lies over lanes that may be chosen
      const to = await pick(lane.session.customer_name, () => client.range.lanes.get(lane.lane_id)?.session?.session_id === lane.session.session_id);
      root.hidden = this.#laneID === null;
      this.#title.focus();
      return to;
    });
    this.#code = new ShooterCode(client, shown);
    this.#lane = new LaneActions(client, shown);
    const close = button({ sign: "close", kind: "quiet", label: t("panel.close") }, () => this.close());
    root.setAttribute("aria-labelledby", "panel-title");
    root.append(
      element("header.panel-head", {}, element("div", {}, this.#title, this.#bay), close),
      this.#time, this.#urgent, this.#badges, this.#lane.calls, this.#purchases, this.#error.element, this.#kept, this.#form.element, this.#session.element, this.#code.element, this.#lane.element, this.#facts,
    );
    this.#ignoreDoublePresses();
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !root.hidden && (root.contains(event.target) || event.target === document.body)) {
        this.close();
      }
    });
    client.range.addEventListener("lanes", ({ detail }) => {
      this.#follow();
      if (this.#laneID !== null && detail.lanes.some((lane) => lane.lane_id === this.#laneID || lane.phase === "free" || lane.session?.goes_on_with)) {
        this.#show();
      }
    });
    client.range.addEventListener("purchases", () => this.#laneID !== null && this.#show());
    client.range.addEventListener("holds", () => this.#laneID !== null && this.#show());
    onTick((at) => this.#laneID !== null && this.#tick(at));
  }

  open(laneID) {
    if (this.#laneID !== laneID) {
      this.#sessionID = false; // resets the forms for another lane
      this.#error.show("");
    }
    this.#turnTo(laneID);
    this.#root.hidden = false;
    this.#justOpened();
    this.#root.scrollTop = 0;
    this.#show();
    const typed = !matchMedia("(pointer: coarse)").matches; // where a finger points, a focused field has the keyboard cover the lanes
    typed && stateOf(this.#client.range.lanes.get(laneID)) === "free" ? this.#form.focus() : this.#title.focus();
  }

  #justOpened() {
    this.#openedAt = performance.now();
    setFlag(this.#root, "data-just-opened", true);
    clearTimeout(this.#opening);
    this.#opening = setTimeout(() => setFlag(this.#root, "data-just-opened", false), JUST_OPENED);
  }

  // follow shows the lane that the shown session has moved to.
  #follow() {
    const { lanes } = this.#client.range;
    if (this.#laneID === null || !this.#sessionID || lanes.get(this.#laneID)?.session?.session_id === this.#sessionID) {
      return;
    }
    const there = [...lanes.values()].find((lane) => lane.session?.session_id === this.#sessionID);
    if (there) {
      this.#turnTo(there.lane_id);
      this.#show();
    }
  }

  // turnTo makes laneID the lane that the panel shows; null: none.
  #turnTo(laneID) {
    this.#laneID = laneID;
    this.#onShow(laneID);
    showBusy(this.#root, laneID);
  }

  // The second press of a double press on a lane, and a key that is held down, must not sell it.
  #ignoreDoublePresses() {
    this.#root.addEventListener("click", (event) => {
      const double = event.detail > 1 && performance.now() - this.#openedAt < DOUBLE;
      if (double || this.#root.hasAttribute("data-just-opened")) {
        event.preventDefault();
        event.stopPropagation();
      }
    }, { capture: true });
    this.#root.addEventListener("keydown", (event) => event.repeat && event.key === "Enter" && event.preventDefault());
  }

  // endSignIn closes the panel. What was typed into it is there again after the next sign-in.
  endSignIn() {
    if (this.#laneID !== null && this.#sessionID === undefined) {
      this.#form.keep();
    }
    this.close();
  }

  close() {
    if (this.#laneID === null) {
      return;
    }
    const closed = this.#laneID;
    const focused = this.#root.contains(document.activeElement) || document.activeElement === document.body;
    this.#turnTo(null);
    this.#root.hidden = true;
    this.#form.forget();
    if (focused) {
      this.#onClose(closed);
    }
  }

  #show() {
    const { range, t } = this.#client;
    const lane = range.lanes.get(this.#laneID);
    if (!lane) {
      this.close();
      return;
    }
    const focused = this.#root.contains(document.activeElement);
    const session = lane.session;
    if (session?.session_id !== this.#sessionID) {
      if (this.#sessionID === undefined) {
        this.#form.keep(); // it was sold elsewhere
      }
      this.#sessionID = session?.session_id;
      this.#error.withdraw();
      this.#form.begin(lane);
      this.#session.begin(lane);
    }
    setText(this.#title, session ? `${lane.name} · ${session.customer_name}` : lane.name);
    setText(this.#bay, `${range.bayOf(lane)?.name ?? ""} · ${t(`state.${stateOf(lane)}`)}`);
    this.#badges.replaceChildren(...badges(this.#client, lane, now()));
    this.#drawPurchases(lane);
    this.#form.element.hidden = session !== null;
    this.#session.element.hidden = session === null;
    this.#form.show(lane);
    setText(this.#kept, this.#form.kept && t("form.kept", { customer: this.#form.kept }));
    this.#session.show(lane);
    this.#code.show(lane);
    this.#lane.show(lane);
    this.#facts.replaceChildren(...this.#factsOf(lane).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
    this.#tick(now());
    if (focused && document.activeElement.offsetParent === null) {
      this.#title.focus(); // the focused control is gone
    }
  }

  // drawPurchases shows what was bought at the lane, or by its customer at another one, and is not resolved.
  #drawPurchases(lane) {
    const { range } = this.#client;
    const purchases = range.purchases.filter((purchase) => laneOfPurchase(range.lanes, purchase)?.lane_id === lane.lane_id);
    const drawn = JSON.stringify([lane.session?.session_id, purchases]);
    if (drawn === this.#drawnPurchases) {
      return;
    }
    this.#drawnPurchases = drawn;
    this.#purchases.hidden = purchases.length === 0;
    replaceKeepingFocus(this.#purchases, purchases.map((purchase) => element("section.unresolved", {}, element("h3", {}, this.#client.t("purchases.unresolved")),
      ...purchaseDetails(this.#client, purchase),
      element("div.row", {}, ...settleButtons(this.#client, purchase, this.#error, (words) => words, () => this.#client.refreshPurchases())))), this.#title);
  }

  #factsOf(lane) {
    const { range, t } = this.#client;
    const { session } = lane;
    const facts = [];
    if (session) {
      facts.push([t("fact.group"), range.groupName(session.group_id)], [t("fact.sold"), t("minutes", { n: session.duration })],
        [t("fact.created"), t.time(session.created_at)]);
      if (session.began_at) {
        facts.push([t("fact.began"), t.time(session.began_at)]);
      }
      if (session.open_end) {
        facts.push([t("fact.open_end"), t("open_end.up_to", { n: session.open_end.up_to })]);
      }
      facts.push([t("fact.purchasing"), t(session.purchasing ? "yes" : "no")]);
    }
    facts.push([t("fact.link"), t(`link.${lane.link}`, { time: t.moment(lane.link_since) })]);
    return facts;
  }

  #tick(at) {
    const { range, t } = this.#client;
    const lane = range.lanes.get(this.#laneID);
    this.#time.hidden = !lane?.session;
    const leftMs = lane?.session ? laneTimeLeft(lane, at) : 0;
    const urgent = lane?.session ? urgencyOf(lane, leftMs) : "";
    const graceLeft = lane?.session ? laneGraceLeft(lane, at) : null;
    const owed = lane?.session ? laneOwed(lane, at) : null;
    this.#root.dataset.urgent = urgent;
    setText(this.#time, owed !== null ? t("card.over", { time: formatTime(owed) }) : graceLeft !== null ? t("card.grace", { time: formatTime(graceLeft) }) : leftMs > 0 ? formatTime(leftMs) : t("card.over", { time: formatTime(leftMs) }));
    setText(this.#urgent, urgent ? t(`urgent.${urgent}`) : "");
  }
}
