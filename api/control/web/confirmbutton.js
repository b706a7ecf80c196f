// A button that asks for confirmation: the first click changes its text, a second one within a few seconds acts.
import { setText } from "/screens/element.js";
import { announce, button, perform } from "./actions.js";

const ARMED = 5_000;
const MIN_INTERVAL = 350; // ms; faster clicks are one double click

// confirmButton creates one. `sure` is its text between the clicks.
export function confirmButton(client, look, sure, error, act) {
  const created = button({ ...look, label: undefined }, click);
  const words = created.querySelector("span");
  let armed = 0;

  setLabel(look.label);
  created.addEventListener("blur", disarm);
  return created;

  function setLabel(label) {
    label ? created.setAttribute("aria-label", label) : created.removeAttribute("aria-label");
  }

  async function click() {
    if (created.getAttribute("aria-disabled") === "true") {
      return;
    }
    if (armed) {
      disarm();
      await perform(client, created, error, act);
      return;
    }
    armed = setTimeout(disarm, ARMED);
    created.classList.add("sure");
    setText(words, sure);
    setLabel(undefined);
    announce(sure);
    created.setAttribute("aria-disabled", "true");
    setTimeout(() => created.removeAttribute("aria-disabled"), MIN_INTERVAL);
  }

  function disarm() {
    clearTimeout(armed);
    armed = 0;
    created.classList.remove("sure");
    setText(words, look.words);
    setLabel(look.label);
  }
}
