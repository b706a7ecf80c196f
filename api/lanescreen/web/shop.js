// The shop: what is for sale, the cart, and what becomes of a purchase.
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { Refusal, send, sentence } from "/screens/send.js";
import { Cart } from "./cart.js";
import { written } from "./money.js";
import { Shelf } from "./shelf.js";

const TRIES = 3; // the same purchase, when nothing came back

export class Shop {
  door; // the button that leads here, or what has become of the purchase
  #t;
  #base;
  #lane;
  #dialog;
  #cart;
  #body;
  #foot;
  #session = "";
  #mine = ""; // the purchase whose outcome is awaited
  #sending = false;
  #shown = "";
  #waits = false; // for the fire line to be open again: nothing hides a ceasefire
  #left;

  constructor(t, base, lane) {
    this.#t = t;
    this.#base = base;
    this.#lane = lane;
    this.#cart = new Cart(() => this.#total());
    this.door = element("div.door", {}, element("button.button.primary", { type: "button", onclick: () => this.#open() }, icon("cart"), t("shop")));
    this.#body = element("div.goods", {});
    this.#foot = element("div.till", {});
    this.#left = element("span.remaining", {});
    this.#dialog = element("dialog.shop", { "aria-labelledby": "shop-title" },
      element("div.head", {}, element("h2", { id: "shop-title", tabIndex: -1 }, t("shop")),
        element("p.clockwork", {}, icon("hourglass"), element("span.unseen", {}, t("left")), this.#left),
        element("button.button.quiet", { type: "button", onclick: () => this.#dialog.close() }, icon("close"), t("close"))),
      this.#body, this.#foot);
    document.body.append(this.#dialog);
  }

  // show takes in what the lane says: another session, or what has become of the purchase.
  show() {
    const { session, purchase, purchasing } = this.#lane;
    const id = session?.session_id ?? "";
    if (id !== this.#session || !purchasing) {
      this.#session = id;
      this.#mine = "";
      this.#sending = false;
      this.#cart.clear();
      this.#waits = false;
      this.#dialog.close();
    }
    this.#giveWay();
    if (!purchase) {
      return;
    }
    if (purchase.phase === "pending") { // also one that was begun before the page was loaded, or at the lane's hardware
      this.#mine = purchase.purchase_id;
      this.#under("pending");
    } else if (purchase.purchase_id === this.#mine) {
      this.#mine = "";
      this.#sending = false;
      this.#outcome(purchase);
    }
  }

  // left shows the time left, which the shop would hide otherwise.
  left(face) {
    setText(this.#left, face);
  }

  // giveWay leaves the screen to a ceasefire, and comes back after it.
  #giveWay() {
    if (this.#lane.held && this.#dialog.open) {
      this.#waits = true;
      this.#dialog.close();
    } else if (!this.#lane.held && this.#waits) {
      this.#waits = false;
      this.#showDialog();
    }
  }

  #outcome({ phase, user_message: message }) {
    switch (phase) {
      case "accepted":
        this.#cart.clear();
        this.#under("accepted");
        break;
      case "refused":
        this.#browse(this.#own(message));
        break;
      default:
        this.#cart.clear();
        this.#under("unresolved");
    }
  }

  // own is what the customer is told, in their language where the words are the gateway's.
  #own(message) {
    return this.#t.has(`said.${message}`) ? this.#t(`said.${message}`) : message;
  }

  // The fetched products are of one session; each opening asks anew, as prices and stock change.
  async #open() {
    this.#showDialog();
    if (this.#mine) {
      this.#under("pending");
      return;
    }
    const t = this.#t;
    this.#shown = "loading";
    this.#body.replaceChildren(element("p.note", { role: "status" }, t("shop.loading")));
    this.#foot.replaceChildren();
    try {
      const products = await send("GET", `${this.#base}/products`);
      this.#cart.offer(products);
      this.#browse("");
    } catch (refusal) {
      this.#body.replaceChildren(element("p.trouble", { role: "alert" }, this.#sentence(refusal)),
        element("button.button", { type: "button", onclick: () => this.#open() }, t("again")));
    }
  }

  #showDialog() {
    if (this.#lane.held) {
      this.#waits = true;
    } else if (!this.#dialog.open) {
      this.#dialog.showModal();
    }
  }

  #browse(trouble) {
    this.#shown = "goods";
    this.#showDialog();
    const t = this.#t;
    const shelf = new Shelf(t, this.#cart);
    this.#body.replaceChildren(shelf.element);
    this.#foot.replaceChildren(
      element("p.trouble", { role: "alert" }, trouble),
      element("p.total", { role: "status" }, element("span", {}, t("total")), element("strong", {})),
      element("button.button.primary.buy", { type: "button", onclick: () => this.#buy() }, icon("check"), t("buy")));
    this.#total();
    if (shelf.empty) {
      this.#body.replaceChildren(element("p.note", {}, t("shop.empty")));
      this.#foot.replaceChildren();
    }
  }

  #total() {
    const total = this.#foot.querySelector(".total strong");
    if (total) {
      setText(total, written(this.#cart.total, this.#t.language));
      this.#foot.querySelector(".buy").disabled = this.#cart.items.length === 0;
    }
  }

  async #buy() {
    const purchase = { purchase_id: newID(), session_id: this.#session, items: this.#cart.items };
    this.#mine = purchase.purchase_id;
    this.#sending = true;
    this.#under("pending");
    for (let tried = 1; ; tried++) {
      try {
        await send("POST", `${this.#base}/purchase`, purchase);
        return; // the stream tells what it came to
      } catch (refusal) {
        const unknown = refusal instanceof Refusal && ["unreachable", "no_answer", "timeout"].includes(refusal.code);
        if (this.#mine !== purchase.purchase_id) {
          return; // its outcome is there already
        }
        if (!unknown || tried === TRIES) {
          this.#mine = unknown ? this.#mine : "";
          this.#sending = false;
          this.#browse(this.#sentence(refusal));
          return;
        }
      }
    }
  }

  #sentence(refusal) {
    return sentence(this.#t, refusal);
  }

  // under shows one sign and a sentence in the place of the goods.
  #under(what) {
    if (this.#shown === what && this.#dialog.open) {
      return;
    }
    this.#shown = what;
    if (what !== "pending" || this.#sending) {
      this.#showDialog();
    }
    const t = this.#t;
    const [title, text] = [t(`${what}.title`), t(`${what}.explained`)];
    this.#body.replaceChildren(element(`div.outcome.${what}`, { role: what === "unresolved" ? "alert" : "status" },
      icon({ pending: "hourglass", accepted: "check", unresolved: "alert" }[what]), element("p.title", {}, title), element("p.explained", {}, text)));
    this.#foot.replaceChildren(...(what === "pending" ? [] :
      [element("button.button.primary", { type: "button", onclick: () => this.#dialog.close() }, t("done"))]));
  }
}

// newID is a random UUID. crypto.randomUUID is for pages under TLS only.
function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
