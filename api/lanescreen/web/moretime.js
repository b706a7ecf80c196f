// The button that buys more time at one touch: 15 minutes, or as many as the session owes if that is more, or what comes next to it among the
// quantities that are sold. It is there where the range sells time to the session.
import { formatAmount, multiply, parseAmount } from "/screens/amount.js";
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { send } from "/screens/send.js";
import { most } from "./cart.js";

const MINUTES = 15;
const LIFETIME = 10 * 60_000; // ms after which the price is fetched again
const RETRY = 60_000; // ms after a fetch that failed

export class MoreTime {
  element = element("div.more-time", { hidden: true });
  #t;
  #base;
  #lane;
  #shop;
  #session = "";
  #product = null; // for that session
  #expires = 0;
  #offered = 0; // minutes; 0: nothing is sold, or not before the range closes

  constructor(t, base, lane, shop) {
    this.#t = t;
    this.#base = base;
    this.#lane = lane;
    this.#shop = shop;
  }

  // tick is called several times a second.
  tick(now) {
    const { session, purchasing, held } = this.#lane;
    const id = purchasing && !held ? (session?.session_id ?? "") : this.#session;
    if (id !== this.#session) {
      [this.#session, this.#product, this.#expires] = [id, null, 0];
    }
    const offered = this.#offer(now);
    if (offered !== this.#offered) {
      this.#offered = offered;
      this.#draw();
    }
    if (id !== "" && purchasing && now > this.#expires && !document.hidden) {
      this.#expires = now + RETRY;
      this.#fetch(id, now);
    }
  }

  // offer returns how many minutes it offers. Fewer than are owed would be refused: owes_more.
  #offer(now) {
    if (this.#product === null) {
      return 0;
    }
    const owed = Math.ceil((this.#lane.owed(now) ?? 0) / 60_000);
    const n = quantityNextTo(Math.max(MINUTES, owed), this.#product);
    return n <= this.#lane.room(now) ? n : 0;
  }

  async #fetch(session, now) {
    try {
      const [product] = await send("GET", `${this.#base}/time`);
      if (session !== this.#session) {
        return;
      }
      this.#product = product ?? null;
      this.#expires = now + LIFETIME;
      this.#offered > 0 && this.#product && this.#draw(); // the price may be another one
    } catch {
      // The shop says why when it is opened; here the last known price stays, and the POS has the last word.
    }
  }

  #draw() {
    this.element.hidden = this.#offered === 0;
    if (this.element.hidden) {
      this.element.replaceChildren();
      return;
    }
    const t = this.#t;
    const n = this.#offered;
    // With plain spaces: the name of the button has to be what is seen on it, to the letter.
    const price = formatAmount(multiply(parseAmount(this.#product.price), n), t.language, this.#lane.currency).replaceAll("\u00a0", " ");
    const shown = t("more_time", { n });
    const label = t("more_time.label", { shown, price }); // begins with what is seen: whoever speaks to the screen says that
    if (this.element.firstElementChild?.getAttribute("aria-label") !== label) {
      this.element.replaceChildren(element("button.button", { type: "button", "aria-label": label, onclick: () => this.#shop.buyTime(this.#product, n) },
        icon("plus"), element("span", {}, shown), " ", element("span.price", {}, price)));
    }
  }
}

// quantityNextTo returns the smallest quantity of the product that is sold and at least `wanted`, or else the largest one.
export function quantityNextTo(wanted, product) {
  const { min_qty: least, increment_by: step } = product;
  return Math.min(least + Math.max(0, Math.ceil((wanted - least) / step)) * step, most(product));
}
