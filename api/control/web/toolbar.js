// What is shown of the board: search, filters, and how close the lanes stand.
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { remember, remembered } from "./remember.js";
import { FILTERS } from "./urgency.js";

const MANY = 60; // lanes: from here on they stand close unless staff chose otherwise

export class Toolbar {
  filter = "all";
  typed = "";
  #search;
  #counts = {};
  #compact;

  constructor(desk, changed) {
    const { t } = desk;
    this.#search = element("input.input", { type: "search", placeholder: t("board.search"), "aria-label": t("board.search") });
    this.#search.addEventListener("input", () => {
      this.typed = this.#search.value;
      changed();
    });
    const chips = Object.keys(FILTERS).map((name) => {
      const radio = element("input", { type: "radio", name: "filter", value: name, checked: name === this.filter, onchange: () => {
        this.filter = name;
        changed();
      } });
      this.#counts[name] = element("span.count");
      return element("label.chip", {}, radio, element("span", {}, t(`filter.${name}`), this.#counts[name]));
    });
    this.#compact = element("button.button.quiet", { type: "button", "aria-pressed": "false", onclick: () => {
      const on = this.#compact.getAttribute("aria-pressed") !== "true";
      remember("compact", on ? "yes" : "no");
      this.#stand(on);
    } }, icon("bay"), element("span", {}, t("board.compact")));
    this.element = element("div.toolbar", { role: "search" },
      element("div.search", {}, icon("search"), this.#search),
      element("fieldset.chips", {}, element("legend.unseen", {}, t("board.filter")), ...chips),
      this.#compact);
    document.addEventListener("keydown", (event) => this.#slash(event));
  }

  // suits a range of that many lanes.
  suits(lanes) {
    const chosen = remembered("compact");
    this.#stand(chosen ? chosen === "yes" : lanes > MANY);
  }

  count(counts) {
    for (const [name, n] of Object.entries(counts)) {
      setText(this.#counts[name], String(n));
    }
  }

  focus() {
    this.#search.focus();
  }

  #stand(close) {
    this.#compact.setAttribute("aria-pressed", String(close));
    document.getElementById("board").toggleAttribute("data-compact", close);
  }

  #slash(event) {
    const writing = event.target.matches?.("input, select, textarea");
    if (event.key === "/" && !writing && this.element.offsetParent !== null) {
      event.preventDefault();
      this.#search.focus();
    }
  }
}
