// Time on a screen. A session's time left comes with a message and is counted down by a clock of this device that only
// goes forward: nobody's wall clock is compared with another's, and no counter drifts in a tab that sleeps.

// A wall clock that is further ahead of performance.now() than it was at the last look, by more than this, tells of a
// device that was suspended: some browsers let performance.now() stand still meanwhile.
const SUSPENDED = 2000;

let slept = 0;
let ahead = Date.now() - performance.now();

// now is this device's clock in milliseconds from some instant in the past. A wall clock that was set forward looks like
// a suspension; the picture that Stream fetches then puts the countdowns right.
export function now() {
  const steady = performance.now();
  const lead = Date.now() - steady;
  if (lead - ahead > SUSPENDED) {
    slept += lead - ahead;
  }
  ahead = lead;
  return steady + slept;
}

// SentAt maps the sender's `now` of the messages of one connection to instants of now(). The message that was under way
// for the shortest time is the measure: one that comes late, because it was held up or the tab was frozen, counts from
// when it was sent.
export class SentAt {
  #least = Infinity;
  #room;

  // The connection was begun at that instant of now(), before anything was sent over it.
  constructor(begun) {
    this.#room = begun;
  }

  // of answers when the message that was heard at `heard` was sent, and how late it is against the fastest one so far. Where
  // it is the fastest, all before it were sent so much `earlier` than was said of them: no more than the first one can have
  // been late, since a sender whose wall clock is set forward looks the same.
  of(senderNow, heard) {
    const sent = Date.parse(senderNow);
    if (Number.isNaN(sent)) {
      return { sentAt: heard, late: 0, earlier: 0 };
    }
    const least = Math.min(this.#least, heard - sent);
    let earlier = this.#least - least;
    if (earlier === Infinity) { // the first one
      [this.#room, earlier] = [heard - this.#room, 0];
    } else if (earlier > this.#room) {
      earlier = 0;
    }
    this.#room -= earlier;
    this.#least = least;
    return { sentAt: sent + least, late: heard - sent - least, earlier };
  }
}

// leftAt is the time left at the instant `at` of a session that had leftMs at sentAt. It may be negative: time is over.
export function leftAt(leftMs, running, sentAt, at) {
  return running ? leftMs - (at - sentAt) : leftMs;
}

// face shows a time as clocks do, 42:05 or 1:02:05. A second that has begun counts: 0:00 is shown when time is over, not
// before.
export function face(ms) {
  const all = Math.ceil(Math.abs(ms) / 1000);
  const [hours, minutes, seconds] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  const two = (n) => String(n).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}

// eachTick calls `tick` with now() several times a second while the page is seen, and at once when it is seen again.
export function eachTick(tick) {
  const once = () => {
    if (!document.hidden) {
      requestAnimationFrame(() => tick(now()));
    }
  };
  setInterval(once, 250);
  document.addEventListener("visibilitychange", once);
  once();
}
