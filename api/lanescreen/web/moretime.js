// The button that buys more time at one touch: 15 minutes, or what comes next to it among the quantities that are sold. It is
// there where the range sells time to the session.
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
  #fits = true; // what it offers, before the range closes

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
      this.#draw();
    }
    const fits = this.#product === null || quantityNextTo(MINUTES, this.#product) <= this.#lane.room(now);
    if (fits !== this.#fits) {
      this.#fits = fits;
      this.#draw();
    }
    if (id !== "" && purchasing && now > this.#expires && !document.hidden) {
      this.#expires = now + RETRY;
      this.#fetch(id, now);
    }
  }

  async #fetch(session, now) {
    try {
      const [product] = await send("GET", `${this.#base}/time`);
      if (session !== this.#session) {
        return;
      }
      this.#product = product ?? null;
      this.#expires = now + LIFETIME;
      this.#draw();
    } catch {
      // The shop says why when it is opened; here the last known price stays, and the POS has the last word.
    }
  }

  #draw() {
    this.element.hidden = this.#product === null || !this.#fits;
    if (this.element.hidden) {
      this.element.replaceChildren();
      return;
    }
    const t = this.#t;
    const n = quantityNextTo(MINUTES, this.#product);
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
