// What a session with an open end owes: it goes on once what was sold is used up, and the rest is paid afterwards.
import { timeLeft } from "/screens/clock.js";

// owedOf returns what the session owes at the instant `at`, in ms; null as long as something of what was sold is left, and without an open end.
export function owedOf({ left_ms: leftMs, open_end: open }, running, sentAt, at) {
  if (!open || timeLeft(leftMs, running, sentAt, at) > 0) {
    return null;
  }
  const since = open.counts ? Math.max(0, at - sentAt - leftMs) : 0;
  return open.owed_ms + Math.min(since, open.bound_ms - leftMs);
}
