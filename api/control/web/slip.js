// A touch that was meant for a button which is gone: buttons give way to others as their lane changes, and the second half of
// a double touch on "start" is no order of 15 minutes more.

// noSlips keeps such touches from the buttons in an element.
export function noSlips(of) {
  let touched = null; // the button that the first touch of the series was on
  of.addEventListener("click", (event) => {
    if (event.detail > 1 && touched !== null && !touched.isConnected) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    touched = event.target.closest("button");
  }, { capture: true });
}
