// The times that a screen shows, held against the time that there is.
import assert from "node:assert/strict";
import { pos } from "./pos.mjs";
import { eventually } from "./story.mjs";

// deadline is when the session's time runs out, by this machine's wall clock, as the API has it: {from, to}.
export async function deadline(session) {
  const asked = Date.now();
  const left = (await pos("GET", `/sessions/${session}`)).minutes_remaining * 60_000;
  return { from: asked + left, to: Date.now() + left };
}

// watchTime has the page write down what it shows there, over and over again. While the page does not get to run, it can
// neither draw nor write down.
export function watchTime(page, selector) {
  return page.evaluate((sought) => {
    window.times = [];
    let before = performance.now();
    let ran = 0; // how often in a row it came in time
    setInterval(() => {
      const at = performance.now();
      ran = at - before > 300 ? 0 : ran + 1;
      before = at;
      const shown = document.querySelector(sought);
      if (ran > 3 && shown?.checkVisibility()) {
        window.times.push([Date.now(), shown.textContent]);
      }
    }, 100);
  }, selector);
}

export const timesOf = (page) => page.evaluate(() => window.times);

// milliseconds of a time as it is shown, 59:03 or 1:02:05.
export function milliseconds(shown) {
  assert.match(shown, /^(\d+:)?\d+:\d\d$/);
  return shown.split(":").reduce((all, part) => all * 60 + Number(part), 0) * 1000;
}

// LATE is how much later, in ms, a busy machine may read a message, or draw a second that has passed.
export const LATE = 10_000;

// errorOf is how much more a time that was shown at an instant is than there was: {least, most} in ms, as the deadline is known. A second that
// has begun is shown, so up to a second more is right.
function errorOf(shown, at, { from, to }) {
  return { least: milliseconds(shown) - (to - at), most: milliseconds(shown) - (from - at) };
}

// rightly holds a time that was shown at an instant against the deadline: it may be wrong by a second, and old on a busy machine.
export function rightly(shown, at, due) {
  const { least, most } = errorOf(shown, at, due);
  assert.ok(most > -1000 && least < 2000 + LATE, `${shown} was shown at ${new Date(at).toISOString()}, off by ${least} to ${most} ms`);
}

// exactly waits until the latest of the times is wrong by a second at most. times() has them, as [at, shown].
export function exactly(times, due) {
  return eventually("the right time", async () => {
    const [at, shown] = (await times()).at(-1);
    const { least, most } = errorOf(shown, at, due);
    return most > -1000 && least < 2000;
  });
}
