// The cart. Quantities keep to each product's minimum, maximum and step.
import { multiply, parseAmount, sum } from "/screens/amount.js";

const NOTHING = { time: [], targets: [], ammo: [], rentals: [] };

export class Cart {
  products = NOTHING;
  #quantities = new Map(); // product id → how many, above 0
  #changed;

  constructor(changed) {
    this.#changed = changed;
  }

  // setProducts sets what is for sale. The cart keeps what is still available.
  setProducts(products) {
    this.products = products;
    const kept = new Map();
    for (const product of this.#all()) {
      const wanted = Math.min(this.quantityOf(product), most(product));
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

  // offersNothing is true while nothing is for sale, also as nothing was fetched yet.
  get offersNothing() {
    return this.#all().length === 0;
  }

  quantityOf(product) {
    return this.#quantities.get(product.id) ?? 0;
  }

  canAdd(product) {
    return this.quantityOf(product) < most(product);
  }

  add(product) {
    const now = this.quantityOf(product);
    this.#set(product, now === 0 ? product.min_qty : Math.min(now + product.increment_by, most(product)));
  }

  remove(product) {
    const next = this.quantityOf(product) - product.increment_by;
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

  // forget clears the cart and what is for sale: both are a session's.
  forget() {
    this.products = NOTHING;
    this.clear();
  }

  get items() {
    return this.#all().filter((product) => this.quantityOf(product) > 0).map((product) => ({ id: product.id, qty: this.quantityOf(product) }));
  }

  // countOf returns how many products of a type are in the cart.
  countOf(type) {
    return this.products[type].filter((product) => this.quantityOf(product) > 0).length;
  }

  // lines are the products in the cart: {product, type, quantity, amount}.
  get lines() {
    return Object.entries(this.products).flatMap(([type, products]) => products.filter((product) => this.quantityOf(product) > 0)
      .map((product) => ({ product, type, quantity: this.quantityOf(product), amount: multiply(parseAmount(product.price), this.quantityOf(product)) })));
  }

  get total() {
    return sum(this.lines.map(({ amount }) => amount));
  }
}

// most returns the largest quantity that the steps from the minimum reach.
export function most({ min_qty: least, max_qty: limit, increment_by: step }) {
  return least + Math.floor((limit - least) / step) * step;
}
