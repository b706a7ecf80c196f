// When a screen marks a session: as it ends soon, and in a moment. A message has these times left where the session has others than those of
// one that is not warned.
const MINUTE = 60_000;

export const SOON = 5 * MINUTE;
export const LAST = MINUTE;

// markOf returns whether a session with so much time left ends "soon" or is in its "last" time, and from which time left on; undefined before.
export function markOf({ soon_ms: soon = SOON, last_ms: last = LAST }, left) {
  if (left > soon) {
    return undefined;
  }
  return left <= last ? { mark: "last", from: last } : { mark: "soon", from: soon };
}

// warningOf returns the words of a mark for the customer.
export function warningOf(t, { from }, left) {
  if (left === 0) {
    return t("warning.over");
  }
  return from <= MINUTE ? t("warning.last") : t("warning.soon", { minutes: Math.round(from / MINUTE) });
}
