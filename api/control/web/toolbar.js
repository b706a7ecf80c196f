// The toolbar of the board: search, filters, and density.
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { button } from "./actions.js";
import { remember, remembered } from "./client.js";
import { FILTERS } from "./rules.js";

export class Toolbar {
  filter = "all";
  typed = "";
  #search;
  #counts = {};
  #compact;
  #jump;

  // changed is called when the search or the filter has changed, densityChanged when the user has chosen a density, and select when lanes
  // are to be selected.
  constructor(client, { changed, densityChanged, select }) {
    const { t } = client;
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
      remember("compact", this.#compact.getAttribute("aria-pressed") === "true" ? "no" : "yes");
      densityChanged();
    } }, icon("bay"), element("span", {}, t("board.compact")));
    this.#jump = element("div.jump", { role: "group", "aria-label": t("board.jump") });
    this.element = element("div.toolbar", { role: "search" },
      element("div.search", {}, icon("search"), this.#search),
      element("div.scroll", {}, this.#jump, element("fieldset.chips", {}, element("legend.unseen", {}, t("board.filter")), ...chips)),
      element("button.button.quiet", { type: "button", onclick: select }, icon("select"), element("span", {}, t("board.select"))),
      this.#compact);
    document.addEventListener("keydown", (event) => this.#focusOnSlash(event));
  }

  // compact is what the user has chosen: true, false, or undefined for neither.
  get compact() {
    return { yes: true, no: false }[remembered("compact")];
  }

  // showCompact shows whether the tiles are.
  showCompact(compact) {
    this.#compact.setAttribute("aria-pressed", String(compact));
  }

  // showBays shows a control for each bay, on small screens, that scrolls to its head: {name, element} each. A single one needs none.
  showBays(heads) {
    this.#jump.replaceChildren(...(heads.length < 2 ? [] : heads.map(({ name, element: head }) => button({ words: name }, () => head.scrollIntoView()))));
  }

  count(counts) {
    for (const [name, n] of Object.entries(counts)) {
      setText(this.#counts[name], String(n));
    }
  }

  focus() {
    this.#search.focus();
  }

  #focusOnSlash(event) {
    const typing = event.target.matches?.("input, select, textarea");
    if (event.key === "/" && !typing && this.element.offsetParent !== null) {
      event.preventDefault();
      this.#search.focus();
    }
  }
}
