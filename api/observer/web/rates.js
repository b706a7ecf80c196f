// How many messages a second each actor takes, from how many it has taken in two answers.

// keyOf identifies an actor.
export const keyOf = ({ range_id, lane_id, webhook, kind }) => [kind, range_id, lane_id ?? "", webhook].join(" ");

// rate returns the messages a second between two counts, each at an instant in ms; null if that is not known. An actor that was
// started again counts from 0.
export function rate(before, after) {
  const seconds = (after.at - before.at) / 1000;
  return seconds > 0 && after.messages >= before.messages ? (after.messages - before.messages) / seconds : null;
}

// Rates has the rates of the actors of the latest answer.
export class Rates {
  #counts = new Map(); // by actor: {at, messages}
  #rates = new Map();

  // receive applies an answer of the gateway.
  receive({ at, actors }) {
    const counts = new Map();
    const rates = new Map();
    for (const actor of actors) {
      const key = keyOf(actor);
      const count = { at: Date.parse(at), messages: actor.messages };
      const before = this.#counts.get(key);
      counts.set(key, count);
      rates.set(key, before ? rate(before, count) : null);
    }
    [this.#counts, this.#rates] = [counts, rates];
  }

  // rest says that nothing has changed since the latest answer until that instant of the gateway's clock, in ms.
  rest(until) {
    for (const [key, { at, messages }] of this.#counts) {
      if (until > at) {
        this.#counts.set(key, { at: until, messages });
        this.#rates.set(key, 0);
      }
    }
  }

  // of returns the messages a second of an actor; null if they are not known yet.
  of(actor) {
    return this.#rates.get(keyOf(actor)) ?? null;
  }
}
