// The opening hours of the range, or of a lane. The gateway says how they stand with each picture and each beat, and on a lane screen with each
// change; in between its clock goes on here.
const MINUTE = 60_000;

export class Hours {
  #view = null; // {open, closes_at, opens_at, last_call_ms, time_zone, parts}; null: the range has none, nor has a bay or group of it
  #wall = { at: 0, sentAt: 0 }; // the gateway's wall clock, as the latest message had it

  // receive takes a message of the stream, sent at that instant of now().
  receive(name, data, sentAt) {
    if (data.now) {
      this.#wall = { at: Date.parse(data.now), sentAt };
    }
    if (data.hours !== undefined || name === "picture") {
      this.#view = data.hours ?? null;
    }
  }

  // shiftSentAt corrects when the messages so far were sent.
  shiftSentAt(ms) {
    this.#wall.sentAt -= ms;
  }

  // at returns how they stand at an instant of now(): {state, when}. state is open, last_call or closed, and when is the Date of the closing,
  // or of a closed range's next opening; null: it is not known, or there is none.
  at(now) {
    return this.#view === null ? OPEN : this.#state(this.#view, now);
  }

  // ofLane returns how those of a lane stand: of its bay, and of the group of the session on it, if there is one.
  ofLane({ bay_id: bay, session }, now) {
    const parts = this.#parts.filter((part) => (part.bay_id ? part.bay_id === bay : part.group_id === session?.group_id));
    return parts.map((part) => this.#state(part, now)).reduce(sooner, this.at(now));
  }

  // ofParts returns those of the bays and groups that do not stand as the range: [{bay_id or group_id, state, when}].
  ofParts(now) {
    const whole = this.at(now);
    return this.#parts.map((part) => ({ ...part, ...this.#state(part, now) })).filter((part) => !same(part, whole));
  }

  // sentence says that the range closes soon, or is closed; otherwise it is empty.
  sentence(t, now) {
    return this.#sentenceOf(t, this.at(now));
  }

  // sentenceOfLane says that of a lane, where it does not stand as the range.
  sentenceOfLane(t, lane, now) {
    if (this.#parts.length === 0) {
      return "";
    }
    const own = this.ofLane(lane, now);
    return same(own, this.at(now)) ? "" : this.#sentenceOf(t, own);
  }

  // sentencesOfParts says that of the bays and groups that do not stand as the range, by the name that nameOf returns of one.
  sentencesOfParts(t, now, nameOf) {
    return this.ofParts(now).filter(({ state }) => state !== "open").map((part) => t("hours.part", { name: nameOf(part), sentence: this.#sentenceOf(t, part) }));
  }

  get #parts() {
    return this.#view?.parts ?? [];
  }

  #state(view, now) {
    const wall = this.#wall.at + now - this.#wall.sentAt;
    const [closes, opens] = [view.closes_at, view.opens_at].map((text) => (text ? Date.parse(text) : null));
    if (view.open ? closes !== null && wall >= closes : opens === null || wall < opens) {
      return { state: "closed", when: opens === null ? null : new Date(opens) };
    }
    if (!view.open || closes === null) {
      return OPEN;
    }
    return { state: closes - wall <= this.#view.last_call_ms ? "last_call" : "open", when: new Date(closes) };
  }

  #sentenceOf(t, { state, when }) {
    if (state === "open") {
      return "";
    }
    return when === null ? t(`hours.${state}`) : t(`hours.${state}_until`, { time: this.time(t, state, when) });
  }

  // time returns a closing, or with its day an opening, by the clocks of the range.
  time(t, state, when) {
    return (state === "closed" ? t.dayTimeIn : t.timeIn)(when, this.#view?.time_zone);
  }

  // refusal says why minutes are not sold that would be used after closing, and how many fit.
  refusal(t, { closes, most }) {
    if (!closes) {
      return t("after_closing.closed");
    }
    const time = this.time(t, "last_call", closes);
    return most > 0 ? t("after_closing.fits", { time, n: most }) : t("after_closing.none", { time });
  }

  // room returns how many whole minutes may follow a time left, in ms, before the range closes: Infinity where that is not known.
  room(leftMs, now) {
    const { state, when } = this.at(now);
    if (state === "closed") {
      return 0;
    }
    const wall = this.#wall.at + now - this.#wall.sentAt;
    return when === null ? Infinity : Math.max(0, Math.floor((when - wall - leftMs) / MINUTE));
  }
}

const OPEN = { state: "open", when: null };

const same = (a, b) => a.state === b.state && (a.state === "open" || a.when?.getTime() === b.when?.getTime());

// sooner returns the one that counts of two that both have to be open.
function sooner(a, b) {
  const closed = [a, b].filter(({ state }) => state === "closed");
  if (closed.length > 0) {
    const unknown = closed.find(({ when }) => when === null);
    return unknown ?? closed.reduce((x, y) => (x.when > y.when ? x : y));
  }
  const [x, y] = [a, b].map(({ when }) => when ?? Infinity);
  return x <= y ? a : b;
}
