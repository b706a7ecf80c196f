// Users change while the board stays in view. Whoever is signed in stays so until the next one's PIN is right: a ceasefire can be begun
// all the while. Everything else on the page takes no presses meanwhile, as it would be recorded under the name before.
import { element, setText } from "/screens/element.js";
import { button } from "./actions.js";

const OTHERS = ".screen > :not(.top, .contact, .alarm-place, .middle), .middle > :not(#switch-user, #main), #main > *, .top > .tabs, #outcome";

export class SwitchUser {
  #client;
  #signIn;
  #root;
  #opener;
  #who = element("p.note");
  #state = ""; // sending: a PIN is being compared; connecting: it was right, and the stream is opened anew

  // place is where the control that opens it goes.
  constructor(client, signIn, root, place) {
    this.#client = client;
    this.#signIn = signIn;
    this.#root = root;
    const { t, range } = client;
    this.#opener = button({ words: t("switch"), sign: "swap", label: t("switch") }, () => (root.hidden ? this.open() : this.close()));
    this.#opener.setAttribute("aria-expanded", "false");
    place.after(this.#opener);
    root.append(
      element("header.panel-head", {}, element("div", {}, element("h2", { id: "switch-title" }, t("switch")), this.#who),
        button({ sign: "close", kind: "quiet", label: t("switch.cancel") }, () => this.close())));
    root.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
    range.addEventListener("picture", () => {
      if (this.#state === "connecting") {
        this.#state = "";
        this.close();
      }
    });
  }

  // isSending is true while a PIN is compared: the session before may end by that.
  get isSending() {
    return this.#state === "sending";
  }

  // isUnderWay is true until the page is the next user's.
  get isUnderWay() {
    return this.#state !== "";
  }

  open() {
    const { range, t } = this.#client;
    setText(this.#who, t("switch.explained", { name: range.who }));
    this.#root.append(this.#signIn.form);
    this.#inert(true);
    this.#signIn.ask(range.info.id, range.who);
  }

  // close does nothing while a PIN is compared, or once it was right: the page is the next user's then.
  close() {
    if (this.#root.hidden || this.isUnderWay) {
      return;
    }
    this.#inert(false);
    this.#signIn.home.append(this.#signIn.form);
    this.#opener.focus();
  }

  // attempt sends a PIN by send, and connect connects the page for the next user, or finds out whether the one before is still signed in.
  // While one is compared it sends no other.
  async attempt(send, connect) {
    if (this.isUnderWay) {
      return false;
    }
    if (this.#root.hidden) {
      const accepted = await send();
      accepted && connect();
      return accepted;
    }
    this.#state = "sending";
    const accepted = await send();
    this.#state = accepted ? "connecting" : "";
    connect(accepted);
    return accepted;
  }

  // forget is for a session that has ended: the form goes back to its page.
  forget() {
    this.#state = "";
    this.close();
  }

  #inert(on) {
    this.#root.hidden = !on;
    this.#opener.setAttribute("aria-expanded", String(on));
    document.querySelectorAll(OTHERS).forEach((of) => (of.inert = on));
  }
}
