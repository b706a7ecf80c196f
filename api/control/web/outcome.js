// What became of the last action, and what of it may be taken back for a while: a stop, a pause, a move, and time that was added or taken
// away; how an action on several lanes went; and that time was sold, with the code for who bought it. It is shown in the head of the
// page, where it lies on no lane and moves nothing; the next one replaces it.
import { formatTime, now } from "/screens/clock.js";
import { element, setText } from "/screens/element.js";
import { ErrorText, action, announce, button } from "./actions.js";
import { laneLine } from "./eachlane.js";
import { laneOwed } from "./model.js";

const SHOWN = 10_000; // ms
const SHOWN_WITH_MORE = 30_000; // ms, where there is something else to do than to take it back

export class Outcome {
  #client;
  #root;
  #words = element("p.words");
  #lines = element("ul.lines");
  #refusal = element("div"); // its place
  #controls = element("div.controls");
  #error; // of what is told
  #timer = 0;
  #shown = SHOWN; // ms that it is shown after nobody points at it and nothing in it has the focus
  #end = null; // what happens then
  #pointed = false;
  #modified = null; // {id, minutes} of the session whose change of time is offered

  constructor(client, root) {
    this.#client = client;
    this.#root = root;
    root.append(element("div.told", {}, this.#words, this.#lines, this.#refusal), this.#controls);
    for (const type of ["pointerenter", "pointerleave"]) {
      root.addEventListener(type, () => {
        this.#pointed = type === "pointerenter";
        this.#endLater();
      });
    }
    for (const type of ["focusin", "focusout"]) {
      root.addEventListener(type, () => this.#endLater());
    }
    root.addEventListener("keydown", (event) => event.key === "Escape" && this.hide());
  }

  // modify adds minutes, or takes them away. What was added to the same session while the offer is there is taken back together.
  // more is for the body of the request.
  async modify(lane, minutes, more = {}) {
    const { session_id: id } = lane.session;
    const { users } = this.#client;
    await this.#client.session(lane, "modify", { minutes, ...more });
    if (users !== this.#client.users) {
      return;
    }
    const { t } = this.#client;
    const sum = minutes + (this.#modified?.id === id ? this.#modified.minutes : 0);
    if (sum === 0) {
      this.#takenBack(this.#error);
      return;
    }
    this.#offer(users, t("undo.modified", { lane: lane.name, minutes: `${sum > 0 ? "+" : "−"}${Math.abs(sum)}` }),
      () => this.#client.request("POST", `/sessions/${id}/modify`, sum < 0 ? { minutes: -sum, after_closing: true } : { minutes: -sum }));
    this.#modified = { id, minutes: sum };
  }

  async pause(lane) {
    const { session_id: id } = lane.session;
    const { users } = this.#client;
    await this.#client.session(lane, "pause");
    this.#offer(users, this.#client.t("undo.paused", { lane: lane.name }), () => this.#client.request("POST", `/sessions/${id}/resume`));
  }

  async stop(lane) {
    const { session_id: id, customer_name: customer } = lane.session;
    const { users } = this.#client;
    const stopped = this.#client.range.lanes.get(lane.lane_id) ?? lane; // a button may have been drawn for an older state
    await this.#client.session(lane, "stop");
    const owed = laneOwed(stopped, now());
    if (owed !== null) { // nothing is left that could go on
      const time = formatTime(await this.#owedOnRecord(id) ?? owed);
      this.confirm(this.#client.t("stopped.owes", { lane: lane.name, customer, time }), () => []);
      return;
    }
    this.#offer(users, this.#client.t("undo.stopped", { lane: lane.name, customer }),
      () => this.#client.request("POST", `/sessions/${id}/reopen`, { lane_id: lane.lane_id }));
  }

  // owedOnRecord returns what the ended session owes, in ms: it was over before the answer came. undefined if nobody can read it now.
  async #owedOnRecord(id) {
    try {
      const { sessions } = await this.#client.request("GET", "/history");
      const ended = sessions.find(({ session_id }) => session_id === id);
      return ended && (ended.minutes_beyond - ended.minutes_beyond_settled) * 60_000;
    } catch {
      return undefined; // the store is away: what the screen has counted is told
    }
  }

  // move lets the session go on in another lane. more is for the body of the request.
  async move(lane, to, more = {}) {
    const { session_id: id, customer_name: customer } = lane.session;
    const { users } = this.#client;
    await this.#client.session(lane, "move", { lane_id: to.lane_id, ...more });
    this.#offer(users, this.#client.t("undo.moved", { lane: to.name, customer }),
      () => this.#client.request("POST", `/sessions/${id}/move`, { lane_id: lane.lane_id, after_closing: true })); // that lane may close earlier
  }

  hide() {
    clearTimeout(this.#timer);
    this.#modified = this.#error = null;
    this.#pointed = false;
    const focused = this.#root.contains(document.activeElement);
    this.#root.hidden = true;
    setText(this.#words, ""); // it names a customer
    this.#words.title = "";
    this.#lines.replaceChildren();
    this.#refusal.replaceChildren(); // what is refused from now on is told anew
    this.#controls.replaceChildren();
    if (focused) {
      document.getElementById("main").focus();
    }
  }

  // report shows what became of an action on several lanes: how many in words, and the others in lines. What failed stays until it is
  // closed. undo takes the action back, and returns the report of that if it failed for some; null: it cannot be taken back. more returns
  // other controls about it.
  report({ words, lines, failed }, undo = null, more = null) {
    const error = this.#errorOf(words);
    const offer = undo && this.#undoButton(words, error, async () => {
      const rest = await undo();
      rest ? this.report(rest) : this.#takenBack(error);
    });
    const close = this.#closeButton(this.#client.t("panel.close"));
    this.#tell({ words, lines, error, controls: [offer, ...(more?.(error) ?? []), close], shown: more ? SHOWN_WITH_MORE : SHOWN });
    if (failed) {
      this.#end = () => offer?.remove();
    }
  }

  // refused tells of an action on a lane that is not shown any more, until it is closed. offer is a button with what may be done about it,
  // or null.
  refused(lane, sentence, offer = null) {
    this.report({ words: laneLine(this.#client.t, [lane], sentence), lines: [], failed: true }, null, offer && (() => [offer]));
  }

  // confirm tells of something that is not taken back here; controls returns what may be done about it. It can be closed.
  confirm(words, controls) {
    const error = this.#errorOf(words);
    this.#tell({ words, error, controls: [...controls(error), this.#closeButton(this.#client.t("panel.close"))], shown: SHOWN_WITH_MORE });
  }

  // offer offers to take an action back, unless another user has signed in since it was pressed for, users being their number then.
  #offer(users, words, undo) {
    if (users !== this.#client.users) {
      return;
    }
    const error = this.#errorOf(words);
    this.#tell({ words, error, shown: SHOWN, controls: [this.#undoButton(words, error, async () => {
      this.#modified = null; // what is added meanwhile is another offer
      await undo();
      this.#takenBack(error);
    })] });
  }

  // errorOf returns the place for refusals of what is done about what is told by those words. Once something else is told, they are told anew.
  #errorOf(words) {
    const error = new ErrorText();
    return {
      element: error.element,
      show: (sentence, offer) => {
        if (error.element.isConnected || !sentence) {
          error.show(sentence, offer);
        } else {
          this.report({ words, lines: [sentence], failed: true }, null, offer && (() => [offer]));
        }
      },
    };
  }

  #tell({ words, lines = [], error, controls, shown }) {
    this.#modified = null;
    setText(this.#words, words);
    this.#words.title = words; // it gives way where there is little room
    this.#lines.replaceChildren(...lines.map((line) => element("li", {}, line)));
    this.#error = error;
    this.#refusal.replaceChildren(error.element);
    this.#controls.replaceChildren(...controls.filter(Boolean));
    this.#root.hidden = false;
    announce([words, ...lines].join(". "));
    this.#shown = shown;
    this.#end = () => this.hide();
    this.#endLater();
  }

  // endLater begins the time after which it ends, unless somebody is at it.
  #endLater() {
    clearTimeout(this.#timer);
    if (!this.#root.hidden && !this.#pointed && !this.#root.contains(document.activeElement)) {
      this.#timer = setTimeout(() => this.#end(), this.#shown);
    }
  }

  #undoButton(words, error, act) {
    const { t } = this.#client;
    return action(this.#client, { words: t("undo"), kind: "undo-button", label: t("undo.of", { what: words }) }, error, act);
  }

  #closeButton(label) {
    return button({ sign: "close", kind: "outcome-close", label }, () => this.hide());
  }

  // takenBack hides what is told, if it is still what was taken back.
  #takenBack(error) {
    error === this.#error && this.hide();
    announce(this.#client.t("undo.done"));
  }
}
