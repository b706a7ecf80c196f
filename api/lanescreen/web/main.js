// The lane screen: the state of one lane, and what its shooter can do.
import { onTick, timeLeft } from "/screens/clock.js";
import { setText } from "/screens/element.js";
import { Hours } from "/screens/hours.js";
import { icon } from "/screens/icons.js";
import { owedOf } from "/screens/openend.js";
import { reached } from "/screens/recovery.js";
import { guardReplaced } from "/screens/replaced.js";
import { Stream } from "/screens/stream.js";
import { loadTexts } from "/screens/texts.js";
import { keepAwake } from "/screens/wakelock.js";
import { Help } from "./help.js";
import { MoreTime } from "./moretime.js";
import { Shop } from "./shop.js";
import { StateView } from "./stateview.js";

// Lane is the lane as the stream reports it.
class Lane {
  name = "";
  phase = ""; // free, waiting, running, paused; empty before the first message
  held = false;
  for_sale = true; // and in working order
  reserved = false; // a POS is being paid for it
  help = null; // {coming}
  purchasing = false;
  currency = ""; // of prices; empty: none is shown
  session = null;
  purchase = null; // {purchase_id, phase, user_message}, the latest of the session
  ended = null; // the last session, until the next one
  moved_to = ""; // the name of the lane to which that has moved
  clear_ms = 0; // its time was up, and the lane has to be cleared within so long
  hours = new Hours(); // of the range
  #sentAt = 0;

  // receive applies a message, sent at that instant of now().
  receive(lane, sentAt) {
    if (this.session && lane.session?.session_id !== this.session.session_id) {
      this.ended = this.phase === "waiting" && !lane.moved_to ? null : this.session;
    }
    if (lane.session) {
      this.ended = null;
    }
    Object.assign(this, { moved_to: "" }, lane);
    this.#sentAt = sentAt;
  }

  // shiftSentAt corrects when the messages so far were sent.
  shiftSentAt(ms) {
    this.#sentAt -= ms;
    this.hours.shiftSentAt(ms);
  }

  // clearLeft returns how long the lane has to be cleared from that instant of now() on, in ms.
  clearLeft(now) {
    return Math.max(0, timeLeft(this.clear_ms, true, this.#sentAt, now));
  }

  // startsIn returns how long it is at that instant of now() until the session begins together with others, in ms; null if it does not.
  startsIn(now) {
    const startsMs = this.session?.starts_ms;
    return startsMs === undefined ? null : Math.max(0, timeLeft(startsMs, true, this.#sentAt, now));
  }

  // graceLeft returns how long the session is in its grace from that instant of now() on, in ms; null if it is in none.
  graceLeft(now) {
    const graceMs = this.session?.grace_ms;
    return graceMs === undefined ? null : Math.max(0, timeLeft(graceMs, true, this.#sentAt, now));
  }

  // owed returns what the session owes at that instant of now(), in ms; null if it does not go on beyond what was sold.
  owed(now) {
    return this.session && owedOf(this.session, this.phase === "running", this.#sentAt, now);
  }

  // atMost returns how long a session with an open end can go on from that instant of now() on, in ms.
  atMost(now) {
    return Math.max(0, timeLeft(this.session.open_end.bound_ms, this.phase === "running", this.#sentAt, now));
  }

  // room returns how many minutes the session may still be given before the range closes.
  room(now) {
    return this.hours.room(this.timeLeft(now), now);
  }

  // timeLeft returns the time left at that instant of now(), in ms.
  timeLeft(now) {
    return this.session ? timeLeft(this.session.left_ms, this.phase === "running", this.#sentAt, now) : 0;
  }
}

const byId = (id) => document.getElementById(id);
const base = location.pathname.replace(/\/$/, "");
const t = await loadTexts("/lane/assets/");
document.documentElement.lang = t.language;
document.title = t("title");
guardReplaced();

const lane = new Lane();
const help = new Help(t, base, lane, byId("help"));
const shop = new Shop(t, base, lane, byId("help"));
const moreTime = new MoreTime(t, base, lane, shop);
const stateView = new StateView(t, base, lane, byId("main"), { status: byId("said"), alarm: byId("alarm"), shop, moreTime });

function show() {
  setText(byId("lane"), lane.name);
  setText(byId("customer"), lane.session?.customer_name ?? "");
  document.title = lane.name || t("title");
  help.show();
  shop.show();
  stateView.show();
}

const stream = new Stream(`${base}/stream`, {
  message(name, data, sentAt) {
    reached();
    lane.hours.receive(name, data, sentAt);
    if (data.lane) {
      lane.receive(data.lane, sentAt);
      show();
    }
  },
  sentEarlier: (ms) => lane.shiftSentAt(ms),
  contact(lost) {
    byId("contact").hidden = lost === null;
    byId("contact").replaceChildren(...(lost === null ? [] : [icon("unlink"), t("contact", { time: t.time(lost) })]));
  },
  // The lane's key has changed: the reloaded page says so.
  refused() {
    location.reload();
  },
});
stream.open();
keepAwake();
onTick((now) => {
  setText(byId("hours"), lane.hours.sentence(t, now));
  stateView.tick(now);
  moreTime.tick(now);
});
