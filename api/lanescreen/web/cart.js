// The cart. Quantities keep to each product's minimum, maximum and step. Prices are exact: integers of the smallest digit.

export class Cart {
  products = { time: [], targets: [], ammo: [], rentals: [] };
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

  get items() {
    return this.#all().filter((product) => this.quantityOf(product) > 0).map((product) => ({ id: product.id, qty: this.quantityOf(product) }));
  }

  get total() {
    return sum(this.#all().filter((product) => this.quantityOf(product) > 0).map((product) => multiply(parseAmount(product.price), this.quantityOf(product))));
  }
}

// most returns the largest quantity that the steps from the minimum reach.
export function most({ min_qty: least, max_qty: limit, increment_by: step }) {
  return least + Math.floor((limit - least) / step) * step;
}

// parseAmount parses a price like "24.50": {units: 2450n, digits: 2}.
export function parseAmount(price) {
  const [whole, fraction = ""] = price.split(".");
  return { units: BigInt(whole + fraction), digits: fraction.length };
}

export function multiply({ units, digits }, quantity) {
  return { units: units * BigInt(quantity), digits };
}

// sum returns the sum of amounts, with the most digits of any of them.
export function sum(amounts) {
  const digits = Math.max(0, ...amounts.map((amount) => amount.digits));
  const units = amounts.reduce((total, amount) => total + amount.units * 10n ** BigInt(digits - amount.digits), 0n);
  return { units, digits };
}

// formatAmount formats an amount as the language formats numbers.
export function formatAmount({ units, digits }, language) {
  const scale = 10n ** BigInt(digits);
  const whole = new Intl.NumberFormat(language).format(units / scale);
  if (digits === 0) {
    return whole;
  }
  const point = new Intl.NumberFormat(language).formatToParts(1.5).find((part) => part.type === "decimal").value;
  return whole + point + String(units % scale).padStart(digits, "0");
}
