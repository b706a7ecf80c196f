// The head of a bay: its name, how many of its lanes are free, and the ceasefire over it.
import { element, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { Trouble, action } from "./act.js";
import { stateOf } from "./urgency.js";

export class BayHead {
  #desk;
  #bay;
  #cards;
  #free = element("span.free");
  #held;
  #begin;

  constructor(desk, bay, cards) {
    this.#desk = desk;
    this.#bay = bay;
    this.#cards = cards;
    const { t } = desk;
    const trouble = new Trouble();
    this.#held = element("strong.held", { hidden: true }, icon("lock"), t("ceasefire.in_force"));
    this.#begin = action(desk, { words: t("ceasefire.word"), sign: "lock", kind: "danger", label: t("ceasefire.begin_bay", { bay: bay.name }) },
      trouble, () => desk.ceasefire("bay", bay.id));
    this.element = element("header.bay-head", {}, element("div.name", {}, element("h2", {}, bay.name), this.#free, this.#held), this.#begin, trouble.element);
  }

  show() {
    const { range, t } = this.#desk;
    const free = this.#cards.filter(({ lane }) => stateOf(lane) === "free").length;
    setText(this.#free, t("bay.free", { free, all: this.#cards.length }));
    const mine = range.holdOver("bay", this.#bay.id) !== undefined;
    const held = mine || range.holdOver("range") !== undefined;
    this.#held.hidden = !held;
    this.#begin.hidden = mine;
    setFlag(this.element, "data-held", held);
  }
}
