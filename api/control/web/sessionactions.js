// The actions on the session of a lane: its time, start, pause, move and stop.
import { element } from "/screens/element.js";
import { action, button, ignoreQuickRepeats, perform } from "./actions.js";
import { confirmButton } from "./confirmbutton.js";
import { makeUpButtons } from "./makeup.js";
import { stateOf } from "./rules.js";

const STEPS = [-15, -5, 5, 15];

export class SessionActions {
  #client;
  #lane;
  #error;
  #start;
  #callOff;
  #pause;
  #resume;
  #stop;
  #minutes;
  #move;
  #makeUp = element("div.section.make-up", { hidden: true });
  #ranOn = "";

  // pick(lane) has a lane chosen that its session moves to, and returns it, or null.
  constructor(client, error, pick) {
    this.#client = client;
    this.#error = error;
    const { t } = client;
    const command = (key, sign, kind) =>
      action(client, { words: t(`session.${key}`), sign, kind }, error, () => client.session(this.#lane, key));
    this.#start = command("start", "play", "primary");
    this.#callOff = action(client, { words: t("session.call_off"), sign: "close" }, error, () => client.request("DELETE", `/starts/${this.#lane.session.start_id}`));
    this.#pause = action(client, { words: t("session.pause"), sign: "pause" }, this.#error, () => client.outcome.pause(this.#lane));
    this.#resume = command("resume", "play", "primary");
    this.#move = button({ words: t("session.move"), sign: "leave" }, () => this.#moveTo(pick));
    this.#makeStop();
    this.element = element("div.sections", {},
      element("div.section.row", {}, this.#start, this.#callOff, this.#pause, this.#resume, this.#move, this.#stop),
      this.#makeUp,
      this.#timeSection());
  }

  // begin resets the forms for another session.
  begin(lane) {
    this.#lane = lane;
    this.#minutes.value = "";
    const stop = this.#stop;
    this.#makeStop(); // a pending confirmation was for the session before
    stop.replaceWith(this.#stop);
  }

  show(lane) {
    this.#lane = lane;
    const { t } = this.#client;
    this.#offer(lane);
    const ranOn = `${lane.session?.session_id} ${lane.session?.ran_on_ms ?? 0}`;
    if (ranOn !== this.#ranOn) {
      this.#ranOn = ranOn;
      this.#makeUp.hidden = !(lane.session?.ran_on_ms > 0);
      this.#makeUp.replaceChildren(...(this.#makeUp.hidden ? [] : [element("p", {}, t("ran_on.explained")), ...makeUpButtons(this.#client, [lane], this.#error)]));
    }
  }

  // offer shows the one of start, pause and resume that fits the phase. The focus moves to the replacement.
  #offer(lane) {
    const focused = [this.#start, this.#callOff, this.#pause, this.#resume].find((button) => button === document.activeElement);
    this.#start.hidden = lane.phase !== "waiting" || lane.held; // pressed during a hold it would act after it, unseen
    this.#callOff.hidden = !lane.session?.start_id;
    this.#pause.hidden = lane.phase !== "running";
    this.#resume.hidden = stateOf(lane) !== "paused" || lane.session?.paused_by_hold === true || lane.held;
    if (focused?.hidden) {
      ([this.#start, this.#pause, this.#resume].find((button) => !button.hidden) ?? this.#stop).focus();
    }
  }

  #makeStop() {
    const { t } = this.#client;
    this.#stop = confirmButton(this.#client, { words: t("session.stop"), sign: "stop", kind: "danger" }, t("session.stop_sure"), this.#error,
      () => this.#client.outcome.stop(this.#lane));
  }

  #timeSection() {
    const { t } = this.#client;
    const change = (pressed, minutes, afterwards) => {
      const lane = this.#lane; // also of what is sold anyway: another session may be shown by then
      return perform(this.#client, pressed, this.#error, (anyway) => this.#client.outcome.modify(lane, minutes, anyway), afterwards);
    };
    const steps = STEPS.map((minutes) => {
      const step = button({ words: `${minutes > 0 ? "+" : "−"}${Math.abs(minutes)}`, label: t(minutes > 0 ? "time.more" : "time.less", { n: Math.abs(minutes) }) }, () => change(step, minutes));
      return step;
    });
    const row = element("div.steps", {}, ...steps);
    ignoreQuickRepeats(row);
    this.#minutes = element("input.input", { type: "number", min: -480, max: 480, step: 1, required: true, inputMode: "text", placeholder: "+20", "aria-label": t("time.number") });
    const submit = element("button.button", { type: "submit" }, t("time.change"));
    const form = element("form.together", {}, this.#minutes, submit);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const { session_id: id } = this.#lane.session;
      const typed = this.#minutes.value;
      const changed = () => {
        if (this.#lane.session?.session_id === id && this.#minutes.value === typed) {
          this.#minutes.value = "";
        }
      };
      if (Number(typed) !== 0 && (await change(submit, Number(typed), changed))) {
        changed();
      }
    });
    return element("div.section", { role: "group", "aria-label": t("time.title") }, element("h3", {}, t("time.title")), row, form);
  }

  async #moveTo(pick) {
    const lane = this.#lane;
    const place = this.#error.ofShown();
    const to = await pick(lane);
    if (to) {
      await perform(this.#client, this.#move, place, (anyway) => this.#client.outcome.move(lane, to, anyway), undefined, {}, "after_closing.move_anyway");
    }
  }
}
