// A button that asks before it acts: the first touch makes it say so, the second one within a few seconds acts at once.
import { setText } from "/screens/element.js";
import { button, perform } from "./act.js";
import { announce } from "./announce.js";

const ARMED = 5_000;
const APART = 350; // two touches closer than this are one hand that slipped

// twice makes one. `sure` is what the button says between the touches.
export function twice(desk, look, sure, trouble, act) {
  const made = button({ ...look, label: undefined }, touched);
  const words = made.querySelector("span");
  let armed = 0;

  name(look.label);
  made.addEventListener("blur", rest);
  return made;

  function name(label) {
    label ? made.setAttribute("aria-label", label) : made.removeAttribute("aria-label");
  }

  async function touched() {
    if (made.getAttribute("aria-disabled") === "true") {
      return;
    }
    if (armed) {
      rest();
      await perform(desk, made, trouble, act);
      return;
    }
    armed = setTimeout(rest, ARMED);
    made.classList.add("sure");
    setText(words, sure);
    name(undefined);
    announce(sure);
    made.setAttribute("aria-disabled", "true");
    setTimeout(() => made.removeAttribute("aria-disabled"), APART);
  }

  function rest() {
    clearTimeout(armed);
    armed = 0;
    made.classList.remove("sure");
    setText(words, look.words);
    name(look.label);
  }
}
