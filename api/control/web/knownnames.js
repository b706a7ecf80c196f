// The names of those who have signed in at a range in this browser, as large buttons. They are kept in the browser alone: whoever comes
// to the address from elsewhere is shown none.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { remember, remembered } from "./client.js";

const MOST = 8; // of more, those who signed in last

export class KnownNames {
  #t;
  #input;
  #root;
  #chosen;
  #rangeID = "";
  #but = "";

  // input has the name that counts: another one may be typed there. chosen is called when a button was pressed.
  constructor(t, input, root, chosen) {
    this.#t = t;
    this.#input = input;
    this.#root = root;
    this.#chosen = chosen;
    input.addEventListener("input", () => this.#mark());
  }

  // show offers the names of the range, but for one, and enters the name if there is no choice.
  show(rangeID, but) {
    [this.#rangeID, this.#but] = [rangeID, but];
    const names = this.#kept(rangeID).filter((name) => name !== but);
    this.#input.value = names.length === 1 ? names[0] : "";
    this.#root.hidden = names.length === 0;
    this.#root.replaceChildren(...names.map((name) => element("div.known", {},
      element("button.button", { type: "button", "data-name": name, onclick: () => this.#choose(name) }, icon("person"), element("span", {}, name)),
      element("button.button.quiet.forget", { type: "button", hidden: true, "aria-label": this.#t("sign_in.forget", { name }), title: this.#t("sign_in.forget", { name }), onclick: () => this.#forget(name) }, icon("close")))));
    this.#mark();
  }

  // first is the button of who signed in last; null without one.
  get first() {
    return this.#root.querySelector("button");
  }

  add(rangeID, name) {
    this.#keep(rangeID, [name, ...this.#kept(rangeID).filter((other) => other !== name)].slice(0, MOST));
  }

  #choose(name) {
    this.#input.value = name;
    this.#mark();
    this.#chosen();
  }

  // mark shows whose PIN is asked for, and offers to forget that name: whoever has left stays on no device for ever.
  #mark() {
    const name = this.#input.value.trim();
    for (const known of this.#root.children) {
      const [choose, forget] = known.children;
      choose.setAttribute("aria-pressed", String(choose.dataset.name === name));
      forget.hidden = choose.dataset.name !== name;
    }
  }

  #forget(name) {
    this.#keep(this.#rangeID, this.#kept(this.#rangeID).filter((other) => other !== name));
    this.show(this.#rangeID, this.#but);
    this.#input.value = "";
    this.#mark();
    this.#input.focus();
  }

  #kept(rangeID) {
    try {
      const names = JSON.parse(remembered(`names.${rangeID}`));
      return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
    } catch {
      return []; // none yet
    }
  }

  #keep(rangeID, names) {
    remember(`names.${rangeID}`, JSON.stringify(names));
  }
}
