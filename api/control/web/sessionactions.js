// The actions on the session of a lane: its time, start, pause, stop and move.
import { element } from "/screens/element.js";
import { action, perform } from "./actions.js";
import { confirmButton } from "./confirmbutton.js";
import { makeUpButtons } from "./makeup.js";
import { stateOf } from "./rules.js";

const STEPS = [-15, -5, 5, 15];

export class SessionActions {
  #client;
  #lane;
  #error;
  #start;
  #pause;
  #resume;
  #stop;
  #minutes;
  #move;
  #free = "";
  #makeUp = element("div.section.make-up", { hidden: true });
  #ranOn = "";

  constructor(client, error) {
    this.#client = client;
    this.#error = error;
    const { t } = client;
    const command = (key, sign, kind) =>
      action(client, { words: t(`session.${key}`), sign, kind }, error, () => client.session(this.#lane, key));
    this.#start = command("start", "play", "primary");
    this.#pause = command("pause", "pause");
    this.#resume = command("resume", "play", "primary");
    this.#makeStop();
    this.element = element("div.sections", {},
      element("div.section.row", {}, this.#start, this.#pause, this.#resume, this.#stop),
      this.#makeUp,
      this.#timeSection(),
      this.#moveSection());
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
    const { range, t } = this.#client;
    this.#offer(lane);

    const free = [...range.lanes.values()].filter((other) => stateOf(other) === "free");
    const key = free.map((other) => other.lane_id).join();
    if (key !== this.#free) {
      this.#free = key;
      const chosen = this.#move.value;
      this.#move.replaceChildren(element("option", { value: "" }, t("session.move_choose")), ...range.bays
        .map((bay) => [bay, free.filter((other) => other.bay_id === bay.id)])
        .filter(([, lanes]) => lanes.length > 0)
        .map(([bay, lanes]) => element("optgroup", { label: bay.name }, ...lanes.map((other) => element("option", { value: other.lane_id }, other.name)))));
      this.#move.value = free.some((other) => other.lane_id === chosen) ? chosen : "";
    }
    const ranOn = `${lane.session?.session_id} ${lane.session?.ran_on_ms ?? 0}`;
    if (ranOn !== this.#ranOn) {
      this.#ranOn = ranOn;
      this.#makeUp.hidden = !(lane.session?.ran_on_ms > 0);
      this.#makeUp.replaceChildren(...(this.#makeUp.hidden ? [] : [element("p", {}, t("ran_on.explained")), ...makeUpButtons(this.#client, lane, this.#error)]));
    }
  }

  // offer shows the one of start, pause and resume that fits the phase. The focus moves to the replacement.
  #offer(lane) {
    const focused = [this.#start, this.#pause, this.#resume].find((button) => button === document.activeElement);
    this.#start.hidden = lane.phase !== "waiting";
    this.#pause.hidden = lane.phase !== "running";
    this.#resume.hidden = lane.phase !== "paused" || lane.session?.paused_by_hold === true;
    if (focused?.hidden) {
      ([this.#start, this.#pause, this.#resume].find((button) => !button.hidden) ?? this.#stop).focus();
    }
  }

  #makeStop() {
    const { t } = this.#client;
    this.#stop = confirmButton(this.#client, { words: t("session.stop"), sign: "stop", kind: "danger" }, t("session.stop_sure"), this.#error,
      () => this.#client.session(this.#lane, "stop"));
  }

  #timeSection() {
    const { t } = this.#client;
    const change = (minutes) => this.#client.session(this.#lane, "modify", { minutes });
    const steps = STEPS.map((minutes) => action(this.#client,
      { words: `${minutes > 0 ? "+" : "−"}${Math.abs(minutes)}`, label: t(minutes > 0 ? "time.more" : "time.less", { n: Math.abs(minutes) }) },
      this.#error, () => change(minutes)));
    this.#minutes = element("input.input", { type: "number", min: -480, max: 480, step: 1, required: true, inputMode: "text", placeholder: "+20", "aria-label": t("time.number") });
    const submit = element("button.button", { type: "submit" }, t("time.change"));
    const form = element("form.together", {}, this.#minutes, submit);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const minutes = Number(this.#minutes.value);
      if (minutes !== 0 && (await perform(this.#client, submit, this.#error, () => change(minutes)))) {
        this.#minutes.value = "";
      }
    });
    return element("div.section", { role: "group", "aria-label": t("time.title") }, element("h3", {}, t("time.title")), element("div.steps", {}, ...steps), form);
  }

  #moveSection() {
    const { t } = this.#client;
    this.#move = element("select.input", { required: true, "aria-label": t("session.move_to") });
    const submit = element("button.button", { type: "submit" }, t("session.move"));
    const form = element("form.together", {}, this.#move, submit);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      perform(this.#client, submit, this.#error, () => this.#client.session(this.#lane, "move", { lane_id: this.#move.value }));
    });
    return element("div.section", {}, element("h3", {}, t("session.move_to")), form);
  }
}
