// The shop: the products, the cart, and the outcome of a purchase.
import { formatAmount, multiply, parseAmount } from "/screens/amount.js";
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { clearWhenReached } from "/screens/recovery.js";
import { send, sentence } from "/screens/send.js";
import { Cart } from "./cart.js";
import { KeptPurchase } from "./keptpurchase.js";
import { Shelf } from "./shelf.js";

const TRIES = 3; // of the same purchase, without a response
const NO_ANSWER = /^(unreachable|no_answer|timeout|status_5\d\d)$/; // the codes that leave open what came of it; status_5xx is a proxy's
const NOT_NOW = /^(starting|not_owner|overloaded|store_unavailable|internal)$/; // not taken now, which says nothing of an earlier try
const REPORTED = 5_000; // ms within which the stream has an accepted purchase, unless another one has taken its place
const RETRY = 5_000; // ms until products that could not be fetched are fetched again

export class Shop {
  opener; // the button that opens the shop
  #t;
  #base;
  #lane;
  #dialog;
  #cart;
  #body;
  #foot;
  #session = "";
  #latest = ""; // the id of the session's latest purchase, of which there is nothing more to tell once it is settled
  #pending = ""; // the id of the purchase whose outcome is awaited
  #unanswered = null; // the purchase that may have arrived or not, with its total as it is shown
  #kept; // for when the page is loaded again
  #sending = false;
  #shown = "";
  #interrupted = false; // closed by a ceasefire, which nothing may hide
  #left;
  #retry = 0; // the timer
  #loads = 0; // of products: only the newest fills the shop
  #quick = false; // the purchase is time alone, beside the cart
  #shelf = null;
  #help; // the place of the call for help, which the shop would cover: it is in the shop while that is open

