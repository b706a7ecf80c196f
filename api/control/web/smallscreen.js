// Small screens have three views at hand: who needs staff, who ends next, and the lanes. The queue of what needs staff is a view of its own
// there, and a dock on every page elsewhere.
import { setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";

const SMALL = matchMedia("(max-width: 40rem), (max-height: 30rem)"); // as in the style sheets: a phone, upright or crosswise
const SIGNS = { queue: "bell", next: "hourglass", board: "bay" };

export const isSmall = () => SMALL.matches;

// useSmallScreen puts the queue where the screen has room for it, now and whenever that changes, and keeps the number on its tab.
export function useSmallScreen(attention, pages) {
  const dock = attention.element;
  const before = dock.nextElementSibling;
  const place = () => {
    isSmall() ? document.getElementById("queue").append(dock) : before.before(dock);
    attention.fillPage(isSmall());
    pages.check();
  };
  for (const [name, sign] of Object.entries(SIGNS)) {
    document.querySelector(`.views a[href="#${name}"]`).prepend(icon(sign));
  }
  SMALL.addEventListener("change", place);
  place();
  const number = document.getElementById("queue-number");
  attention.onCount = (n) => {
    setText(number, n > 0 ? String(n) : "");
    number.closest("a").toggleAttribute("data-any", n > 0);
  };
}
