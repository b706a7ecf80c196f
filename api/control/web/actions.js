// Buttons: each sends one request and is disabled while that is under way. A refusal is shown beside the button, and
// announced to screen readers.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { clearWhenReached } from "/screens/recovery.js";

// button creates a button: {words, sign (icon), kind (classes), label}.
export function button({ words, sign, kind = "", label }, onclick) {
  const classes = kind.split(" ").filter(Boolean).map((name) => `.${name}`).join("");
  const created = element(`button.button${classes}`, { type: "button" }, sign ? icon(sign) : null, words ? element("span", {}, words) : null);
  if (label) {
    created.setAttribute("aria-label", label);
  }
  if (onclick) {
    created.addEventListener("click", onclick);
  }
  return created;
}

// ErrorText is the place of a refusal beside what was acted on.
export class ErrorText {
  element = element("p.trouble");

  // show shows a sentence; with a button, what may be done about it.
  show(sentence, offer = null) {
    this.element.textContent = sentence;
    offer && this.element.append(" ", offer);
    if (sentence) {
      announce(sentence);
    }
  }

  // withdraw takes the button away, whose offer is about something else by now.
  withdraw() {
    this.element.querySelector("button")?.remove();
  }
}

// LaneErrorText is the ErrorText of a view that shows one lane after another. An action belongs to the lane that was shown when it began: its
// control is busy only while that lane is shown, and a refusal that comes when it is not is told in the head of the page, with its name.
export class LaneErrorText extends ErrorText {
  #client;
  #shown;

  // shown returns the lane that is shown, or undefined.
  constructor(client, shown) {
    super();
    this.#client = client;
    this.#shown = shown;
  }

  // ofShown returns the place of an action on the lane that is shown now.
  ofShown() {
    const { element } = this;
    const lane = this.#shown();
    const isShown = () => this.#shown()?.lane_id === lane?.lane_id;
    return {
      laneID: lane?.lane_id,
      isShown,
      get element() { return isShown() ? element : null; },
      show: (sentence, offer = null) => (isShown() ? this.show(sentence, offer) : sentence && this.#client.outcome.refused(lane, sentence, offer)),
    };
  }
}

const underWay = new Map(); // control → the lanes on which an action of it is under way; undefined stands for no lane

function setBusy(control, busy) {
  for (const attribute of ["aria-disabled", "aria-busy"]) {
    busy ? control.setAttribute(attribute, "true") : control.removeAttribute(attribute);
  }
}

// showBusy has the controls in a view, which shows that lane now, be busy with what is under way on it, and with nothing else.
export function showBusy(view, laneID) {
  for (const [control, lanes] of underWay) {
    view.contains(control) && setBusy(control, lanes.has(laneID));
  }
}

// perform runs an action unless it is under way already, and returns whether it succeeded. The button keeps the focus. error is an ErrorText,
// or what LaneErrorText.ofShown returned when the action was begun. Of minutes that would
// be used after the range has closed, the refusal offers to sell them anyway: act is called again then, with more for the body of its
// request, and afterwards, if it is given, is called once that has succeeded.
// The words of that offer are those of a sale, unless others are given.
export async function perform(client, pressed, error, act, afterwards = () => {}, more = {}, words = "after_closing.anyway") {
  const place = error.ofShown?.() ?? error;
  const isShown = () => place.isShown?.() !== false;
  if (isShown() ? pressed.getAttribute("aria-disabled") === "true" : underWay.get(pressed)?.has(place.laneID)) {
    return false;
  }
  place.show("");
  const lanes = underWay.get(pressed) ?? new Set();
  underWay.set(pressed, lanes.add(place.laneID));
  isShown() && setBusy(pressed, true);
  try {
    await act(more);
    return true;
  } catch (refusal) {
    place.show(client.sentence(refusal), refusal.code === "after_closing" ? anyway(client, pressed, place, act, afterwards, words) : null);
    clearWhenReached(place.element, refusal);
    return false;
  } finally {
    lanes.delete(place.laneID);
    lanes.size === 0 && underWay.delete(pressed);
    isShown() && setBusy(pressed, false);
  }
}

// anyway creates the button that does it although the range closes before those minutes would be used.
function anyway(client, pressed, error, act, afterwards, words) {
  return button({ words: client.t(words), kind: "anyway" }, async () => {
    pressed.isConnected && error.isShown?.() !== false && pressed.focus(); // this button goes
    if (await perform(client, pressed, error, act, afterwards, { after_closing: true }, words)) {
      afterwards();
    }
  });
}

// action creates a button that performs its action at one click.
export function action(client, look, error, act) {
  const created = button(look, () => perform(client, created, error, act));
  return created;
}

const ANNOUNCE_DELAY = 150; // ms; a region that changes faster may not be read

let pending = 0;

// announce has a screen reader speak the sentence at once, also one that it has just spoken.
export function announce(sentence) {
  const region = document.getElementById("said");
  region.textContent = "";
  clearTimeout(pending);
  pending = setTimeout(() => (region.textContent = sentence), ANNOUNCE_DELAY);
}

const REPEAT = 350; // ms; a double click of whoever is used to one

// ignoreQuickRepeats ignores a press on the element, which is a button or has buttons, that follows another one at once: a double click on +15
// sells 15 minutes. A confirmation has a time of its own.
export function ignoreQuickRepeats(target) {
  let pressed = -Infinity;
  target.addEventListener("click", (event) => {
    if (!event.target.closest("button")) {
      return; // a press on a label is one on its input at once
    }
    if (event.timeStamp - pressed < REPEAT && !event.target.closest(".sure")) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    pressed = event.timeStamp;
  }, { capture: true });
}
