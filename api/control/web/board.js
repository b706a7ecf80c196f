// The board: every lane of the range, by bay, in display order.
import { onTick, now } from "/screens/clock.js";
import { element, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { ErrorText, announce, button } from "./actions.js";
import { beginButton } from "./beginbutton.js";
import { LaneCard } from "./lanecard.js";
import { FILTERS, densityFor, isSession, matches, sharedWord, stateOf, tileFor } from "./rules.js";
import { Selecting } from "./selecting.js";
import { Toolbar } from "./toolbar.js";

const FINGERS = matchMedia("(pointer: coarse)");

export class Board {
  selecting;
  #client;
  #root;
  #cards = new Map(); // by lane
  #bays = []; // {bay, section, head, cards}
  #toolbar;
  #none = element("p.empty", { role: "status" });
  #list = element("div.bays");
  #picking = null; // {isStill, resolve}: a lane is being chosen
  #bar; // says so

  // onOpen is called with the id of a lane that is opened.
  constructor(client, root, bar, onOpen) {
    this.#client = client;
    this.#root = root;
    this.#toolbar = new Toolbar(client, { changed: () => this.#filter(), densityChanged: () => this.#fit(), select: () => this.selecting.begin() });
    root.append(this.#toolbar.element, this.#none, this.#list);
    client.range.addEventListener("picture", ({ detail }) => detail.layout && this.#build((id, event) => (this.#picking ? this.#choose(id) : this.selecting.press(id, event) || onOpen(id))));
    client.range.addEventListener("lanes", ({ detail }) => this.#show(detail.lanes));
    client.range.addEventListener("holds", () => this.#bays.forEach(({ head }) => head.show()));
    onTick((at) => this.#tick(at));
    this.#addArrowKeys();
    this.selecting = new Selecting(root, this.#list, () => this.#bays.flatMap(({ cards }) => cards));
    this.selecting.addEventListener("change", () => this.selecting.isOn && this.#endPicking(null));
    this.#bar = { element: bar, words: element("p") };
    bar.append(this.#bar.words, button({ words: client.t("pick.cancel") }, () => this.#endPicking(null)));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.#endPicking(null));
    // In the frame, after everything else that a new size changes: on small screens the queue is a page and no dock.
    const fitInFrame = () => requestAnimationFrame(() => this.#fit());
    window.addEventListener("resize", fitInFrame);
    FINGERS.addEventListener("change", fitInFrame);
  }

  show() {
    this.#fit();
    this.#tick(now());
  }

  hide() {
    this.#endPicking(null);
    this.selecting.end();
  }

  // pick has a free lane chosen for a customer, and returns it; null if it is given up, or nobody is left to choose for.
  pick(customer, isStill = () => true) {
    this.#endPicking(null);
    this.selecting.end();
    const words = this.#client.t("pick.words", { customer });
    setText(this.#bar.words, words);
    this.#bar.element.hidden = false;
    setFlag(this.#root, "data-picking", true);
    announce(words);
    return new Promise((resolve) => {
      this.#picking = { isStill, resolve };
      this.#markTargets();
      (this.#list.querySelector(".lane[data-target]:not([hidden]) .open") ?? this.#bar.element.querySelector("button")).focus();
    });
  }

  #choose(id) {
    const lane = this.#client.range.lanes.get(id);
    if (isTarget(lane)) {
      this.#endPicking(lane);
    }
  }

  #endPicking(chosen) {
    const picking = this.#picking;
    this.#picking = null;
    if (picking) {
      this.#bar.element.hidden = true;
      setText(this.#bar.words, "");
      setFlag(this.#root, "data-picking", false);
      this.#markTargets();
      picking.resolve(chosen);
    }
  }

  // markTargets marks the lanes that may be chosen.
  #markTargets() {
    if (this.#picking && !this.#picking.isStill()) {
      this.#endPicking(null);
      return;
    }
    for (const card of this.#cards.values()) {
      setFlag(card.element, "data-target", this.#picking !== null && isTarget(card.lane));
    }
  }

  // fit chooses the density for the size of the window, whatever lies between its head and the board for a while.
  #fit() {
    if (this.#root.hidden || this.#bays.length === 0) {
      return;
    }
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const main = document.getElementById("main");
    const others = [document.querySelector(".top"), document.getElementById("attention"), document.querySelector(".views"), this.#toolbar.element].reduce((sum, { offsetHeight }) => sum + offsetHeight, 0);
    const own = getComputedStyle(this.#list);
    const padding = parseFloat(getComputedStyle(document.getElementById("screen")).paddingBottom);
    const room = {
      width: (main.clientWidth - 2 * parseFloat(own.paddingLeft)) / rem, height: (window.innerHeight - others - padding - parseFloat(own.paddingTop) - parseFloat(own.paddingBottom)) / rem,
      bays: this.#bays.map(({ cards }) => cards.length), compact: this.#toolbar.compact, touch: FINGERS.matches,
    };
    const density = densityFor(room);
    const { width, height, gap, aligned } = tileFor({ density, ...room });
    this.#root.dataset.density = density;
    setFlag(this.#root, "data-compact", density !== "full");
    setFlag(this.#root, "data-aligned", aligned);
    for (const [name, value] of Object.entries({ width, height, gap })) {
      this.#list.style.setProperty(`--tile-${name}`, `${value}rem`);
    }
    this.#toolbar.showCompact(density !== "full");
  }

  // mark marks the opened lane.
  mark(laneID) {
    this.#endPicking(null);
    laneID !== null && this.selecting.end();
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
      const head = new BayHead(this.#client, bay, cards, () => this.selecting.begin(cards.filter((card) => !card.element.hidden).map(({ lane }) => lane.lane_id)));
      const grid = element("ul.lanes", {}, ...cards.map((card) => card.element));
      return { bay, head, cards, section: element("section.bay", { "aria-label": bay.name }, head.element, grid) };
    });
    setFlag(this.#root, "data-numbered", sharedWord(lanes.map(({ name }) => name)) !== undefined);
    this.#list.replaceChildren(...this.#bays.map(({ section }) => section));
    this.#toolbar.showBays(this.#bays.map(({ bay, head }) => ({ name: bay.name, element: head.element })));
    this.selecting.refresh();
    this.#fit();
  }

  #show(lanes) {
    const at = now();
    for (const lane of lanes) {
      this.#cards.get(lane.lane_id)?.show(lane, at);
    }
    this.#filter();
    this.#bays.forEach(({ head }) => head.show());
    this.#picking && this.#markTargets();
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
        card.hidden = !chosen(lane, urgent) || (!isSession(this.#toolbar.typed, lane.session?.session_id) &&
          !matches(this.#toolbar.typed, lane.name, bay.name, lane.session?.customer_name ?? "", lane.session?.external_id ?? "", range.groupName(lane.session?.group_id), t(`state.${stateOf(lane)}`)));
        inBay += card.hidden ? 0 : 1;
      }
      section.hidden = inBay === 0;
      shown += inBay;
    }
    this.#toolbar.count(counts);
    setText(this.#none, shown === 0 && this.#cards.size > 0 ? t("board.none") : "");
    this.selecting.isOn && this.selecting.refresh();
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

// isTarget is true if a session may move to the lane. On a lane that is held it is paused until the release.
function isTarget(lane) {
  return ["free", "locked"].includes(stateOf(lane));
}

// BayHead is the head of a bay: its name, how many of its lanes are free, and a menu with its ceasefire, and with what selects its lanes.
export class BayHead {
  #client;
  #bay;
  #cards;
  #free = element("span.free");
  #begin;

  // onSelect is called when the lanes of the bay are to be selected.
  constructor(client, bay, cards, onSelect) {
    this.#client = client;
    this.#bay = bay;
    this.#cards = cards;
    const { t } = client;
    const error = new ErrorText();
    this.#begin = beginButton(client, { words: t("ceasefire.word"), kind: "danger", label: t("ceasefire.begin_bay", { bay: bay.name }), scope: "bay", id: bay.id }, error);
    const select = button({ words: t("bay.select"), sign: "select" }, () => {
      menu.open = false;
      onSelect();
    });
    const menu = element("details.bay-menu", {}, element("summary.button.quiet", { "aria-label": t("bay.menu", { bay: bay.name }) }, icon("more")),
      element("div.bay-actions", {}, this.#begin, error.element, select));
    menu.addEventListener("toggle", () => (menu.dataset.side = menu.getBoundingClientRect().left > window.innerWidth / 2 ? "left" : "right"));
    document.addEventListener("click", (event) => menu.contains(event.target) || (menu.open = false));
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && menu.open) {
        menu.open = false;
        menu.firstElementChild.focus();
      }
    });
    this.element = element("header.bay-head", {}, element("div.name", {}, element("h2", {}, bay.name), this.#free), menu);
  }

  show() {
    const { range, t } = this.#client;
    const free = this.#cards.filter(({ lane }) => stateOf(lane) === "free").length;
    setText(this.#free, t("bay.free", { free, all: this.#cards.length }));
    const held = range.findHold("bay", this.#bay.id) !== undefined;
    this.#begin.show(held);
    setFlag(this.element, "data-held", held);
    if (held) {
      setText(this.#free, t("ceasefire.is_in_force", { what: t("ceasefire.word") }));
    }
  }
}
