// The page of a screen that has not, or no longer, the right key. Nobody may be there to touch it, so it tries again by itself. It leaves only for
// the screen: what a browser shows instead of a page that cannot be had, it shows until somebody comes.
import { keepAwake } from "./wakelock.js";

const WITHOUT_KEY = 30_000; // ms between two attempts with the cookie, which are not limited
// ms between two attempts with the key in the address. Each counts as a wrong key of the client's network, of which there are five a minute for all
// its screens; more are refused unseen, but no right one.
const WITH_KEY = 300_000;
const ANSWER = 6_000; // ms that the screen may take to come

async function tryAgain() {
  try {
    const response = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(ANSWER) });
    if (response.ok) {
      location.replace(response.url); // without the key
    }
  } catch {
    // not to be had at the moment
  }
}

const pause = new URLSearchParams(location.search).has("key") ? WITH_KEY : WITHOUT_KEY;
setInterval(tryAgain, pause * (0.7 + 0.6 * Math.random()));
keepAwake();
