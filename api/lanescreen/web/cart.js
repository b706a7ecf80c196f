// What is in the cart. Quantities keep to each product's minimum, maximum and step.
import { amountOf, sum, times } from "./money.js";

export class Cart {
  products = { time: [], targets: [], ammo: [], rentals: [] };
  #quantities = new Map(); // product id → how many, above 0
  #changed;

  constructor(changed) {
    this.#changed = changed;
  }

  // offer takes in what is for sale. What is in the cart stays as far as it is still to be had.
  offer(products) {
    this.products = products;
    const kept = new Map();
    for (const product of this.#all()) {
      const wanted = Math.min(this.of(product), most(product));
      if (wanted >= product.min_qty) {
        kept.set(product.id, wanted - ((wanted - product.min_qty) % product.increment_by));
      }
    }
    this.#quantities = kept;
    this.#changed();
  }

  #all() {
    return Object.values(this.products).flat();
  }

  of(product) {
    return this.#quantities.get(product.id) ?? 0;
  }

  canMore(product) {
    return this.of(product) < most(product);
  }

  more(product) {
    const now = this.of(product);
    this.#set(product, now === 0 ? product.min_qty : Math.min(now + product.increment_by, most(product)));
  }

  fewer(product) {
    const next = this.of(product) - product.increment_by;
    this.#set(product, next < product.min_qty ? 0 : next);
  }

  #set(product, quantity) {
    if (quantity > 0) {
      this.#quantities.set(product.id, quantity);
    } else {
      this.#quantities.delete(product.id);
    }
    this.#changed();
  }

  clear() {
    this.#quantities.clear();
    this.#changed();
  }

  get items() {
    return this.#all().filter((product) => this.of(product) > 0).map((product) => ({ id: product.id, qty: this.of(product) }));
  }

  get total() {
    return sum(this.#all().filter((product) => this.of(product) > 0).map((product) => times(amountOf(product.price), this.of(product))));
  }
}

// most is the largest quantity that the steps from the minimum lead to.
export function most({ min_qty: least, max_qty: limit, increment_by: step }) {
  return least + Math.floor((limit - least) / step) * step;
}
