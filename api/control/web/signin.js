// Sign-in: which range, who, and the PIN.
import { element, setText } from "/screens/element.js";
import { reached } from "/screens/recovery.js";
import { send } from "/screens/send.js";
import { perform } from "./actions.js";
import { remember, remembered } from "./client.js";

const PAGE = "/control";
const INTERVAL = 3_000; // ms between two questions whether a ceasefire is in force

export class SignIn {
  #client;
  #root = document.getElementById("sign-in");
  #form = document.getElementById("sign-in-form");
  #note = document.getElementById("sign-in-note");
  #error = document.getElementById("sign-in-trouble");
  #ceasefire = document.getElementById("sign-in-ceasefire");
  #asking = 0; // the timer

  // signedIn is called when the browser has a session.
  constructor(client, signedIn) {
    this.#client = client;
    this.#form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const { range_id: range, name, pin } = this.#form.elements;
      const done = await perform(this.#uniformRefusal(), event.submitter ?? this.#form, { element: this.#error, show: (text) => setText(this.#error, text) }, () =>
        send("POST", `${PAGE}/sign-in`, { range_id: range.value.trim(), name: name.value.trim(), pin: pin.value }));
      pin.value = "";
      if (done) {
        remember("range", range.value.trim());
        history.replaceState(null, "", `${PAGE}/${range.value.trim()}${location.hash}`);
        signedIn();
      } else {
        pin.focus();
      }
    });
  }

  // show shows the form, with the reason for it.
  show(reason) {
    const rangeID = rangeOfPage();
    const { range_id: range, name } = this.#form.elements;
    range.value = rangeID || range.value || remembered("range");
    document.getElementById("sign-in-range").hidden = rangeID !== "";
    document.title = this.#client.t("sign_in.title");
    this.#note.replaceChildren(reason);
    setText(this.#error, "");
    this.#root.hidden = false;
    (range.value ? name : range).focus();
    clearTimeout(this.#asking);
    this.#askForCeasefire();
  }

  hide() {
    this.#root.hidden = true;
    clearTimeout(this.#asking);
  }

  // askForCeasefire shows a ceasefire that is in force, again and again while the form is shown.
  async #askForCeasefire() {
    const rangeID = rangeOfPage();
    if (rangeID === "" || this.#root.hidden) {
      return;
    }
    const { t } = this.#client;
    const { known, over, since } = await send("GET", `${PAGE}/${rangeID}/ceasefire`).catch(() => ({ known: false }));
    if (known) {
      reached();
    }
    this.#ceasefire.toggleAttribute("data-unknown", !known);
    setText(this.#ceasefire, known ? over && t(`sign_in.ceasefire_${over}`, { time: t.seconds(since) }) : t("sign_in.ceasefire_unknown"));
    clearTimeout(this.#asking);
    this.#asking = setTimeout(() => this.#askForCeasefire(), INTERVAL);
  }

  // isForAnotherRange is true if the page is of another range than the browser's session. It shows the form then.
  isForAnotherRange() {
    const { range, t } = this.#client;
    const rangeID = rangeOfPage();
    if (rangeID === "" || rangeID === range.info.id) {
      history.replaceState(null, "", `${PAGE}/${range.info.id}${location.hash}`);
      return false;
    }
    this.show(t("sign_in.elsewhere", { range: range.info.name }));
    this.#note.append(" ", element("a", { href: `${PAGE}/${range.info.id}` }, t("sign_in.go_there")));
    return true;
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
