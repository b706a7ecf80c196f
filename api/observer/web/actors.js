// The section of the actors: all of them as the controls choose, followed live.
import { now as clock, onTick } from "/screens/clock.js";
import { element, setText } from "/screens/element.js";
import { Stream } from "/screens/stream.js";
import { ActorTable } from "./actortable.js";
import { Controls } from "./controls.js";
import { writeQuery } from "./query.js";
import { Rates } from "./rates.js";

const ADDRESS = "/observer/actors";
const LOOK = 1_000; // ms between two looks of the gateway, which sends what has changed since the last one

export class Actors {
  #t;
  #controls;
  #table;
  #rates = new Rates();
  #stream;
  #answer = null;
  #sentAt = 0; // the answer, by now() of clock.js
  #summary = element("p.summary", { role: "status" });
  #rangeChanged;
  #range; // the one that is followed
  #opened = false;

  // token() is the operations token. contact(lost) is called as that of a Stream, refused() when the token is none,
  // rejected(status) when the address asks for what there is not, and rangeChanged() after a choice of another range.
  constructor(t, { token, contact, refused, rejected, rangeChanged }) {
    this.#t = t;
    this.#rangeChanged = rangeChanged;
    this.#controls = new Controls(t, () => this.#choose());
    this.#table = new ActorTable(t, t("actors"));
    this.element = element("section", {}, element("h2", {}, t("actors")), this.#controls.element, this.#summary, this.#table.element);
    this.#stream = new Stream(this.#address, {
      headers: () => ({ Authorization: `Bearer ${token()}` }),
      message: (name, data, sentAt) => (name === "actors" ? this.#receive(data, sentAt) : this.#rest(Date.parse(data.now) - LOOK)),
      sentEarlier: (ms) => (this.#sentAt -= ms),
      contact, refused, rejected,
    });
    this.#range = this.range;
    window.addEventListener("popstate", () => {
      this.#controls.reread();
      this.#follow();
    });
    onTick(() => this.#table.tick(this.#now()));
    this.#show();
  }

  // range is the one whose actors are chosen, "" for all.
  get range() {
    return this.#controls.chosen.range;
  }

  get rangeName() {
    return this.#controls.nameOf(this.range);
  }

  // showRanges offers a choice of these ranges: [{range_id, range}].
  showRanges(ranges) {
    this.#controls.showRanges(ranges);
  }

  open() {
    if (!this.#opened) {
      this.#opened = true;
      this.#stream.follow(this.#address);
    }
  }

  // close forgets what is shown.
  close() {
    this.#opened = false;
    this.#stream.close();
    this.#answer = null;
    this.#rates = new Rates();
    this.#show();
  }

  get #address() {
    return ADDRESS + writeQuery(this.#controls.chosen);
  }

  #choose() {
    history.replaceState(null, "", location.pathname + writeQuery(this.#controls.chosen));
    this.#follow();
  }

  #follow() {
    if (this.#opened) {
      this.#stream.follow(this.#address);
    }
    if (this.range !== this.#range) {
      this.#range = this.range;
      this.#rangeChanged();
    }
  }

  #receive(answer, sentAt) {
    this.#answer = answer;
    this.#sentAt = sentAt;
    this.#rates.receive(answer);
    this.#show();
  }

  // rest shows that nothing has changed until that instant of the gateway's clock, in ms.
  #rest(until) {
    if (this.#answer !== null && until > Date.parse(this.#answer.at)) {
      this.#rates.rest(until);
      this.#show();
    }
  }

  // now returns the gateway's time, in ms.
  #now() {
    return this.#answer === null ? 0 : Date.parse(this.#answer.at) + clock() - this.#sentAt;
  }

  #show() {
    const actors = this.#answer?.actors ?? [];
    this.#table.show(actors, { rateOf: (actor) => this.#rates.of(actor), ofOneRange: this.range !== "", now: this.#now() });
    this.#table.element.hidden = actors.length === 0;
    setText(this.#summary, this.#answer === null ? this.#t("actors.loading") : this.#sentence(this.#answer));
    if (this.#answer !== null) {
      this.#controls.showStates(this.#answer.states);
    }
  }

  // sentence says how many actors there are as chosen, and how many of them are in trouble.
  #sentence({ total, troubled, actors }) {
    const t = this.#t;
    const { kind, state, trouble, search } = this.#controls.chosen;
    if (total === 0) {
      return t(trouble ? "actors.none_in_trouble" : "actors.none");
    }
    const all = kind || state || search ? "matching" : "all";
    const sentences = [troubled === 0 ? t(`actors.${all}_well`, { n: t.number(total) }) : t(`actors.${all}_troubled`, { n: t.number(troubled), total: t.number(total) })];
    if (actors.length < total) {
      sentences.push(t("actors.first", { n: t.number(actors.length) }));
    }
    return sentences.join(" ");
  }
}
