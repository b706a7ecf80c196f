// Errors of requests that did not reach the gateway are stale as soon as it is reached again: what the screen then shows is what
// has become of them.

const LEGIBLE = 4_000; // ms that such an error stays at least
const UNREACHED = ["unreachable", "no_answer", "starting", "not_owner"];

const shown = new Map(); // element → the text, and when it was shown

// isUnreached is true for a refusal of a request that the gateway has not carried out, or has not answered.
export function isUnreached(refusal) {
  return UNREACHED.includes(refusal?.code) || /^status_5/.test(refusal?.code);
}

// clearWhenReached clears the element's text when the gateway is reached again, if it is still the same then.
export function clearWhenReached(target, refusal) {
  if (target && isUnreached(refusal)) {
    shown.set(target, { text: target.textContent, at: performance.now() });
  }
}

// reached is called when something has come from the gateway.
export function reached() {
  for (const [target, { text, at }] of shown) {
    if (performance.now() - at < LEGIBLE && target.isConnected) {
      continue; // until the next time: something comes every few seconds
    }
    shown.delete(target);
    if (target.textContent === text) {
      target.textContent = "";
    }
  }
}
