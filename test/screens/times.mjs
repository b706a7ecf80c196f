// The times that a screen shows, held against the time that there is.
import assert from "node:assert/strict";
import { pos } from "./pos.mjs";

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

// rightly holds a time that was shown at an instant against the deadline. A second that has begun is shown, so what is
// right is up to a second more than there is; from there it may be wrong by a second, wherever in its span the deadline is.
export function rightly(shown, at, { from, to }) {
  const error = [milliseconds(shown) - (to - at), milliseconds(shown) - (from - at)];
  assert.ok(error[1] > -1000 && error[0] < 2000, `${shown} was shown at ${new Date(at).toISOString()}, off by ${error} ms`);
}
