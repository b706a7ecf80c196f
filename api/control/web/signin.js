// Sign-in: which range, who, and the PIN. The form is on a page of its own while nobody is signed in, and over the board while
// users change: switchuser.js moves it there.
import { element, setText } from "/screens/element.js";
import { reached } from "/screens/recovery.js";
import { send } from "/screens/send.js";
import { ErrorText, perform } from "./actions.js";
import { beginButton } from "./beginbutton.js";
import { remember } from "./client.js";
import { KnownNames } from "./knownnames.js";
import { PINPad } from "./pinpad.js";
import { RangeChoice } from "./rangechoice.js";

const PAGE = "/control";
const INTERVAL = 3_000; // ms between two questions whether a ceasefire is in force

const byId = (id) => document.getElementById(id);

export class SignIn {
  #client;
  #root = byId("sign-in");
  #box = byId("sign-in-box");
  #form = byId("sign-in-form");
  #note = byId("sign-in-note");
  #error = byId("sign-in-trouble");
  #ceasefire = byId("sign-in-ceasefire");
  #begin = byId("sign-in-begin");
  #beginButton = null; // of the range whose form is shown
  #questions = 0; // requests for the ceasefire that is in force: only the newest counts
  #reached = ""; // how many of its lanes have confirmed the ceasefire that this page has begun
  #rangeName = byId("sign-in-range");
  #names;
  #pad;
  #choice;
  #rangeID = "";
  #asking = 0; // the timer

