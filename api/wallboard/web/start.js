// Sees to it that the board begins. A file that could not be had when the page was loaded, as the gateway was just being restarted, would
// leave it empty until somebody comes. This module imports nothing, so that it runs whatever is missing.

const PATIENCE = 20_000; // ms that the board may take to begin
const ANSWER = 6_000; // ms that the page may take to come

// loadAgain loads the page again if it is to be had, with that text in it. It returns without doing so otherwise.
export async function loadAgain(text) {
  try {
    const response = await fetch(location.pathname, { cache: "no-store", signal: AbortSignal.timeout(ANSWER) });
    if (response.ok && (await response.text()).includes(text)) {
      location.reload();
    }
  } catch {
    // not to be had at the moment
  }
}

const watch = setInterval(() => {
  if (document.documentElement.hasAttribute("data-begun")) {
    clearInterval(watch);
  } else {
    loadAgain("/board/assets/start.js");
  }
}, PATIENCE);
