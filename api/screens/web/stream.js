// The live stream of a screen: server-sent events, read with fetch because EventSource hides the status, and a session
// that has ended must not look like a gateway that is down.
import { SentAt, now } from "./clock.js";
import { events } from "./events.js";

const SILENCE = 12_000; // a beat comes every 5 s; two of them missing is a dead connection
const GRACE = 2_000; // a connection that is back within this is not worth a word
const LATE = 1_500; // a message later than this, and the next one is better read from a new connection
const RENEWED = 15_000; // at most this often for being late
const BACKOFF = [500, 1_000, 2_000, 4_000];
// A tab that nobody looks at gives its connection up after so long: over HTTP/1.1 a browser has six for all its tabs
// together, and a ceasefire has to find one free.
const UNSEEN = 30_000;

// Stream keeps one connection alive for as long as the screen is open, and tells:
//
//   heard(name, data, sentAt)  a message, and when by now() of clock.js it was sent
//   earlier(ms)                all that was heard of this connection before was sent so much earlier than was said
//   contact(lost)              null while what is shown is fresh; otherwise since when (a Date) nothing has come
//   refused()                  there is no session, or it has ended: the stream is closed until open is called
export class Stream {
  #url;
  #told;
  #attempt = null; // AbortController of the connection
  #begun = 0; // when it was begun
  #last = null; // when the last message came, and by the wall
  #down = null; // since when there is no connection
  #renewed = -RENEWED;
  #failures = 0;
  #retry = 0;
  #lost = null;
  #unseen = 0; // the timer of a tab that nobody looks at
  #rests = false;

  constructor(url, told, unseen = UNSEEN) {
    this.#url = url;
    this.#told = told;
    const wake = () => this.#wake();
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#unseen);
      if (document.hidden) {
        this.#unseen = setTimeout(() => this.#rest(), unseen);
      } else {
        wake();
      }
    });
    window.addEventListener("online", wake);
    window.addEventListener("pageshow", wake);
    setInterval(() => this.#watch(), 1000);
  }

  open() {
    this.#failures = 0;
    this.#last ??= { at: now(), wall: new Date() };
    this.#connect();
  }

  close() {
    this.#attempt?.abort();
    this.#attempt = this.#down = this.#last = null;
    this.#rests = false;
    clearTimeout(this.#retry);
    this.#tell(null);
  }

  // renew is for whoever has reason to doubt the connection: another one is made at once, and contact is lost if that does
  // not come about soon.
  renew() {
    if (this.isOpen) {
      this.#down ??= now();
      this.#connect();
    }
  }

  get isOpen() {
    return this.#last !== null;
  }

  async #connect() {
    this.#rests = false;
    clearTimeout(this.#retry);
    this.#attempt?.abort();
    const attempt = (this.#attempt = new AbortController());
    this.#begun = now();
    const clock = new SentAt(this.#begun);
    try {
      const response = await fetch(this.#url, {
        headers: { Accept: "text/event-stream" }, cache: "no-store", signal: attempt.signal,
      });
      if (response.status === 401 || response.status === 403) {
        this.close();
        this.#told.refused();
        return;
      }
      if (response.ok) {
        await events(response.body, (name, data) => {
          if (!attempt.signal.aborted) {
            this.#take(name, data, clock);
          }
        });
      }
    } catch {
      // unreachable, cut off, or given up by ourselves
    }
    if (!attempt.signal.aborted) {
      this.#down ??= now();
      this.#later();
    }
  }

  #later() {
    const pause = BACKOFF[Math.min(this.#failures++, BACKOFF.length - 1)];
    this.#retry = setTimeout(() => this.#connect(), pause * (0.7 + 0.6 * Math.random()));
  }

  #take(name, text, clock) {
    const heard = now();
    if (name === "bye") {
      this.close();
      this.#told.refused();
      return;
    }
    const data = JSON.parse(text);
    const { sentAt, late, earlier } = clock.of(data.now, heard);
    if (earlier > 0) {
      this.#told.earlier(earlier);
    }
    this.#last = { at: heard, wall: new Date() };
    this.#down = null;
    this.#failures = 0;
    this.#tell(null);
    this.#told.heard(name, data, sentAt);
    if (late > LATE && heard - this.#renewed > RENEWED) {
      this.#renewed = heard;
      this.#connect();
    }
  }

  // watch notices what no event tells of: a connection that is silent, and contact that is lost.
  #watch() {
    if (!this.isOpen || this.#rests) {
      return;
    }
    const at = now();
    const silent = at - this.#last.at > SILENCE;
    if (silent && at - this.#begun > SILENCE) {
      this.#connect();
    }
    // A connection that was just begun may still put it right: a tab that wakes up raises no false alarm.
    if ((silent && at - this.#begun > GRACE) || (this.#down !== null && at - this.#down > GRACE)) {
      this.#tell(this.#last.wall);
    }
  }

  // rest lets go of the connection until somebody looks at the tab again.
  #rest() {
    if (this.isOpen && document.hidden) {
      this.#rests = true;
      clearTimeout(this.#retry);
      this.#attempt?.abort();
    }
  }

  // wake is for a tab that slept, and a network that is back: nothing is waited for.
  #wake() {
    if (!this.isOpen || document.hidden) {
      return;
    }
    if (this.#rests) {
      this.#failures = 0;
      this.#connect();
      return;
    }
    this.#watch();
    if (this.#down !== null) {
      this.#failures = 0;
      this.#connect();
    }
  }

  #tell(lost) {
    if (this.#lost?.getTime() !== lost?.getTime()) {
      this.#lost = lost;
      this.#told.contact(lost);
    }
  }
}
