// The live stream of a screen: server-sent events, read with fetch because EventSource hides the status: an ended session
// must not look like a gateway that is down.
import { MessageClock, now } from "./clock.js";

export const SILENCE = 4_000; // ms without a message after which contact is lost; a beat is sent every 2 s
const PATIENCE = 12_000; // ms that a connection may take to its first message, over a slow network
const CHECKED = 500; // ms between two looks at how long the connection is silent
const GRACE = 2_000; // ms within which a reconnection is not reported
const LATE = 1_500; // ms of delay after which a new connection is better
const RENEWED = 15_000; // minimum ms between two reconnections because of delay
const BACKOFF = [500, 1_000, 2_000, 4_000];
// A hidden tab closes its connection after so many ms: over HTTP/1.1 a browser has six connections for all its tabs, and a
// ceasefire needs a free one.
const HIDDEN = 30_000;

// Stream keeps one connection alive while the screen is open, and calls its handlers:
//
//   message(name, data, sentAt)  a message, and when it was sent by now() of clock.js
//   sentEarlier(ms)              all messages of this connection so far were sent so much earlier than reported
//   contact(lost)                null while the screen is up to date, otherwise the Date of the last message
//   neededHidden()               optional: true while a hidden tab must keep its connection
//   refused()                    there is no session, or it has ended, or what is shown is gone: the stream is closed until open is called
//   headers()                    optional: more headers of each request
//   untimed(name)                optional: true for messages that do not say when they were sent
//   opened()                     optional: a connection is open, whose messages follow
//   failed(status)               optional: the gateway answers with that status, and it is tried again
//   rejected(status)             optional: there is no such stream (400, 404, 422), which is tried no more until follow or open is called
export class Stream {
  #url;
  #handlers;
  #attempt = null; // AbortController of the connection
  #begun = 0; // when the connection was begun
  #spoke = false; // it has had a message
  #checked = 0; // when its silence was last looked at
  #last = null; // instant and Date of the last message
  #down = null; // since when there is no connection
  #renewed = -RENEWED;
  #failures = 0;
  #retry = 0;
  #lost = null;
  #hiding = 0; // the timer of a hidden tab
  #suspended = false;

