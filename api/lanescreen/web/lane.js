// The lane as the stream tells it.
import { leftAt } from "/screens/clock.js";

export class Lane {
  name = "";
  phase = ""; // free, waiting, running, paused; empty before the first message
  held = false;
  help = null; // {coming}
  purchasing = false;
  session = null;
  purchase = null; // {purchase_id, phase, user_message}, the latest of the session
  ended = null; // the session that was on the lane just now, until the next one
  #sentAt = 0;

  heard(told, sentAt) {
    if (this.session && told.session?.session_id !== this.session.session_id) {
      this.ended = this.phase === "waiting" ? null : this.session;
    }
    if (told.session) {
      this.ended = null;
    }
    Object.assign(this, told);
    this.#sentAt = sentAt;
  }

  // earlier takes in that what was heard was sent so much earlier.
  earlier(ms) {
    this.#sentAt -= ms;
  }

  // left is the time left at that instant of now(), in milliseconds.
  left(now) {
    return this.session ? leftAt(this.session.left_ms, this.phase === "running", this.#sentAt, now) : 0;
  }
}
