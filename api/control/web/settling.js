// Keeps presses from hitting what they were not meant for. After a press on a control that begins a ceasefire nothing on the
// page moves, and no other control acts, for SETTLING: somebody who presses twice, or goes on pressing, ends no ceasefire,
// stops no session and signs nobody out. After something was moved, presses count again after REACTION. Controls that begin a
// ceasefire act at all times.
import { BEGINS, REACTION } from "/screens/replaced.js";

const SETTLING = 1_500; // ms
const PRESSES = ["pointerdown", "mousedown", "click"];

let ignoredUntil = 0; // by performance.now()
let ignored = 0; // timers
let settled = 0;

// guardPresses ignores presses on the page while they may be meant for something else: the body has data-ignores-presses then. A
// key acts on what has the focus, wherever that is, so that keys always count.
export function guardPresses() {
  for (const type of PRESSES) {
    document.addEventListener(type, (event) => {
      const byKey = event.type === "click" && event.detail === 0;
      if (document.body.hasAttribute("data-ignores-presses") && !byKey && !event.target.closest(BEGINS)) {
        event.preventDefault();
        event.stopPropagation();
      }
    }, { capture: true });
  }
}

// settle begins at a press on a control that begins a ceasefire. The style sheet keeps the page as it is while the body has
// data-settling: the alarm lies over it.
export function settle() {
  document.body.toggleAttribute("data-settling", true);
  clearTimeout(settled);
  settled = setTimeout(() => document.body.toggleAttribute("data-settling", false), SETTLING);
  ignorePresses(SETTLING + REACTION);
}

// moved is called when something has moved the controls of the page.
export function moved() {
  ignorePresses(REACTION);
}

function ignorePresses(ms) {
  ignoredUntil = Math.max(ignoredUntil, performance.now() + ms);
  document.body.toggleAttribute("data-ignores-presses", true);
  clearTimeout(ignored);
  ignored = setTimeout(() => document.body.toggleAttribute("data-ignores-presses", false), ignoredUntil - performance.now());
}

// ignoreWhenMoved returns a function to be called when controls in an element have moved: presses in it do not count for REACTION then,
// as they may be meant for what was there. The element has data-moved meanwhile.
export function ignoreWhenMoved(target) {
  let timer = 0;
  target.addEventListener("click", (event) => {
    if (event.detail > 0 && target.hasAttribute("data-moved")) {
      event.preventDefault();
      event.stopPropagation();
    }
  }, { capture: true });
  return () => {
    target.toggleAttribute("data-moved", true);
    clearTimeout(timer);
    timer = setTimeout(() => target.toggleAttribute("data-moved", false), REACTION);
  };
}