  constructor(t, base, lane, help) {
    this.#t = t;
    this.#base = base;
    this.#lane = lane;
    this.#kept = new KeptPurchase(base);
    this.#cart = new Cart(() => this.#total());
    this.opener = element("div.door", {}, element("button.button.primary", { type: "button", onclick: () => this.#open() }, icon("cart"), t("shop")));
    this.#body = element("div.goods", {});
    this.#foot = element("div.till", {});
    this.#left = element("span.remaining", {});
    this.#help = { element: help, home: help.parentElement, inShop: element("div.shop-help", {}) };
    this.#dialog = element("dialog.shop", { "aria-labelledby": "shop-title" },
      element("div.head", {}, element("h2", { id: "shop-title", tabIndex: -1 }, t("shop")),
        element("p.clockwork", {}, icon("hourglass"), element("span.unseen", {}, t("left")), this.#left),
        this.#help.inShop,
        element("button.button.quiet.close", { type: "button", onclick: () => this.#dialog.close() }, icon("close"), element("span", {}, t("close")))),
      this.#body, this.#foot);
    this.#dialog.addEventListener("close", () => this.#help.home.append(help));
    document.body.append(this.#dialog);
  }

  // show applies the state of the lane: another session, or the outcome of the purchase.
  show() {
    const { session, purchase, purchasing } = this.#lane;
    const id = session?.session_id ?? "";
    const latest = purchase?.purchase_id ?? "";
    if (id !== this.#session || !purchasing) {
      this.#session = id;
      this.#latest = latest;
      this.#pending = "";
      this.#unanswered = null;
      this.#sending = false;
      this.#loads++; // what is still fetched is another session's
      this.#cart.forget();
      this.#interrupted = false;
      this.#dialog.close();
      this.#recall(purchasing ? id : "", purchase);
    }
    this.#yieldToCeasefire();
    if (!purchase) {
      return;
    }
    if (latest === this.#unanswered?.purchase.purchase_id) { // it had arrived
      this.#pending = latest;
      this.#unanswered = null;
    }
    this.#kept.forget(latest); // from now on the stream has it
    const isNew = latest !== this.#latest && !this.#pending && !this.#unanswered; // at the lane's hardware, where some are refused at once
    this.#latest = latest;
    if (purchase.phase === "pending") { // also one that was begun before the page was loaded, or at the lane's hardware
      this.#pending = latest;
      this.#showStatus("pending");
    } else if (latest === this.#pending || isNew) {
      this.#pending = "";
      this.#sending = false;
      this.#outcome(purchase);
    }
  }

  // recall goes on with the purchase of the session that was sent before the page was loaded again, and shows that it has no answer yet.
  #recall(session, purchase) {
    this.#unanswered = this.#kept.of(session);
    if (this.#unanswered && this.#unanswered.purchase.purchase_id !== purchase?.purchase_id) {
      this.#showStatus("unanswered");
    }
  }

  // showTimeLeft shows the time left, which the shop covers.
  showTimeLeft(text) {
    setText(this.#left, text);
  }

  // buyTime buys that many minutes at once. What is in the cart stays there.
  buyTime(product, minutes) {
    if (this.#showOpenPurchase()) {
      return;
    }
    this.#cart.setProducts({ ...this.#cart.products, time: [product] });
    this.#buy([{ id: product.id, qty: minutes }], multiply(parseAmount(product.price), minutes), true);
  }

  // showOpenPurchase shows the purchase that is under way, or has got no answer, and reports whether there is one. There is no other until its
  // outcome is known.
  #showOpenPurchase() {
    const status = this.#pending ? "pending" : this.#unanswered ? "unanswered" : "";
    if (status) {
      this.#showDialog();
      this.#showStatus(status);
    }
    return status !== "";
  }

  // yieldToCeasefire closes the shop during a ceasefire, and reopens it afterwards.
  #yieldToCeasefire() {
    if (this.#lane.held && this.#dialog.open) {
      this.#interrupted = true;
      this.#dialog.close();
    } else if (!this.#lane.held && this.#interrupted) {
      this.#interrupted = false;
      this.#showDialog();
    }
  }

  #outcome({ phase, user_message: message }) {
    switch (phase) {
      case "accepted":
        this.#quick || this.#cart.clear();
        this.#showStatus("accepted");
        break;
      case "refused":
        this.#refused(this.#t.said(message)); // which may be the integrator's
        break;
      default:
        this.#quick || this.#cart.clear();
        this.#showStatus("unresolved");
    }
  }

  // refused tells why nothing was bought: above the products, unless none have been fetched.
  #refused(text) {
    this.#cart.offersNothing ? this.#showStatus("refused", text) : this.#browse(text);
  }

  // The products are fetched at each opening: they depend on the session, and prices and stock change.
  async #open() {
    if (this.#showOpenPurchase()) {
      return;
    }
    this.#showDialog();
    this.#shown = "loading";
    this.#body.replaceChildren(element("p.note", { role: "status" }, this.#t("shop.loading")));
    this.#foot.replaceChildren();
    await this.#load();
  }

  // load fetches the products, again and again while the shop shows that it could not. An answer that comes when the shop is closed, or
  // after the session, is nobody's any more.
  async #load() {
    clearTimeout(this.#retry);
    const load = ++this.#loads;
    const wanted = () => load === this.#loads && (this.#dialog.open || this.#interrupted) && ["loading", "failed"].includes(this.#shown);
    try {
      const products = await send("GET", `${this.#base}/products`);
      if (wanted()) {
        this.#cart.setProducts(products);
        this.#browse("");
      }
    } catch (refusal) {
      const text = this.#sentence(refusal);
      if (!wanted()) {
        return;
      }
      if (this.#shown === "loading" || (this.#shown === "failed" && this.#body.firstElementChild.textContent !== text)) {
        this.#shown = "failed";
        this.#body.replaceChildren(element("p.trouble", { role: "alert" }, text),
          element("button.button", { type: "button", onclick: () => this.#open() }, this.#t("again")));
      }
      this.#retry = setTimeout(() => wanted() && this.#load(), RETRY);
    }
  }

  #showDialog() {
    if (this.#lane.held) {
      this.#interrupted = true;
    } else if (!this.#dialog.open) {
      this.#help.inShop.append(this.#help.element);
      this.#dialog.showModal();
    }
  }

  #browse(error) {
    this.#shown = "goods";
    this.#showDialog();
    const t = this.#t;
    const shelf = (this.#shelf = new Shelf(t, this.#cart, this.#lane.currency));
    this.#body.replaceChildren(shelf.element);
    this.#foot.replaceChildren(
      element("p.trouble", { role: "alert" }, error),
      element("p.total", { role: "status" }, element("span", {}, t("total")), element("strong", {})),
      element("button.button.primary.review", { type: "button", onclick: () => this.#review() }, icon("cart"), t("review")));
    this.#total();
    if (shelf.empty) {
      this.#body.replaceChildren(element("p.note", {}, t("shop.empty")));
      this.#foot.replaceChildren();
    }
  }

  #total() {
    const total = this.#foot.querySelector(".total strong");
    if (total) {
      setText(total, this.#amount(this.#cart.total));
      this.#foot.querySelector(".review").disabled = this.#cart.items.length === 0;
      this.#shelf.count();
    }
  }

  #amount(amount) {
    return formatAmount(amount, this.#t.language, this.#lane.currency);
  }

  // review lists what is in the cart, with its total, and asks once whether to buy it.
  #review() {
    this.#shown = "review";
    const t = this.#t;
    const title = element("h3", { tabIndex: -1 }, t("review.title"));
    const rows = this.#cart.lines.map(({ product, type, quantity, amount }) => element("tr", {},
      element("th", { scope: "row" }, product.display_name), element("td", {}, type === "time" ? t("min", { n: quantity }) : `${quantity} ×`), element("td", {}, this.#amount(amount))));
    const total = this.#amount(this.#cart.total);
    this.#body.replaceChildren(element("div.lines", {}, title, element("table", {}, element("caption.unseen", {}, t("review.title")), element("tbody", {}, ...rows),
      element("tfoot", {}, element("tr", {}, element("th", { scope: "row", colSpan: 2 }, t("total")), element("td", {}, total))))));
    this.#foot.replaceChildren(
      element("button.button", { type: "button", onclick: () => this.#browse("") }, t("review.back")),
      element("button.button.primary.buy", { type: "button", onclick: () => this.#buy(this.#cart.items, this.#cart.total, false) }, icon("check"), t("buy", { total })));
    title.focus();
  }

  #buy(items, amount, quick) {
    this.#quick = quick;
    this.#send({ purchase_id: newID(), session_id: this.#session, items }, this.#amount(amount));
  }

  // send sends the purchase until it is answered, a few times at most. Sent again later, with the same id, it is the same purchase to the
  // gateway: it is bought once.
  async #send(purchase, total) {
    let mayHaveArrived = this.#unanswered !== null;
    this.#pending = purchase.purchase_id;
    this.#unanswered = null;
    this.#sending = true;
    this.#kept.keep(purchase, total);
    this.#showStatus("pending");
    for (let tried = 1; ; tried++) {
      try {
        await send("POST", `${this.#base}/purchase`, purchase);
        setTimeout(() => this.#replaced(purchase), REPORTED);
        return; // the stream reports the outcome
      } catch (refusal) {
        const noAnswer = NO_ANSWER.test(refusal.code);
        if (this.#pending !== purchase.purchase_id || this.#lane.purchase?.purchase_id === purchase.purchase_id) {
          return; // the stream has already reported it
        }
        mayHaveArrived ||= noAnswer;
        if (noAnswer && tried < TRIES) {
          continue;
        }
        this.#pending = "";
        this.#sending = false;
        if (mayHaveArrived && (noAnswer || NOT_NOW.test(refusal.code))) {
          this.#unanswered = { purchase, total };
          this.#showStatus("unanswered");
        } else {
          this.#kept.forget(purchase.purchase_id);
          this.#refused(this.#sentence(refusal));
          clearWhenReached(this.#foot.querySelector(".trouble"), refusal);
        }
        return;
      }
    }
  }

  // replaced ends the wait for the outcome of a purchase that had arrived before: a later one, made at the lane's hardware, has taken its place in
  // the stream. Staff know what came of the earlier one.
  #replaced({ purchase_id }) {
    const newest = this.#lane.purchase;
    if (this.#pending === purchase_id && newest && newest.purchase_id !== purchase_id) {
      this.#pending = "";
      this.#sending = false;
      this.#kept.forget(purchase_id);
      this.#showStatus("replaced");
    }
  }

  #sentence(refusal) {
    return refusal.code === "after_closing" ? this.#lane.hours.refusal(this.#t, refusal) : sentence(this.#t, refusal);
  }

  // showStatus shows an icon and a sentence instead of the products.
  #showStatus(status, text = this.#t(`${status}.explained`, { total: this.#unanswered?.total })) {
    if (this.#shown === status && this.#dialog.open && this.#body.querySelector(".explained").textContent === text) {
      return;
    }
    this.#shown = status;
    if (status !== "pending" || this.#sending) {
      this.#showDialog();
    }
    const t = this.#t;
    const title = t(`${status}.title`);
    const alarming = ["refused", "unanswered", "unresolved", "replaced"].includes(status);
    this.#body.replaceChildren(element(`div.outcome.${status}`, { role: alarming ? "alert" : "status" },
      icon({ pending: "hourglass", accepted: "check" }[status] ?? "alert"), element("p.title", {}, title), element("p.explained", {}, text)));
    const button = (onclick, name) => element("button.button.primary", { type: "button", onclick }, t(name));
    this.#foot.replaceChildren(...{
      pending: [],
      unanswered: [button(() => this.#send(this.#unanswered.purchase, this.#unanswered.total), "again")],
    }[status] ?? [button(() => this.#dialog.close(), "done")]);
  }
}

// newID returns a random UUID. crypto.randomUUID works only under TLS.
function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
