// The board: every lane of the range, by bay, in display order.
import { onTick, now } from "/screens/clock.js";
import { element, setFlag, setText } from "/screens/element.js";
import { ErrorText } from "./actions.js";
import { beginButton } from "./beginbutton.js";
import { LaneCard } from "./lanecard.js";
import { FILTERS, matches, stateOf } from "./rules.js";
import { Toolbar } from "./toolbar.js";

export class Board {
  #client;
  #root;
  #cards = new Map(); // by lane
  #bays = []; // {bay, section, head, cards}
  #toolbar;
  #none = element("p.empty", { role: "status" });
  #list = element("div.bays");

  // onOpen is called with the id of a lane that is opened, and its button.
  constructor(client, root, onOpen) {
    this.#client = client;
    this.#root = root;
    this.#toolbar = new Toolbar(client, () => this.#filter());
    root.append(this.#toolbar.element, this.#none, this.#list);
    client.range.addEventListener("picture", ({ detail }) => detail.layout && this.#build(onOpen));
    client.range.addEventListener("lanes", ({ detail }) => this.#show(detail.lanes));
    client.range.addEventListener("holds", () => this.#bays.forEach(({ head }) => head.show()));
    onTick((at) => this.#tick(at));
    this.#addArrowKeys();
  }

  show() {
    this.#tick(now());
  }

  hide() {}

  // mark marks the opened lane.
  mark(laneID) {
    for (const [id, card] of this.#cards) {
      setFlag(card.element, "data-shown", id === laneID);
    }
  }

  // focus returns the focus to a lane's card.
  focus(laneID) {
    const card = this.#cards.get(laneID);
    card && !card.element.hidden ? card.focus() : this.#toolbar.focus();
  }

  #build(onOpen) {
    const { range } = this.#client;
    const lanes = [...range.lanes.values()];
    this.#cards = new Map(lanes.map((lane) => [lane.lane_id, new LaneCard(this.#client, lane, onOpen)]));
    const inBay = (id) => lanes.filter((lane) => lane.bay_id === id).map((lane) => this.#cards.get(lane.lane_id));
    this.#bays = range.bays.map((bay) => {
      const cards = inBay(bay.id);
      const head = new BayHead(this.#client, bay, cards);
      const grid = element("ul.lanes", {}, ...cards.map((card) => card.element));
      return { bay, head, cards, section: element("section.bay", { "aria-label": bay.name }, head.element, grid) };
    });
    this.#list.replaceChildren(...this.#bays.map(({ section }) => section));
    this.#toolbar.setDensity(lanes.length);
  }

  #show(lanes) {
    const at = now();
    for (const lane of lanes) {
      this.#cards.get(lane.lane_id)?.show(lane, at);
    }
    this.#filter();
    this.#bays.forEach(({ head }) => head.show());
  }

  #tick(at) {
    let changed = false;
    for (const card of this.#cards.values()) {
      changed = card.tick(at) || changed;
    }
    if (changed) {
      this.#filter();
    }
  }

  // Filtered lanes are hidden and stay in the document, so that showing them again needs no drawing.
  #filter() {
    const { range, t } = this.#client;
    const chosen = FILTERS[this.#toolbar.filter];
    const counts = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, 0]));
    let shown = 0;
    for (const { bay, section, cards } of this.#bays) {
      let inBay = 0;
      for (const { lane, urgent, element: card } of cards) {
        for (const [name, rule] of Object.entries(FILTERS)) {
          counts[name] += rule(lane, urgent) ? 1 : 0;
        }
        card.hidden = !chosen(lane, urgent) ||
          !matches(this.#toolbar.typed, lane.name, bay.name, lane.session?.customer_name ?? "", range.groupName(lane.session?.group_id), t(`state.${stateOf(lane)}`));
        inBay += card.hidden ? 0 : 1;
      }
      section.hidden = inBay === 0;
      shown += inBay;
    }
    this.#toolbar.count(counts);
    setText(this.#none, shown === 0 && this.#cards.size > 0 ? t("board.none") : "");
  }

  // Arrow keys move from lane to lane, so that keyboard users need no 400 tabs.
  #addArrowKeys() {
    this.#list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !event.target.classList.contains("open")) {
        return;
      }
      const buttons = [...this.#list.querySelectorAll(".bay:not([hidden]) .lane:not([hidden]) .open")];
      const next = buttons[buttons.indexOf(event.target) + step];
      if (next) {
        event.preventDefault();
        next.focus();
      }
    });
  }
}

// BayHead is the head of a bay: its name, how many of its lanes are free, and its ceasefire.
export class BayHead {
  #client;
  #bay;
  #cards;
  #free = element("span.free");
  #begin;

  constructor(client, bay, cards) {
    this.#client = client;
    this.#bay = bay;
    this.#cards = cards;
    const { t } = client;
    const error = new ErrorText();
    this.#begin = beginButton(client, { words: t("ceasefire.word"), kind: "danger", label: t("ceasefire.begin_bay", { bay: bay.name }), scope: "bay", id: bay.id }, error);
    this.element = element("header.bay-head", {}, element("div.name", {}, element("h2", {}, bay.name), this.#free), this.#begin, error.element);
  }

  show() {
    const { range, t } = this.#client;
    const free = this.#cards.filter(({ lane }) => stateOf(lane) === "free").length;
    setText(this.#free, t("bay.free", { free, all: this.#cards.length }));
    this.#begin.show(range.findHold("bay", this.#bay.id) !== undefined);
  }
}
