// Calling for help: the button, and the state of the call.
import { element } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { clearWhenReached } from "/screens/recovery.js";
import { send, sentence } from "/screens/send.js";

export class Help {
  #t;
  #base;
  #lane;
  #button;
  #status;
  #drawn = "";

  constructor(t, base, lane, root) {
    this.#t = t;
    this.#base = base;
    this.#lane = lane;
    this.#button = element("button.button.call", { type: "button", onclick: () => this.#call() }, icon("bell"), t("help"));
    this.#status = element("p.answer", { role: "status" });
    root.append(this.#status, this.#button);
  }

  async #call() {
    this.#button.disabled = true;
    try {
      await send("POST", `${this.#base}/help`);
    } catch (refusal) {
      this.#status.replaceChildren(icon("alert"), sentence(this.#t, refusal));
      this.#drawn = "refused";
      clearWhenReached(this.#status, refusal);
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
    // While help is on its way the customer may call again; an open call cannot be repeated.
    this.#button.hidden = call !== null && !call.coming;
    this.#status.dataset.coming = call?.coming ?? "";
    this.#status.replaceChildren(...(call ? [icon(call.coming ? "check" : "bell"), this.#t(call.coming ? "help.coming" : "help.called")] : []));
  }
}
