// Sign-in: which range, who, and the PIN.
import { element, setText } from "/screens/element.js";
import { send } from "/screens/send.js";
import { perform } from "./act.js";
import { remember, remembered } from "./remember.js";

const PAGE = "/control";

export class SignIn {
  #desk;
  #root = document.getElementById("sign-in");
  #form = document.getElementById("sign-in-form");
  #note = document.getElementById("sign-in-note");
  #trouble = document.getElementById("sign-in-trouble");

  // signedIn is called when the browser has a session.
  constructor(desk, signedIn) {
    this.#desk = desk;
    this.#form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const { range_id: range, name, pin } = this.#form.elements;
      const done = await perform(this.#refused(), event.submitter ?? this.#form, { say: (text) => setText(this.#trouble, text) }, () =>
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

  // show asks for a sign-in, and says why if there is something to say.
  show(why) {
    const named = rangeOfPage();
    const { range_id: range, name } = this.#form.elements;
    range.value = named || range.value || remembered("range");
    document.getElementById("sign-in-range").hidden = named !== "";
    document.title = this.#desk.t("sign_in.title");
    this.#note.replaceChildren(why);
    setText(this.#trouble, "");
    this.#root.hidden = false;
    (range.value ? name : range).focus();
  }

  hide() {
    this.#root.hidden = true;
  }

  // elsewhere: the page is of one range, and the browser is signed in to another one. It asks then.
  elsewhere() {
    const { range, t } = this.#desk;
    const named = rangeOfPage();
    if (named === "" || named === range.info.id) {
      history.replaceState(null, "", `${PAGE}/${range.info.id}${location.hash}`);
      return false;
    }
    this.show(t("sign_in.elsewhere", { range: range.info.name }));
    this.#note.append(" ", element("a", { href: `${PAGE}/${range.info.id}` }, t("sign_in.go_there")));
    return true;
  }

  // One answer stands for all that can be wrong with a name and a PIN.
  #refused() {
    const { t } = this.#desk;
    return {
      sentence: (refusal) => (["unauthorized", "invalid_request"].includes(refusal.code) ? t("sign_in.wrong") : this.#desk.sentence(refusal)),
    };
  }
}

function rangeOfPage() {
  const id = location.pathname.slice(PAGE.length + 1).replace(/\/$/, "");
  return /^[0-9a-f-]{36}$/i.test(id) ? id.toLowerCase() : "";
}
