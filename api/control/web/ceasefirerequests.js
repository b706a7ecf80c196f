// The ceasefires, and holds of lanes, that were begun on this page and that the gateway has not confirmed. Each is sent again by itself until
// the gateway confirms it, the stream shows that it is in force, or staff dismiss it: setting a hold twice is the same as setting it once.
// That goes on while the gateway is restarted, and after the sign-in has ended: then the browser asks as one in which staff have signed in.
import { Refusal, send } from "/screens/send.js";

const UNCONFIRMED = 500; // ms after which a request without a response is an alarm
const ANSWERED = 4_000; // ms after which an attempt counts as lost; the gateway answers within 2 s
const BACKOFF = [500, 1_000, 2_000, 4_000]; // ms between two attempts
const MAX_WAIT = 30_000; // ms, whatever the gateway asks for
const AT_ONCE = 2; // attempts for the same hold: a browser has six connections to a gateway
const UNKNOWN = "unknown"; // the press of a hold that the gateway has not told yet: the reply alone says that another press has arrived
const KEPT = "rangegate.ceasefires"; // the name in the browser's session storage
const MAX_AGE = 5 * 60_000; // ms; what is older is not sent again by a page that is loaded

export class CeasefireRequests {
  #client;
  #all = new Map(); // by key: what was asked for and is not confirmed, and what was in force without being saved
  #presses = 0;

  constructor(client) {
    this.#client = client;
    client.range.addEventListener("picture", () => this.#compare());
    client.range.addEventListener("holds", () => this.#follow());
    window.addEventListener("online", () => this.resume());
    document.addEventListener("visibilitychange", () => document.hidden || this.resume());
    this.#restore();
  }

  // unconfirmed are those that are an alarm: {scope, id, rangeID, what (its name), refusal (null: there is no response yet), attempts, repeats}.
  // repeats is false for one that the gateway has confirmed without saving it, and does not have any more.
  get unconfirmed() {
    return [...this.#all.values()].filter((asked) => asked.alarm && (this.#client.lost || !this.#isInForce(asked)));
  }

  // unsaved is true while a ceasefire is in force that may not be saved.
  get unsaved() {
    return [...this.#all.values()].some(({ confirmed }) => confirmed);
  }

  // begin asks for a ceasefire and resolves once this attempt was confirmed. It throws its Refusal; further attempts follow.
  begin(scope, id, rangeID) {
    const asked = this.#all.get(keyOf(scope, id, rangeID)) ?? this.#add(scope, id, rangeID, this.#client.scopeName({ scope, id }));
    const { range } = this.#client;
    const hold = range.info?.id === asked.rangeID ? range.findHold(asked.scope, asked.id) : undefined;
    Object.assign(asked, { confirmed: false, repeats: true, before: hold ? hold.press ?? UNKNOWN : null, pressed: ++this.#presses });
    this.#keep();
    // The hold that an attempt has set may be ending already, so that this press needs an attempt of its own.
    if (asked.attempt && asked.arrived && asked.underWay < AT_ONCE) {
      return this.#attempt(asked);
    }
    asked.again = asked.attempt !== null && asked.arrived;
    return asked.attempt ?? this.#attempt(asked);
  }

  // presses is how often one was asked for on this page.
  get presses() {
    return this.#presses;
  }

  // dismiss drops one that was not confirmed.
  dismiss(asked) {
    this.#drop(asked);
    this.#client.onChange();
  }

  // ended is called when staff have ended the hold, which they pressed for after so many presses. What was pressed since stays.
  ended({ scope, id }, presses) {
    this.#of(this.#client.range.info?.id).filter((asked) => asked.scope === scope && asked.id === (id ?? null) && asked.pressed <= presses)
      .forEach((asked) => this.#drop(asked));
  }

  // resume sends at once what waits for its next attempt, but twice a second at most: where attempts fail and the stream is there, each
  // failure brings a new picture, which resumes.
  resume() {
    for (const asked of [...this.#all.values()].filter((asked) => asked.timer)) {
      const wait = asked.resumed + BACKOFF[0] - performance.now();
      if (wait <= 0) {
        this.#resume(asked);
      } else {
        clearTimeout(asked.timer);
        asked.timer = setTimeout(() => this.#resume(asked), wait);
      }
    }
  }

  #resume(asked) {
    asked.resumed = performance.now();
    this.#again(asked);
  }

  #add(scope, id, rangeID, what) {
    const asked = {
      key: keyOf(scope, id, rangeID), scope, id, rangeID, what, refusal: null, attempts: 0, failures: 0, alarm: false, attempt: null, timer: 0, resumed: -Infinity,
      pressed: 0, // the number of its newest press among those of the page
      underWay: 0, // attempts
      again: false, // it was pressed again when the attempts had arrived: it is sent once more after them
      before: null, // the press of the hold that was in force when it was pressed, and that may be ending; null: none was
      arrived: false, // the stream has shown that the attempt is in force
    };
    this.#all.set(asked.key, asked);
    return asked;
  }

  // isInForce is true if the stream shows a hold that is newer than the press: any, if none was in force when it was pressed.
  #isInForce({ scope, id, rangeID, before }) {
    const { range } = this.#client;
    const hold = range.info?.id === rangeID ? range.findHold(scope, id) : undefined;
    return hold !== undefined && (before === null || (before !== UNKNOWN && hold.press !== before));
  }

  #again(asked) {
    this.#attempt(asked).catch(() => {}); // it is shown by the alarm
  }

  #attempt(asked) {
    clearTimeout(asked.timer);
    asked.timer = 0;
    asked.attempts++;
    asked.underWay++;
    Object.assign(asked, { arrived: false, again: false });
    const late = setTimeout(() => asked.attempt === attempt && this.#alarm(asked), UNCONFIRMED);
    const attempt = this.#send(asked).then(
      (reply) => asked.attempt === attempt && this.#confirmed(asked, reply), // else there is a newer one
      (refusal) => {
        asked.attempt === attempt && this.#refused(asked, refusal);
        throw refusal;
      },
    ).finally(() => {
      clearTimeout(late);
      asked.underWay--;
    });
    asked.attempt = attempt;
    return attempt;
  }

  async #send(asked) {
    const reply = await this.#ask(asked);
    if (!reply) {
      throw new Refusal("no_answer", ""); // something between here and the gateway has answered
    }
    return reply;
  }

  async #ask({ scope, id, rangeID }) {
    if (this.#client.range.info?.id === rangeID) {
      try {
        return await this.#client.request("PUT", "/holds", { scope, id, on: true }, ANSWERED);
      } catch (refusal) {
        if (refusal.code !== "unauthorized") {
          throw refusal;
        }
      }
    }
    return send("PUT", `/control/sign-in/${rangeID}/ceasefire`, { scope, id }, ANSWERED);
  }

  #confirmed(asked, reply) {
    const client = this.#client;
    if (asked.again && this.#all.get(asked.key) === asked) {
      this.#again(asked);
      return;
    }
    Object.assign(asked, { attempt: null, alarm: false, refusal: null, attempts: 0, failures: 0, before: null, confirmed: reply.saved === false });
    asked.confirmed || this.#drop(asked);
    if (client.range.info?.id === asked.rangeID && (client.lost || !this.#isInForce(asked))) {
      client.range.applyProgress({ scope: asked.scope, id: asked.id }, reply);
      client.onStale();
    }
    client.onConfirmed(asked, reply);
    client.onChange();
  }

  #refused(asked, refusal) {
    Object.assign(asked, { attempt: null, refusal });
    if (this.#all.get(asked.key) === asked) { // it was not dismissed meanwhile
      const wait = BACKOFF[Math.min(asked.failures++, BACKOFF.length - 1)] * (0.7 + 0.6 * Math.random());
      asked.timer = setTimeout(() => this.#again(asked), Math.max(wait, Math.min((refusal.retryAfter ?? 0) * 1_000, MAX_WAIT)));
      this.#alarm(asked);
    }
  }

  #alarm(asked) {
    if (this.#all.get(asked.key) === asked) {
      asked.alarm = true;
      this.#client.onChange();
    }
  }

  #drop(asked) {
    clearTimeout(asked.timer);
    if (this.#all.get(asked.key) === asked) {
      this.#all.delete(asked.key);
      this.#keep();
    }
  }

