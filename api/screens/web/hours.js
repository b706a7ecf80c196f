// The opening hours of the range. The gateway says how they stand with each picture and each beat; in between its clock goes on here.
const MINUTE = 60_000;

export class Hours {
  #view = null; // {open, closes_at, opens_at, last_call_ms, time_zone}; null: the range has none
  #wall = { at: 0, sentAt: 0 }; // the gateway's wall clock, as the latest message had it

  // receive takes a message of the stream, sent at that instant of now().
  receive(name, data, sentAt) {
    if (data.now) {
      this.#wall = { at: Date.parse(data.now), sentAt };
    }
    if (data.hours || name === "picture") {
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
    const view = this.#view;
    if (view === null) {
      return { state: "open", when: null };
    }
    const wall = this.#wall.at + now - this.#wall.sentAt;
    const [closes, opens] = [view.closes_at, view.opens_at].map((text) => (text ? Date.parse(text) : null));
    if (view.open ? closes !== null && wall >= closes : opens === null || wall < opens) {
      return { state: "closed", when: opens === null ? null : new Date(opens) };
    }
    if (!view.open || closes === null) {
      return { state: "open", when: null };
    }
    return { state: closes - wall <= view.last_call_ms ? "last_call" : "open", when: new Date(closes) };
  }

  // sentence says that the range closes soon, or is closed; otherwise it is empty.
  sentence(t, now) {
    const { state, when } = this.at(now);
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
