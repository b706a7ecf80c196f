// The board: every lane of the range, by bay, in display order.
import { eachTick, now } from "/screens/clock.js";
import { element, setFlag, setText } from "/screens/element.js";
import { BayHead } from "./bayhead.js";
import { LaneCard } from "./lanecard.js";
import { Toolbar } from "./toolbar.js";
import { FILTERS, matches, stateOf } from "./urgency.js";

export class Board {
  #desk;
  #root;
  #cards = new Map(); // by lane
  #bays = []; // {bay, section, head, cards}
  #toolbar;
  #none = element("p.empty", { role: "status" });
  #list = element("div.bays");

  // opened is called with the lane that staff want to see, and the button that they touched.
  constructor(desk, root, opened) {
    this.#desk = desk;
    this.#root = root;
    this.#toolbar = new Toolbar(desk, () => this.#filter());
    root.append(this.#toolbar.element, this.#none, this.#list);
    desk.range.addEventListener("picture", ({ detail }) => detail.layout && this.#build(opened));
    desk.range.addEventListener("lanes", ({ detail }) => this.#show(detail.lanes));
    desk.range.addEventListener("holds", () => this.#bays.forEach(({ head }) => head.show()));
    eachTick((at) => this.#tick(at));
    this.#arrows();
  }

  show() {
    this.#tick(now());
  }

  hide() {}

  // mark shows which lane is opened.
  mark(laneID) {
    for (const [id, card] of this.#cards) {
      setFlag(card.element, "data-shown", id === laneID);
    }
  }

  // focus goes back to the lane's card, from what was opened of it.
  focus(laneID) {
    const card = this.#cards.get(laneID);
    card && !card.element.hidden ? card.focus() : this.#toolbar.focus();
  }

  #build(opened) {
    const { range } = this.#desk;
    const lanes = [...range.lanes.values()];
    this.#cards = new Map(lanes.map((lane) => [lane.lane_id, new LaneCard(this.#desk, lane, opened)]));
    const inBay = (id) => lanes.filter((lane) => lane.bay_id === id).map((lane) => this.#cards.get(lane.lane_id));
    this.#bays = range.bays.map((bay) => {
      const cards = inBay(bay.id);
      const head = new BayHead(this.#desk, bay, cards);
      const grid = element("ul.lanes", {}, ...cards.map((card) => card.element));
      return { bay, head, cards, section: element("section.bay", { "aria-label": bay.name }, head.element, grid) };
    });
    this.#list.replaceChildren(...this.#bays.map(({ section }) => section));
    this.#toolbar.suits(lanes.length);
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
    let other = false;
    for (const card of this.#cards.values()) {
      other = card.tick(at) || other;
    }
    if (other) {
      this.#filter();
    }
  }

  // Lanes that are filtered away stay where they are, hidden: what is shown again needs no drawing.
  #filter() {
    const { range, t } = this.#desk;
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

  // Arrow keys go from lane to lane, so that a desk without a mouse needs no 400 tabs.
  #arrows() {
    this.#list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !event.target.classList.contains("open")) {
        return;
      }
      const all = [...this.#list.querySelectorAll(".bay:not([hidden]) .lane:not([hidden]) .open")];
      const next = all[all.indexOf(event.target) + step];
      if (next) {
        event.preventDefault();
        next.focus();
      }
    });
  }
}
