// The pad for a PIN: large digits for a finger. Whoever has a keyboard types into the field, which has the focus meanwhile.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";

const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

export class PINPad {
  #input;

  constructor(t, input, root) {
    this.#input = input;
    // Its keys are no stops of the Tab key: typing does the same.
    const key = (content, look, press) => element("button.button", { type: "button", tabIndex: -1, onclick: press, ...look }, content);
    const digit = (of) => key(of, {}, () => this.#change(input.value + of));
    root.append(...DIGITS.map(digit),
      key(t("pad.letters"), { className: "button quiet", "aria-label": t("pad.letters_label") }, () => this.#type()),
      digit("0"),
      key(icon("erase"), { className: "button quiet", "aria-label": t("pad.erase") }, () => this.#change(input.value.slice(0, -1))));
    root.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  }

  // reset is for the next PIN. Where a finger points, the field opens no keyboard: it would cover the pad.
  reset() {
    this.#input.inputMode = matchMedia("(pointer: coarse)").matches ? "none" : "numeric";
  }

  // type opens the keyboard, for a PIN that has letters.
  #type() {
    this.#input.blur();
    this.#input.inputMode = "text";
    this.#input.focus();
  }

  #change(value) {
    this.#input.value = value.slice(0, this.#input.maxLength);
  }
}
