// Buttons that do something: each sends one request, cannot be touched again while that is under way, and what the
// gateway refused is said beside the thing that was acted on.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { announce } from "./announce.js";

// button makes one: {words, sign, kind (classes), label}.
export function button({ words, sign, kind = "", label }, onclick) {
  const classes = kind.split(" ").filter(Boolean).map((name) => `.${name}`).join("");
  const made = element(`button.button${classes}`, { type: "button" }, sign ? icon(sign) : null, words ? element("span", {}, words) : null);
  if (label) {
    made.setAttribute("aria-label", label);
  }
  if (onclick) {
    made.addEventListener("click", onclick);
  }
  return made;
}

// Trouble is where a thing says what was refused.
export class Trouble {
  element = element("p.trouble");

  say(sentence) {
    this.element.textContent = sentence;
    if (sentence) {
      announce(sentence);
    }
  }
}

// perform does what a touch asks for, unless that is under way already, and answers whether it was done. The button keeps
// the focus meanwhile.
export async function perform(desk, touched, trouble, act) {
  if (touched.getAttribute("aria-disabled") === "true") {
    return false;
  }
  trouble.say("");
  touched.setAttribute("aria-disabled", "true");
  touched.setAttribute("aria-busy", "true");
  try {
    await act();
    return true;
  } catch (refusal) {
    trouble.say(desk.sentence(refusal));
    return false;
  } finally {
    touched.removeAttribute("aria-disabled");
    touched.removeAttribute("aria-busy");
  }
}

// action makes a button that performs at one touch.
export function action(desk, look, trouble, act) {
  const made = button(look, () => perform(desk, made, trouble, act));
  return made;
}
