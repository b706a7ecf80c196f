// What staff may take back for a while: a stop, a move, and time that was added or taken away. The offer lies over the page and moves
// nothing; the next one replaces it.
import { element, setText } from "/screens/element.js";
import { ErrorText, action, announce } from "./actions.js";

const SHOWN = 10_000; // ms

export class Undo {
  #client;
  #root;
  #words = element("p");
  #place = element("div");
  #error = new ErrorText();
  #timer = 0;

  constructor(client, root) {
    this.#client = client;
    this.#root = root;
    root.append(this.#words, this.#place, this.#error.element);
  }

  async modify(lane, minutes) {
    const { session_id: id } = lane.session;
    await this.#client.session(lane, "modify", { minutes });
    const { t } = this.#client;
    this.#offer(t("undo.modified", { lane: lane.name, minutes: `${minutes > 0 ? "+" : "−"}${Math.abs(minutes)}` }),
      () => this.#client.request("POST", `/sessions/${id}/modify`, { minutes: -minutes }));
  }

  async stop(lane) {
    const { session_id: id, customer_name: customer } = lane.session;
    await this.#client.session(lane, "stop");
    this.#offer(this.#client.t("undo.stopped", { lane: lane.name, customer }),
      () => this.#client.request("POST", `/sessions/${id}/reopen`, { lane_id: lane.lane_id }));
  }

  async move(lane, to) {
    const { session_id: id, customer_name: customer } = lane.session;
    await this.#client.session(lane, "move", { lane_id: to.lane_id });
    this.#offer(this.#client.t("undo.moved", { lane: to.name, customer }),
      () => this.#client.request("POST", `/sessions/${id}/move`, { lane_id: lane.lane_id }));
  }

  hide() {
    clearTimeout(this.#timer);
    const focused = this.#root.contains(document.activeElement);
    this.#root.hidden = true;
    setText(this.#words, ""); // it names a customer
    this.#place.replaceChildren();
    if (focused) {
      document.getElementById("main").focus();
    }
  }

  #offer(words, undo) {
    const { t } = this.#client;
    setText(this.#words, words);
    this.#error.show("");
    this.#place.replaceChildren(action(this.#client, { words: t("undo"), kind: "undo-button", label: t("undo.of", { what: words }) }, this.#error, async () => {
      await undo();
      this.hide();
      announce(t("undo.done"));
    }));
    this.#root.hidden = false;
    announce(words);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.hide(), SHOWN);
  }
}
