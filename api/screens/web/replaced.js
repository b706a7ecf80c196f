// Keeps a press from hitting what has taken the place of the control that was pressed before it. Whoever presses twice, or again as nothing
// has happened yet, means that control: not "Resume" where "Pause" was, and not "Buy" where "Look and buy" was.
import { setFlag } from "./element.js";

export const REACTION = 500; // ms, about as long as a hand needs to stop
export const BEGINS = "[data-begins-ceasefire]"; // the mark of the controls that begin a ceasefire: they act at all times
const PLACE = 40; // px around a press, about a finger

// guardReplaced ignores presses where the control that was pressed last has gone. It does so for REACTION, which begins anew with each press that
// is ignored. Of a finger or a mouse, "where" is the place of the press. Of a key it is the focus, which may have moved to what has come, until
// another key moves it on. The body has data-replaced meanwhile.
export function guardReplaced() {
  let pressed = null; // the press that counted last: {control, byKey, x, y}
  let gone = null; // the one whose control is gone
  let timer = 0;
  const ignoreFor = (press) => {
    gone = press;
    setFlag(document.body, "data-replaced", press !== null);
    clearTimeout(timer);
    timer = press && setTimeout(() => ignoreFor(null), REACTION);
  };
  const seeWhetherGone = () => {
    if (pressed !== null && !pressed.control.checkVisibility()) {
      ignoreFor(pressed);
      pressed = null;
      changes.disconnect();
    }
  };
  const changes = new MutationObserver(seeWhetherGone);
  document.addEventListener("click", (event) => {
    if (!event.isTrusted) {
      return; // of the page's own code
    }
    seeWhetherGone();
    const { clientX: x, clientY: y } = event;
    const byKey = event.detail === 0;
    const isThere = gone?.byKey === byKey && (byKey || Math.hypot(x - gone.x, y - gone.y) < PLACE);
    if (isThere && !event.target.closest(BEGINS)) {
      event.preventDefault();
      event.stopPropagation();
      ignoreFor(gone);
      return;
    }
    const control = event.target.closest("button, a");
    if (control !== null) {
      pressed = { control, byKey, x, y };
      changes.observe(document.body, { subtree: true, childList: true, attributeFilter: ["hidden", "open"] });
    }
  }, { capture: true });
  document.addEventListener("keydown", ({ key }) => gone?.byKey && key !== "Enter" && key !== " " && ignoreFor(null));
}
