// Which range: by its name, never by its id.
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { send } from "/screens/send.js";
import { perform } from "./actions.js";
import { remembered } from "./client.js";

const AGAIN = 3_000; // ms after which the gateway is asked again

export class RangeChoice {
  #client;
  #root;
  #list;
  #search; // for a gateway that lists none
  #error = element("p.trouble", { role: "alert" });
  #chosen;
  #again = 0; // the timer

  // chosen is called with {range_id, others}: whether there are others.
  constructor(client, root, chosen) {
    this.#client = client;
    this.#root = root;
    this.#chosen = chosen;
    const { t } = client;
    this.#list = element("ul.range-list");
    const name = element("input.input", { name: "range_name", autocomplete: "off", spellcheck: false, required: true, maxLength: 200 });
    const open = element("button.button.primary", { type: "submit" }, t("choose.open"));
    this.#search = element("form.range-search", { hidden: true }, element("label.field", {}, element("span", {}, t("choose.name")), name), open);
    this.#search.addEventListener("submit", (event) => {
      event.preventDefault();
      perform(client, open, { element: this.#error, show: (text) => setText(this.#error, text) }, () => this.#find(name.value));
    });
    root.append(element("h1", {}, t("choose.title")), this.#list, this.#search, this.#error);
  }

  // show asks for a range; unasked it chooses where there is no choice, and the last one of this browser.
  async show(unasked) {
    clearTimeout(this.#again);
    let found;
    try {
      found = await send("GET", "/control/ranges");
    } catch (refusal) {
      this.#root.hidden = false;
      setText(this.#error, this.#client.sentence(refusal));
      this.#again = setTimeout(() => this.show(unasked), AGAIN);
      return;
    }
    const { ranges, complete } = found;
    const last = remembered("range");
    const only = complete && ranges.length === 1 ? ranges[0].range_id : "";
    const known = unasked && last !== "" && (!complete || ranges.some(({ range_id: id }) => id === last)) ? last : "";
    if (only || known) {
      this.#chosen({ range_id: only || known, others: !only });
      return;
    }
    this.#root.hidden = false;
    this.#search.hidden = complete;
    this.#draw(ranges, true);
    setText(this.#error, complete && ranges.length === 0 ? this.#client.t("choose.none") : "");
    this.#root.querySelector(complete ? "button" : "input")?.focus();
  }

  hide() {
    clearTimeout(this.#again);
    this.#root.hidden = true;
  }

  // othersThan resolves to whether there are other ranges than that one; to false while the gateway does not say.
  async othersThan(rangeID) {
    const { ranges, complete } = await send("GET", "/control/ranges").catch(() => ({ ranges: [], complete: true }));
    return !complete || ranges.some(({ range_id: id }) => id !== rangeID);
  }

  async #find(name) {
    const { ranges } = await send("GET", `/control/ranges?name=${encodeURIComponent(name)}`);
    if (ranges.length === 1) {
      this.#chosen({ range_id: ranges[0].range_id, others: true });
      return;
    }
    this.#draw(ranges, true);
    setText(this.#error, ranges.length === 0 ? this.#client.t("choose.unknown") : "");
  }

  // draw lists ranges. Of two with the same name the beginning of the id tells them apart.
  #draw(ranges, others) {
    this.#list.replaceChildren(...ranges.map(({ range_id: id, name }) => {
      const twin = ranges.some((other) => other.name === name && other.range_id !== id);
      return element("li", {}, element("button.button", { type: "button", onclick: () => this.#chosen({ range_id: id, others }) },
        element("span", {}, name, twin ? element("small", {}, ` ${id.slice(0, 8)}`) : null), icon("play")));
    }));
  }
}
