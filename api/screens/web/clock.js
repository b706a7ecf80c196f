// Time on a screen. A message has a session's time left, and a monotonic clock of this device counts it down: the wall clocks
// of gateway and device are never compared, and no counter drifts in a sleeping tab.

// If the wall clock gains more than this on performance.now(), in ms, the device was suspended: some browsers stop
// performance.now() meanwhile.
const SUSPENDED = 2000;

let suspended = 0;
let lead = Date.now() - performance.now();

// now returns this device's monotonic time in ms. A wall clock that was set forward looks like a suspension; the picture
// that Stream then fetches corrects the countdowns.
export function now() {
  const monotonic = performance.now();
  const latest = Date.now() - monotonic;
  if (latest - lead > SUSPENDED) {
    suspended += latest - lead;
  }
  lead = latest;
  return monotonic + suspended;
}

// MessageClock maps the sender's `now` of the messages of one connection to instants of now(). The fastest message is the
// reference: a message that is late, because the network or the tab was frozen, counts from when it was sent.
export class MessageClock {
  #offset = Infinity; // the smallest difference of receipt and sending so far
  #maxShift;

  // begun is the instant at which the connection was begun, before anything was sent over it.
  constructor(begun) {
    this.#maxShift = begun;
  }

  // measure returns when the message received at `received` was sent, and how late it is compared with the fastest one so far.
  // If it is the fastest, all messages before it were sent `earlier` than measured by so many ms: at most the time that the
  // first one can have been late, because a sender whose wall clock is set forward looks the same.
  measure(senderNow, received) {
    const sent = Date.parse(senderNow);
    if (Number.isNaN(sent)) {
      return { sentAt: received, late: 0, earlier: 0 };
    }
    const offset = Math.min(this.#offset, received - sent);
    let earlier = this.#offset - offset;
    if (earlier === Infinity) { // the first message
      [this.#maxShift, earlier] = [received - this.#maxShift, 0];
    } else if (earlier > this.#maxShift) {
      earlier = 0;
    }
    this.#maxShift -= earlier;
    this.#offset = offset;
    return { sentAt: sent + offset, late: received - sent - offset, earlier };
  }
}

// timeLeft returns the time left, at the instant `at`, of a session that had leftMs at sentAt. It is negative after the end.
export function timeLeft(leftMs, running, sentAt, at) {
  return running ? leftMs - (at - sentAt) : leftMs;
}

// formatTime formats a time as 42:05 or 1:02:05. It rounds up to seconds: 0:00 means that the time is over.
export function formatTime(ms) {
  const total = Math.ceil(Math.abs(ms) / 1000);
  const [hours, minutes, seconds] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  const pad = (n) => String(n).padStart(2, "0");
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(seconds)}` : `${minutes}:${pad(seconds)}`;
}

// onTick calls `tick` with now() several times a second while the page is visible, and at once when it becomes visible.
export function onTick(tick) {
  const run = () => {
    if (!document.hidden) {
      requestAnimationFrame(() => tick(now()));
    }
  };
  setInterval(run, 250);
  document.addEventListener("visibilitychange", run);
  run();
}
