// The purchase that was sent last, kept by the browser until the gateway is known to have it or to have refused it: a screen that is loaded again
// would not know of it otherwise, and the customer would buy the same a second time.

export class KeptPurchase {
  #key;

  constructor(base) {
    this.#key = `rangegate.purchase.${base}`;
  }

  // keep keeps the purchase with its total as it is shown, instead of the one before.
  keep(purchase, total) {
    try {
      localStorage.setItem(this.#key, JSON.stringify({ purchase, total }));
    } catch {
      // the browser keeps nothing
    }
  }

  // forget forgets the purchase with that id.
  forget(id) {
    if (this.#read()?.purchase?.purchase_id === id) {
      localStorage.removeItem(this.#key);
    }
  }

  // of returns {purchase, total} of that session, null if there is none. Those of other sessions are over.
  of(session) {
    const kept = this.#read();
    return kept?.purchase?.session_id === session ? kept : null;
  }

  #read() {
    try {
      return JSON.parse(localStorage.getItem(this.#key));
    } catch {
      return null; // the browser keeps nothing, or something else stands there
    }
  }
}
