// What staff may take back for a while: a stop, a move, and time that was added or taken away; and what became of an action on several
// lanes. It lies over the page and moves nothing; the next one replaces it.
import { element, setText } from "/screens/element.js";
import { ErrorText, action, announce, button } from "./actions.js";

const SHOWN = 10_000; // ms
const SHOWN_WITH_MORE = 30_000; // ms, where there is something else to do than to take it back

export class Undo {
  #client;
  #root;
  #words = element("p");
  #lines = element("ul.lines");
  #place = element("div");
  #error = new ErrorText();
  #timer = 0;
  #modified = null; // {id, minutes} of the session whose change of time is offered

  constructor(client, root) {
    this.#client = client;
    this.#root = root;
    root.append(this.#words, this.#place, this.#lines, this.#error.element);
  }

  // modify adds minutes, or takes them away. What was added to the same session while the offer is there is taken back together.
  async modify(lane, minutes) {
    const { session_id: id } = lane.session;
    await this.#client.session(lane, "modify", { minutes });
    const { t } = this.#client;
    const sum = minutes + (this.#modified?.id === id ? this.#modified.minutes : 0);
    if (sum === 0) {
      this.#takenBack();
      return;
    }
    this.#offer(t("undo.modified", { lane: lane.name, minutes: `${sum > 0 ? "+" : "−"}${Math.abs(sum)}` }),
      () => this.#client.request("POST", `/sessions/${id}/modify`, { minutes: -sum }));
    this.#modified = { id, minutes: sum };
  }

  async pause(lane) {
    const { session_id: id } = lane.session;
    await this.#client.session(lane, "pause");
    this.#offer(this.#client.t("undo.paused", { lane: lane.name }), () => this.#client.request("POST", `/sessions/${id}/resume`));
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
    this.#modified = null;
    const focused = this.#root.contains(document.activeElement);
    this.#root.hidden = true;
    setText(this.#words, ""); // it names a customer
    this.#lines.replaceChildren();
    this.#place.replaceChildren();
    if (focused) {
      document.getElementById("main").focus();
    }
  }

  // report shows what became of an action on several lanes: how many in words, and the others in lines. What failed stays until it is
  // closed. undo takes the action back, and returns the report of that if it failed for some; null: it cannot be taken back. more are
  // other controls about it.
  report({ words, lines, failed }, undo = null, more = null) {
    clearTimeout(this.#timer);
    this.#modified = null;
    setText(this.#words, words);
    this.#lines.replaceChildren(...lines.map((line) => element("li", {}, line)));
    this.#error.show("");
    const offer = undo && this.#button(words, async () => {
      const rest = await undo();
      rest ? this.report(rest) : this.#takenBack();
    });
    const close = button({ sign: "close", kind: "undo-close", label: this.#client.t("panel.close") }, () => this.hide());
    this.#place.replaceChildren(...[offer, ...(more?.(this.#error) ?? []), close].filter(Boolean));
    this.#root.hidden = false;
    announce([words, ...lines].join(". "));
    this.#timer = setTimeout(() => {
      if (!failed) {
        this.hide();
        return;
      }
      offer?.matches(":focus") && close.focus();
      offer?.remove();
    }, more ? SHOWN_WITH_MORE : SHOWN);
  }

  #offer(words, undo) {
    clearTimeout(this.#timer);
    this.#modified = null;
    setText(this.#words, words);
    this.#lines.replaceChildren();
    this.#error.show("");
    this.#place.replaceChildren(this.#button(words, async () => {
      await undo();
      this.#takenBack();
    }));
    this.#root.hidden = false;
    announce(words);
    this.#timer = setTimeout(() => this.hide(), SHOWN);
  }

  #button(words, act) {
    const { t } = this.#client;
    return action(this.#client, { words: t("undo"), kind: "undo-button", label: t("undo.of", { what: words }) }, this.#error, act);
  }

  #takenBack() {
    this.hide();
    announce(this.#client.t("undo.done"));
  }
}
