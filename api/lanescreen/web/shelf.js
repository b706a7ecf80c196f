// The products for sale: a tab for each type, with a card for each product.
import { formatAmount, parseAmount } from "/screens/amount.js";
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";

const TYPES = ["time", "targets", "ammo", "rentals"];

export class Shelf {
  element;
  empty;
  #t;
  #cart;
  #currency;
  #badges = []; // how many products of each tab are in the cart
  #tabs = [];
  #panels = [];

  constructor(t, cart, currency) {
    this.#t = t;
    this.#cart = cart;
    this.#currency = currency;
    const types = TYPES.filter((type) => cart.products[type]?.length > 0);
    this.empty = types.length === 0;
    this.#badges = types.map((type) => ({ type, element: element("span.count", {}) }));
    this.#tabs = types.map((type, i) => element("button.button.tab", {
      type: "button", role: "tab", id: `tab-${type}`, "aria-controls": `panel-${type}`,
      onclick: () => this.#choose(i), onkeydown: (event) => this.#step(event, i),
    }, t(`type.${type}`), this.#badges[i].element));
    this.#panels = types.map((type) => element("div.products", { role: "tabpanel", id: `panel-${type}`, "aria-labelledby": `tab-${type}`, tabIndex: 0 },
      ...cart.products[type].map((product) => this.#card(product, type))));
    this.element = element("div.shelf", {}, element("div.tabs", { role: "tablist", "aria-label": t("types") }, ...this.#tabs), ...this.#panels);
    if (!this.empty) {
      this.#choose(0);
    }
    this.count();
  }

  // count shows how many products of each type are in the cart.
  count() {
    for (const { type, element: badge } of this.#badges) {
      const n = this.#cart.countOf(type);
      badge.replaceChildren(...(n > 0 ? [String(n), element("span.unseen", {}, this.#t("in_cart"))] : []));
    }
  }

  #choose(chosen) {
    this.#tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === chosen));
      tab.tabIndex = i === chosen ? 0 : -1;
      this.#panels[i].hidden = i !== chosen;
    });
  }

  #step(event, i) {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: this.#tabs.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      const next = (to + this.#tabs.length) % this.#tabs.length;
      this.#choose(next);
      this.#tabs[next].focus();
    }
  }

  #card(product, type) {
    const t = this.#t;
    const price = formatAmount(parseAmount(product.price), t.language, this.#currency);
    const name = product.display_name;
    const quantity = element("output.quantity", { "aria-live": "polite" });
    const fewer = element("button.button", { type: "button", "aria-label": t("fewer", { name }) }, icon("minus"));
    const more = element("button.button", { type: "button", "aria-label": t("more", { name }) }, icon("plus"));
    const show = () => {
      const n = this.#cart.quantityOf(product);
      setText(quantity, type === "time" ? t("min", { n }) : String(n));
      // Not disabled, so that the pressed button keeps the focus.
      fewer.setAttribute("aria-disabled", String(n === 0));
      more.setAttribute("aria-disabled", String(!this.#cart.canAdd(product)));
      card.toggleAttribute("data-chosen", n > 0);
    };
    const change = (update) => () => {
      update();
      show();
    };
    fewer.addEventListener("click", change(() => this.#cart.quantityOf(product) > 0 && this.#cart.remove(product)));
    more.addEventListener("click", change(() => this.#cart.canAdd(product) && this.#cart.add(product)));
    const card = element("article.product", {}, picture(product, type),
      element("h3", {}, name), element("p.price", {}, type === "time" ? t("price.minute", { price }) : price),
      element("div.stepper", {}, fewer, quantity, more));
    show();
    return card;
  }
}

// picture is the product's picture, or an icon if it has none or the picture cannot be shown.
function picture(product, type) {
  const frame = element("div.picture", {});
  const showIcon = () => frame.replaceChildren(icon({ time: "hourglass", targets: "hit", ammo: "cart", rentals: "person" }[type]));
  if (product.picture) {
    frame.append(element("img", { src: product.picture, alt: "", decoding: "async", onerror: showIcon }));
  } else {
    showIcon();
  }
  return frame;
}
