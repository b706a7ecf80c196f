// What can be done to the session on a lane: its time, its start, pause and stop, and moving it.
import { element } from "/screens/element.js";
import { action, perform } from "./act.js";
import { makeUpButtons } from "./makeup.js";
import { twice } from "./twice.js";
import { stateOf } from "./urgency.js";

const STEPS = [-15, -5, 5, 15];

export class SessionActions {
  #desk;
  #lane;
  #trouble;
  #start;
  #pause;
  #resume;
  #stop;
  #minutes;
  #move;
  #free = "";
  #makeUp = element("div.section.make-up", { hidden: true });
  #ranOn = "";

  constructor(desk, trouble) {
    this.#desk = desk;
    this.#trouble = trouble;
    const { t } = desk;
    const one = (key, sign, kind) =>
      action(desk, { words: t(`session.${key}`), sign, kind }, trouble, () => desk.session(this.#lane, key));
    this.#start = one("start", "play", "primary");
    this.#pause = one("pause", "pause");
    this.#resume = one("resume", "play", "primary");
    this.#makeStop();
    this.element = element("div.sections", {},
      element("div.section.row", {}, this.#start, this.#pause, this.#resume, this.#stop),
      this.#makeUp,
      this.#timeSection(),
      this.#moveSection());
  }

  // begin is for another session than the one before.
  begin(lane) {
    this.#lane = lane;
    this.#minutes.value = "";
    const stop = this.#stop;
    this.#makeStop(); // a stop that was armed was armed for the session before
    stop.replaceWith(this.#stop);
  }

  show(lane) {
    this.#lane = lane;
    const { range, t } = this.#desk;
    this.#offer(lane);

    const free = [...range.lanes.values()].filter((other) => stateOf(other) === "free");
    const key = free.map((other) => other.lane_id).join();
    if (key !== this.#free) {
      this.#free = key;
      const chosen = this.#move.value;
      this.#move.replaceChildren(element("option", { value: "" }, t("session.move_choose")), ...range.bays
        .map((bay) => [bay, free.filter((other) => other.bay_id === bay.id)])
        .filter(([, there]) => there.length > 0)
        .map(([bay, there]) => element("optgroup", { label: bay.name }, ...there.map((other) => element("option", { value: other.lane_id }, other.name)))));
      this.#move.value = free.some((other) => other.lane_id === chosen) ? chosen : "";
    }
    const ranOn = `${lane.session?.session_id} ${lane.session?.ran_on_ms ?? 0}`;
    if (ranOn !== this.#ranOn) {
      this.#ranOn = ranOn;
      this.#makeUp.hidden = !(lane.session?.ran_on_ms > 0);
      this.#makeUp.replaceChildren(...(this.#makeUp.hidden ? [] : [element("p", {}, t("ran_on.explained")), ...makeUpButtons(this.#desk, lane, this.#trouble)]));
    }
  }

  // Of start, pause and resume, what fits the phase. Whoever has touched one stands on the one that takes its place.
  #offer(lane) {
    const focused = [this.#start, this.#pause, this.#resume].find((one) => one === document.activeElement);
    this.#start.hidden = lane.phase !== "waiting";
    this.#pause.hidden = lane.phase !== "running";
    this.#resume.hidden = lane.phase !== "paused" || lane.session?.paused_by_hold === true;
    if (focused?.hidden) {
      ([this.#start, this.#pause, this.#resume].find((one) => !one.hidden) ?? this.#stop).focus();
    }
  }

  #makeStop() {
    const { t } = this.#desk;
    this.#stop = twice(this.#desk, { words: t("session.stop"), sign: "stop", kind: "danger" }, t("session.stop_sure"), this.#trouble,
      () => this.#desk.session(this.#lane, "stop"));
  }

  #timeSection() {
    const { t } = this.#desk;
    const change = (minutes) => this.#desk.session(this.#lane, "modify", { minutes });
    const steps = STEPS.map((minutes) => action(this.#desk,
      { words: `${minutes > 0 ? "+" : "−"}${Math.abs(minutes)}`, label: t(minutes > 0 ? "time.more" : "time.less", { n: Math.abs(minutes) }) },
      this.#trouble, () => change(minutes)));
    this.#minutes = element("input.input", { type: "number", min: -480, max: 480, step: 1, required: true, inputMode: "text", placeholder: "+20", "aria-label": t("time.number") });
    const submit = element("button.button", { type: "submit" }, t("time.change"));
    const form = element("form.together", {}, this.#minutes, submit);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const minutes = Number(this.#minutes.value);
      if (minutes !== 0 && (await perform(this.#desk, submit, this.#trouble, () => change(minutes)))) {
        this.#minutes.value = "";
      }
    });
    return element("div.section", { role: "group", "aria-label": t("time.title") }, element("h3", {}, t("time.title")), element("div.steps", {}, ...steps), form);
  }

  #moveSection() {
    const { t } = this.#desk;
    this.#move = element("select.input", { required: true, "aria-label": t("session.move_to") });
    const submit = element("button.button", { type: "submit" }, t("session.move"));
    const form = element("form.together", {}, this.#move, submit);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      perform(this.#desk, submit, this.#trouble, () => this.#desk.session(this.#lane, "move", { lane_id: this.#move.value }));
    });
    return element("div.section", {}, element("h3", {}, t("session.move_to")), form);
  }
}