  // attempt sends what was entered by the function that it is given, and resolves to whether it was accepted: it is the page's
  // way of having nothing else happen meanwhile.
  constructor(client, attempt) {
    this.#client = client;
    const { name, pin } = this.#form.elements;
    this.#pad = new PINPad(client.t, pin, byId("sign-in-pad"));
    this.#names = new KnownNames(client.t, name, byId("sign-in-names"), () => {
      pin.value = "";
      pin.focus();
    });
    this.#choice = new RangeChoice(client, byId("choose-range"), (range) => this.#chosen(range));
    byId("another-range").addEventListener("click", () => this.#chooseRange(false));
    this.#form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const entered = { range_id: this.#rangeID, name: name.value.trim(), pin: pin.value };
      const button = this.#form.querySelector("[type=submit]");
      const accepted = await attempt(() => perform(this.#uniformRefusal(), button, { element: this.#error, show: (text) => setText(this.#error, text) }, () =>
        send("POST", `${PAGE}/sign-in`, entered)));
      pin.value = "";
      if (accepted) {
        remember("range", entered.range_id);
        this.#names.add(entered.range_id, entered.name);
      } else if (this.#form.checkVisibility()) {
        pin.focus();
      }
    });
  }

  // show shows the page, with the reason for it.
  show(reason) {
    document.title = this.#client.t("sign_in.title");
    this.#note.replaceChildren(reason);
    this.#root.hidden = false;
    const rangeID = rangeOfPage();
    if (rangeID === "") {
      this.#chooseRange(true);
    } else {
      this.#showForm(rangeID);
      this.#choice.othersThan(rangeID).then((others) => (byId("another-range").hidden = !others));
    }
  }

  hide() {
    this.#root.hidden = true;
    this.#choice.hide();
    clearTimeout(this.#asking);
  }

  // ask prepares the form for somebody of the range, but for whoever is signed in.
  ask(rangeID, who = "") {
    this.#rangeID = rangeID;
    const { name, pin } = this.#form.elements;
    setText(this.#error, "");
    pin.value = "";
    this.#pad.reset();
    this.#names.show(rangeID, who);
    (name.value ? pin : this.#names.first ?? name).focus();
  }

  // form is what is asked; home is its place on the page.
  get form() {
    return this.#form;
  }

  get home() {
    return this.#box;
  }

  // isForAnotherRange is true if the page is of another range than the browser's session. It shows the form then.
  isForAnotherRange() {
    const { range, t } = this.#client;
    const rangeID = rangeOfPage();
    if (rangeID === "" || rangeID === range.info.id) {
      remember("range", range.info.id);
      history.replaceState(null, "", `${PAGE}/${range.info.id}${location.hash}`);
      return false;
    }
    this.show(t("sign_in.elsewhere", { range: range.info.name }));
    this.#note.append(" ", element("a", { href: `${PAGE}/${range.info.id}` }, t("sign_in.go_there")));
    return true;
  }

  // chooseRange asks for the range; unasked it goes on where there is one only, and at the last one of this browser.
  #chooseRange(unasked) {
    history.replaceState(null, "", `${PAGE}/${location.hash}`);
    clearTimeout(this.#asking);
    this.#box.hidden = this.#begin.hidden = true;
    this.#choice.show(unasked);
  }

  #chosen({ range_id: rangeID, others }) {
    history.replaceState(null, "", `${PAGE}/${rangeID}${location.hash}`);
    byId("another-range").hidden = !others;
    this.#showForm(rangeID);
  }

  #showForm(rangeID) {
    this.#choice.hide();
    this.#box.hidden = false;
    this.#box.append(this.#form); // it may have been over the board
    setText(this.#rangeName, "");
    setText(this.#ceasefire, "");
    this.#offerCeasefire(rangeID);
    this.ask(rangeID);
    clearTimeout(this.#asking);
    this.#askForCeasefire();
  }

  // offerCeasefire has a ceasefire over the range begun before anybody signs in, on a browser in which staff of the range have signed in before.
  #offerCeasefire(rangeID) {
    const { t } = this.#client;
    this.#reached = "";
    this.#begin.hidden = true; // until the gateway says that this browser may
    this.#beginButton = beginButton(this.#client, { words: t("ceasefire.begin"), kind: "ceasefire", label: t("ceasefire.begin_range"), scope: "range", rangeID }, new ErrorText());
    this.#begin.replaceChildren(this.#beginButton);
  }

  // begun is called when a ceasefire that this page has asked for is in force, with the gateway's reply.
  begun({ rangeID }, { confirmed, sent, not_reached: missing }) {
    const { t } = this.#client;
    if (this.#root.hidden || rangeID !== rangeOfPage()) {
      return;
    }
    const all = confirmed.length + sent.length + missing.length;
    const unconfirmed = all - confirmed.length;
    this.#reached = [t(`sign_in.confirmed_of_${all === 1 ? "one" : "many"}`, { n: confirmed.length, all }), unconfirmed > 0 ? t("sign_in.not_reached", { n: unconfirmed }) : ""].join(" ");
    this.#askForCeasefire();
  }

  // askForCeasefire shows a ceasefire that is in force, again and again while the form is shown, and the name of the range.
  async #askForCeasefire() {
    const rangeID = rangeOfPage();
    if (rangeID === "" || this.#root.hidden) {
      return;
    }
    const { t } = this.#client;
    const question = ++this.#questions;
    const { range_name: name, known, over, since, may_begin: mayBegin } = await send("GET", `${PAGE}/sign-in/${rangeID}/ceasefire`).catch(() => ({ known: false }));
    if (rangeID !== rangeOfPage() || question !== this.#questions) {
      return; // another range was chosen meanwhile, or it was asked again since
    }
    if (known) {
      reached();
    }
    if (name) {
      setText(this.#rangeName, name);
    }
    if (mayBegin !== undefined) {
      this.#begin.hidden = !mayBegin;
    }
    this.#beginButton.show(known && over === "range");
    this.#reached = known && !over ? "" : this.#reached;
    this.#ceasefire.toggleAttribute("data-unknown", !known);
    setText(this.#ceasefire, known ? over && [t(`sign_in.ceasefire_${over}`, { time: t.seconds(since) }), this.#reached].filter(Boolean).join(". ") : t("sign_in.ceasefire_unknown"));
    clearTimeout(this.#asking);
    this.#asking = setTimeout(() => this.#askForCeasefire(), INTERVAL);
  }

  // uniformRefusal shows one sentence for everything that can be wrong with a name and a PIN.
  #uniformRefusal() {
    const { t } = this.#client;
    return {
      sentence: (refusal) => (["unauthorized", "invalid_request"].includes(refusal.code) ? t("sign_in.wrong") : this.#client.sentence(refusal)),
    };
  }
}

function rangeOfPage() {
  const id = location.pathname.slice(PAGE.length + 1).replace(/\/$/, "");
  return /^[0-9a-f-]{36}$/i.test(id) ? id.toLowerCase() : "";
}