  #of(rangeID) {
    return [...this.#all.values()].filter((asked) => asked.rangeID === rangeID);
  }

  // compare looks at a new picture of the range: what is in force there has arrived. What was in force without being saved and is not there was
  // lost by the gateway, or was ended while this page had no contact: staff decide.
  #compare() {
    const { range } = this.#client;
    for (const asked of this.#of(range.info.id)) {
      if (asked.confirmed && !this.#isInForce(asked)) {
        Object.assign(asked, { confirmed: false, repeats: false, alarm: true });
      }
    }
    this.#follow();
    this.resume();
  }

  // follow drops what the stream shows to be in force, and what has ended before it was known to be saved. The response to an attempt that is
  // under way still says whether it is saved.
  #follow() {
    for (const asked of this.#of(this.#client.range.info?.id)) {
      const inForce = this.#isInForce(asked);
      if (inForce && asked.attempt) {
        Object.assign(asked, { alarm: false, arrived: true });
      } else if (inForce ? !asked.confirmed : asked.confirmed) {
        this.#drop(asked);
      }
    }
  }

  // keep has the browser keep what is not confirmed, for when staff load the page again.
  #keep() {
    const open = [...this.#all.values()].filter(({ confirmed }) => !confirmed);
    try {
      sessionStorage.setItem(KEPT, JSON.stringify(open.map(({ scope, id, rangeID, what, before }) => ({ scope, id, rangeID, what, before, at: Date.now() }))));
    } catch {
      // the browser keeps nothing
    }
  }

  // restore goes on with what was not confirmed when the page was left, a short while ago.
  #restore() {
    let kept = [];
    try {
      kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    } catch {
      // the browser keeps nothing
    }
    for (const { scope, id, rangeID, what, before = null } of kept.filter(({ at }) => Math.abs(Date.now() - at) < MAX_AGE)) {
      Object.assign(this.#add(scope, id, rangeID, what), { confirmed: false, repeats: true, alarm: true, before });
    }
    [...this.#all.values()].forEach((asked) => (asked.timer = setTimeout(() => this.#again(asked), BACKOFF[0])));
  }
}

function keyOf(scope, id, rangeID) {
  return `${rangeID} ${scope} ${id ?? ""}`;
}
