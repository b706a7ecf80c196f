// Who ends next: the sessions in their grace and those whose time runs, by how long they can still run, and the paused ones after them. A press on one opens
// its lane.
import { formatTime, now, onTick } from "/screens/clock.js";
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { LaneErrorText, action, ignoreQuickRepeats, showBusy } from "./actions.js";
import { laneEndsIn, laneGraceLeft, laneOwed, laneTimeLeft } from "./model.js";
import { inGrace, stateOf, urgencyOf } from "./rules.js";
import { ignoreWhenMoved } from "./settling.js";

export class NextEnding {
  #client;
  #root;
  #onOpen;
  #rows = new Map(); // by session
  #list = element("ol.endings");
  #none = element("p.empty");
  #moved;

  // onOpen is called with the id of a lane that is opened.
  constructor(client, root, onOpen) {
    this.#client = client;
    this.#root = root;
    this.#onOpen = onOpen;
    root.append(element("h2.unseen", {}, client.t("next.title")), this.#none, this.#list);
    this.#moved = ignoreWhenMoved(this.#list);
    client.range.addEventListener("lanes", () => root.hidden || this.show());
    onTick((at) => root.hidden || this.#tick(at));
  }

  show() {
    const { range, t } = this.#client;
    const at = now();
    const lanes = [...range.lanes.values()].filter(({ phase }) => phase === "running" || phase === "paused")
      .toSorted((a, b) => Number(stateOf(a) === "paused") - Number(stateOf(b) === "paused") || laneEndsIn(a, at) - laneEndsIn(b, at));
    const sessions = new Set(lanes.map(({ session }) => session.session_id));
    for (const [id, row] of this.#rows) {
      if (!sessions.has(id)) {
        row.element.remove();
        this.#rows.delete(id);
        this.#moved();
      }
    }
    lanes.forEach((lane, i) => {
      const id = lane.session.session_id;
      const row = this.#rows.get(id) ?? new Row(this.#client, (laneID) => this.#onOpen(laneID));
      this.#rows.set(id, row);
      row.show(lane);
      if (this.#list.children[i] !== row.element) {
        i < this.#list.children.length && this.#moved();
        this.#list.insertBefore(row.element, this.#list.children[i] ?? null);
      }
    });
    setText(this.#none, lanes.length === 0 ? t("next.none") : "");
    this.#tick(at);
  }

  hide() {}

  // focus puts the focus on the session of a lane.
  focus(laneID) {
    (this.#list.querySelector(`[data-lane="${laneID}"] .open-lane`) ?? document.getElementById("main")).focus();
  }

  #tick(at) {
    this.#rows.forEach((row) => row.tick(at));
  }
}

const SIGNS = { paused: "pause", grace: "hourglass", beyond: "play" };

// Row is one session. It is built once.
class Row {
  #client;
  #lane;
  #name = element("strong");
  #customer = element("span.customer");
  #time = element("span.time");
  #state = element("span.state");
  #error;

  constructor(client, open) {
    this.#client = client;
    const { t } = client;
    this.#error = new LaneErrorText(client, () => (this.element.isConnected ? this.#lane : undefined)); // the session may end meanwhile
    this.more = action(client, { words: "+15" }, this.#error, (anyway) => client.outcome.modify(this.#lane, 15, anyway));
    ignoreQuickRepeats(this.more);
    this.element = element("li.ending", {},
      element("button.open-lane", { type: "button", onclick: () => open(this.#lane.lane_id) }, element("span.about", {}, this.#name, this.#customer), this.#state, this.#time),
      this.more, this.#error.element);
    this.label = (lane) => t("quick.on_lane", { words: t("quick.more", { minutes: 15 }), lane: lane.name });
  }

  show(lane) {
    const state = stateOf(lane);
    if (!this.#lane || stateOf(this.#lane) !== state) {
      this.#state.replaceChildren(...(SIGNS[state] ? [icon(SIGNS[state]), element("span.unseen", {}, this.#client.t(`state.${state}`))] : []));
    }
    this.#lane = lane;
    this.element.dataset.lane = lane.lane_id;
    showBusy(this.element, lane.lane_id); // the session may have moved
    setText(this.#name, lane.name);
    setText(this.#customer, lane.session.customer_name);
    this.more.setAttribute("aria-label", this.label(lane));
  }

  tick(at) {
    const leftMs = laneTimeLeft(this.#lane, at);
    this.element.dataset.urgent = urgencyOf(this.#lane, leftMs);
    const owed = laneOwed(this.#lane, at);
    setText(this.#time, owed !== null ? this.#client.t("card.over", { time: formatTime(owed) }) : inGrace(this.#lane) ? this.#client.t("card.grace", { time: formatTime(laneGraceLeft(this.#lane, at)) }) : leftMs > 0 ? formatTime(leftMs) : this.#client.t("card.over", { time: formatTime(leftMs) }));
  }
}
