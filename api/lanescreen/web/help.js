// Calling for help: the button, and what has become of the call.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { send, sentence } from "/screens/send.js";

export class Help {
  #t;
  #base;
  #lane;
  #button;
  #answer;
  #drawn = "";

  constructor(t, base, lane, root) {
    this.#t = t;
    this.#base = base;
    this.#lane = lane;
    this.#button = element("button.button.call", { type: "button", onclick: () => this.#call() }, icon("bell"), t("help"));
    this.#answer = element("p.answer", { role: "status" });
    root.append(this.#answer, this.#button);
  }

  async #call() {
    this.#button.disabled = true;
    try {
      await send("POST", `${this.#base}/help`);
    } catch (refusal) {
      this.#answer.replaceChildren(icon("alert"), sentence(this.#t, refusal));
      this.#drawn = "refused";
    } finally {
      this.#button.disabled = false;
    }
  }

  show() {
    const call = this.#lane.help;
    const drawn = call ? `call ${call.coming}` : "";
    if (drawn === this.#drawn) {
      return;
    }
    this.#drawn = drawn;
    // Whoever is waiting for help that is on its way may call again; a call that is up is up.
    this.#button.hidden = call !== null && !call.coming;
    this.#answer.dataset.coming = call?.coming ?? "";
    this.#answer.replaceChildren(...(call ? [icon(call.coming ? "check" : "bell"), this.#t(call.coming ? "help.coming" : "help.called")] : []));
  }
}