  constructor(url, handlers, hiddenTimeout = HIDDEN) {
    this.#url = url;
    this.#handlers = handlers;
    const resume = () => this.#resume();
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#hiding);
      if (document.hidden) {
        this.#hiding = setTimeout(() => this.#suspend(), hiddenTimeout);
      } else {
        resume();
      }
    });
    window.addEventListener("online", resume);
    window.addEventListener("pageshow", resume);
    setInterval(() => {
      const late = now() - this.#checked > GRACE;
      this.#checked = now();
      // A page that was busy for a while has messages waiting, which come first.
      late ? setTimeout(() => this.#check(), CHECKED / 2) : this.#check();
    }, CHECKED);
  }

  open() {
    this.#failures = 0;
    this.#last ??= { at: now(), wall: new Date() };
    this.#connect();
  }

  close() {
    this.#attempt?.abort();
    this.#attempt = this.#down = this.#last = null;
    this.#suspended = false;
    clearTimeout(this.#retry);
    this.#reportContact(null);
  }

  // renew replaces a connection that may be outdated at once, and reports lost contact if that does not succeed soon.
  renew() {
    if (this.isOpen) {
      this.#down ??= now();
      this.#connect();
    }
  }

  // follow shows what another address sends from now on.
  follow(url) {
    this.#url = url;
    this.#failures = 0;
    this.isOpen ? this.renew() : this.open();
  }

  get isOpen() {
    return this.#last !== null;
  }

  async #connect() {
    this.#suspended = false;
    clearTimeout(this.#retry);
    this.#attempt?.abort();
    const attempt = (this.#attempt = new AbortController());
    this.#begun = now();
    this.#spoke = false;
    const clock = new MessageClock(this.#begun);
    try {
      const response = await fetch(this.#url, {
        headers: { Accept: "text/event-stream", ...this.#handlers.headers?.() }, cache: "no-store", signal: attempt.signal,
      });
      if ([401, 403, 410].includes(response.status)) {
        this.close();
        this.#handlers.refused();
        return;
      }
      if (this.#handlers.rejected && [400, 404, 422].includes(response.status)) {
        this.close();
        this.#handlers.rejected(response.status);
        return;
      }
      if (response.ok) {
        this.#handlers.opened?.();
        await readEvents(response.body, (name, data) => {
          if (!attempt.signal.aborted) {
            this.#receive(name, data, clock);
          }
        });
      } else {
        this.#handlers.failed?.(response.status);
      }
    } catch {
      // unreachable, interrupted, or aborted by this class
    }
    if (!attempt.signal.aborted) {
      this.#down ??= now();
      this.#scheduleRetry();
    }
  }

  #scheduleRetry() {
    const backoff = BACKOFF[Math.min(this.#failures++, BACKOFF.length - 1)];
    this.#retry = setTimeout(() => this.#connect(), backoff * (0.7 + 0.6 * Math.random()));
  }

  #receive(name, text, clock) {
    const received = now();
    if (name === "bye") {
      this.close();
      this.#handlers.refused();
      return;
    }
    const data = JSON.parse(text);
    const { sentAt, late, earlier } = clock.measure(this.#handlers.untimed?.(name) ? undefined : data.now ?? data.at, received);
    if (earlier > 0) {
      this.#handlers.sentEarlier(earlier);
    }
    this.#last = { at: received, wall: new Date() };
    this.#spoke = true;
    this.#down = null;
    this.#failures = 0;
    this.#reportContact(null);
    this.#handlers.message(name, data, sentAt);
    if (late > LATE && received - this.#renewed > RENEWED) {
      this.#renewed = received;
      this.#connect();
    }
  }

  // check detects a silent connection and lost contact, for which the browser has no event.
  #check() {
    if (!this.isOpen || this.#suspended) {
      return;
    }
    const at = now();
    const silent = at - this.#last.at > SILENCE;
    if (silent && (this.#spoke || at - this.#begun > PATIENCE)) {
      this.#connect();
    }
    // A new connection gets time to succeed: a tab that resumes raises no false alarm.
    if ((silent && at - this.#begun > GRACE) || (this.#down !== null && at - this.#down > GRACE)) {
      this.#reportContact(this.#last.wall);
    }
  }

  // suspend closes the connection until the tab becomes visible.
  #suspend() {
    if (this.isOpen && document.hidden && !this.#handlers.neededHidden?.()) {
      this.#suspended = true;
      clearTimeout(this.#retry);
      this.#attempt?.abort();
    }
  }

  // resume reconnects at once, for a tab that was suspended or a network that is back.
  #resume() {
    if (!this.isOpen || document.hidden) {
      return;
    }
    if (this.#suspended) {
      this.#failures = 0;
      this.#connect();
      return;
    }
    this.#check();
    if (this.#down !== null) {
      this.#failures = 0;
      this.#connect();
    }
  }

  #reportContact(lost) {
    if (this.#lost?.getTime() !== lost?.getTime()) {
      this.#lost = lost;
      this.#handlers.contact(lost);
    }
  }
}

// readEvents parses server-sent events, the fields event and data, and calls handle(name, data) for each event of the body,
// until it ends or fails. https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.
export async function readEvents(body, handle) {
  const reader = body.getReader();
  const text = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return;
    }
    const blocks = (rest + text.decode(value, { stream: true })).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      parseBlock(block, handle);
    }
  }
}

function parseBlock(block, handle) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    switch (line.slice(0, Math.max(colon, 0))) {
      case "event":
        name = value;
        break;
      case "data":
        data.push(value);
    }
  }
  if (data.length > 0 || name === "bye") {
    handle(name, data.join("\n"));
  }
}
