// The control that begins a ceasefire over the range or a bay, or a hold of a lane, at one press: as soon as a finger, a pen or the mouse is
// down on it, wherever that goes then, and whatever else touches the screen. It keeps its place and its size while the ceasefire is in force.
// A press counts then too: what the screen shows may be old, and setting a hold again changes nothing.
import { element, setFlag } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { perform } from "./actions.js";
import { settle } from "./settling.js";

const CLICK = 1_000; // ms within which the click of a press follows its end

// beginButton creates one: {words, label, kind (class), scope, id (of the bay or the lane), rangeID (of another range than the signed-in
// user's)}. Its method show(inForce) shows whether that ceasefire is in force. The hold of a lane begins at the click: its control is in a
// panel, which opens and scrolls under fingers.
export function beginButton(client, { words, label, kind, scope, id = null, rangeID }, error) {
  const { t } = client;
  let inForce = false;
  let pressed = false; // the next click is that of a press that has counted
  let released = 0; // the timer of pressed
  // Both texts lie in one place, which is as large as the larger one.
  const texts = element("span.either", {}, element("span", {}, words), element("span", {}, t("ceasefire.in_force")));
  const created = element(`button.button.${kind}`, { type: "button", "data-begins-ceasefire": scope, onclick: click }, icon("lock"), texts);
  if (scope !== "lane") {
    beginAtOnce();
  }
  created.show = (now) => {
    inForce = now;
    setFlag(created, "data-in-force", now);
    created.setAttribute("aria-label", now ? t("ceasefire.is_in_force", { what: label }) : label);
  };
  created.show(false);
  return created;

  function beginAtOnce() {
    const press = () => {
      clearTimeout(released);
      pressed = true;
      begin();
    };
    const release = () => {
      clearTimeout(released);
      released = setTimeout(() => (pressed = false), CLICK);
    };
    created.addEventListener("pointerdown", (event) => {
      press();
      created.setPointerCapture(event.pointerId); // so that the end of the press is seen, wherever it is
    });
    created.addEventListener("lostpointercapture", release);
    created.addEventListener("contextmenu", (event) => event.preventDefault());
    created.addEventListener("keydown", (event) => {
      if (["Enter", " "].includes(event.key)) {
        event.repeat ? event.preventDefault() : press();
      }
    });
    created.addEventListener("keyup", release);
    created.addEventListener("blur", release);
  }

  // click handles a click that is no part of a press, as a screen reader sends it.
  function click() {
    pressed || begin();
    pressed = false;
  }

  async function begin() {
    settle();
    created.removeAttribute("aria-disabled"); // of a request that is under way: this press has it sent again, if it hangs
    await perform(client, created, error, () => client.ceasefire(scope, id, rangeID));
  }
}
