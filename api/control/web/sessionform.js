// The form for a new session on a lane. A press on a preset, which is a number of minutes and perhaps a group, sells it at once; everything
// else may stay as it is.
import { element, setText } from "/screens/element.js";
import { perform } from "./actions.js";
import { remember, remembered } from "./client.js";
import { numberFree, stateOf } from "./rules.js";

const MINUTES = [15, 30, 45, 60, 90, 120]; // of a range whose configuration has no presets
const DEFAULT_MINUTES = 60;
const DEFAULT_UP_TO = 120; // of an open end

export class SessionForm {
  #client;
  #lane;
  #name;
  #group;
  #minutes;
  #presets = element("div.presets");
  #drawnPresets = "";
  #press;
  #purchasing;
  #grace;
  #openEnd;
  #upTo;
  #start;
  #submit;
  #closed = element("p.note");
  #selling = new Set(); // the lanes whose sale is under way
  #kept = ""; // a customer who was typed and whom nobody has sold anything
  #groups = "";

  // done is called with the session that was created, and its lane. sell(body, lane) sells, without the lane of the request; by default on
  // the lane that was shown when it was pressed.
  constructor(client, error, done, sell = (body, lane) => client.request("POST", "/sessions", { ...body, lane_id: lane.lane_id })) {
    this.#client = client;
    const { t } = client;
    this.#name = element("input.input", { name: "customer_name", maxLength: 200, autocomplete: "off", autocapitalize: "words", enterKeyHint: "done" });
    this.#group = element("select.input", { name: "group_id", required: true });
    this.#minutes = element("input.input", { name: "minutes", type: "number", min: 1, max: 480, step: 1, required: true, inputMode: "numeric" });
    this.#minutes.addEventListener("input", () => this.#update());
    this.#press = async (pressed, minutes, group = this.#group.value, more = this.#chosen()) => {
      const lane = this.#lane;
      const typed = this.#name.value.trim();
      const body = { ...this.#body(typed, minutes, group), ...more };
      let session;
      const create = async (anyway) => {
        this.#selling.add(lane.lane_id);
        try {
          session = await sell({ ...body, ...anyway }, lane);
        } finally {
          this.#selling.delete(lane.lane_id);
        }
      };
      const finish = () => {
        remember("minutes", minutes);
        if (this.#kept === typed) { // who was refused is sold the time after all
          this.#kept = "";
        }
        done(session, lane);
      };
      if (await perform(client, pressed, error, create, finish)) {
        finish();
      } else if (this.#name.value === "") { // the lane was sold meanwhile, or another one is shown
        this.#kept = typed;
      }
    };
    this.#group.addEventListener("change", () => this.#update());
    this.#purchasing = element("input", { type: "checkbox", name: "purchasing", checked: true });
    this.#grace = element("input", { type: "checkbox", name: "grace" });
    this.#openEnd = element("input", { type: "checkbox", name: "open_end", onchange: () => (this.#upTo.parentElement.hidden = !this.#openEnd.checked) });
    this.#upTo = element("input.input", { name: "up_to", type: "number", min: 2, max: 480, step: 1, value: DEFAULT_UP_TO, inputMode: "numeric" });
    this.#start = element("input", { type: "radio", name: "start", value: "now", checked: true, onchange: () => this.#update() });
    const entry = element("input", { type: "radio", name: "start", value: "entry", onchange: () => this.#update() });
    this.#submit = element("button.button.primary.wide", { type: "submit" }, "");
    this.element = element("form.section", { noValidate: false, "aria-label": t("form.title") },
      this.#closed,
      field(t("form.customer"), this.#name),
      element("div.field", { role: "group", "aria-label": t("form.minutes") }, element("span", {}, t("form.minutes")), this.#presets),
      element("label.own", {}, element("span", {}, t("form.own_minutes")), this.#minutes),
      this.#submit,
      element("fieldset.pair", {}, element("legend.legend", {}, t("form.start")),
        element("label.choice", {}, this.#start, element("span", {}, t("form.start_now"))), element("label.choice", {}, entry, element("span", {}, t("form.start_entry")))),
      field(t("form.group"), this.#group),
      element("label.check", {}, this.#purchasing, element("span", {}, t("form.purchasing"))),
      element("label.check", {}, this.#grace, element("span", {}, t("form.grace"))),
      element("label.check", {}, this.#openEnd, element("span", {}, t("form.open_end"))),
      element("label.own", { hidden: true }, element("span", {}, t("form.up_to")), this.#upTo));
    this.element.addEventListener("input", () => error.withdraw()); // it is of what was chosen before
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#press(this.#submit, Number(this.#minutes.value));
    });
  }

  // keep is called when the form goes away by itself, as the lane was sold elsewhere or the sign-in has ended: what was typed is in the
  // form of the next free lane.
  keep() {
    const typed = this.#name.value.trim();
    if (typed && !this.#selling.has(this.#lane.lane_id)) {
      this.#kept = typed;
    }
    this.#name.value = "";
  }

  // forget is called when staff close the form.
  forget() {
    this.#name.value = "";
  }

  // kept returns the customer who was kept, or "".
  get kept() {
    return this.#kept;
  }

  // begin clears the form for the next customer, except the group and the other choices. The minutes are those that were sold last.
  begin(lane) {
    this.#lane = lane;
    this.#name.value = lane.session ? "" : this.#kept;
    if (!lane.session) {
      this.#kept = "";
    }
    const last = Number(remembered("minutes"));
    this.#minutes.value = last >= 1 && last <= 480 ? last : DEFAULT_MINUTES;
    this.#update();
  }

  show(lane) {
    this.#lane = lane;
    const { range, t } = this.#client;
    const groups = JSON.stringify(range.groups);
    if (groups !== this.#groups) {
      this.#groups = groups;
      this.#group.replaceChildren(...range.groups.map((group) => element("option", { value: group.id }, group.name)));
    }
    this.#group.parentElement.hidden = range.groups.length < 2;
    this.#drawPresets();
    this.#purchasing.parentElement.hidden = !range.info.purchasing;
    this.#grace.parentElement.hidden = !range.info.grace;
    this.#openEnd.parentElement.hidden = !this.#canOpenEnd();
    this.#upTo.parentElement.hidden = !(this.#canOpenEnd() && this.#openEnd.checked);
    this.#name.placeholder = this.#walkIn();
    const state = stateOf(lane);
    setText(this.#closed, lane.held ? t("form.held") : lane.reserved ? t("form.reserved") : state === "free" ? "" : t(`form.${state}`));
    this.#closed.hidden = this.#closed.textContent === "";
  }

  focus() {
    this.#name.focus();
  }

  // walkIn returns the name that a customer who gives none will have: the gateway gives the lowest number that is free.
  #walkIn() {
    const { range, t } = this.#client;
    const name = (n) => `${t("form.walk_in")} ${n}`;
    return name(numberFree([...range.lanes.values()].map(({ session }) => session?.customer_name), name));
  }

  // drawPresets makes the buttons anew when the range's presets, or the names on them, have changed.
  #drawPresets() {
    const { range, t } = this.#client;
    const presets = range.info.presets.length > 0 ? range.info.presets : MINUTES.map((minutes) => ({ minutes, group_id: null }));
    const drawn = JSON.stringify([presets, range.groups]);
    if (drawn === this.#drawnPresets) {
      return;
    }
    this.#drawnPresets = drawn;
    this.#presets.toggleAttribute("data-named", range.groups.length > 1 && presets.some(({ group_id: id }) => id));
    this.#presets.replaceChildren(...presets.map(({ minutes, group_id: id, grace, open_end: openEnd }) => {
      const own = openEnd ? { open_end: openEnd } : grace ? { grace } : undefined; // else what is chosen in the form
      const group = range.groups.length > 1 ? range.groups.find((candidate) => candidate.id === id)?.name : undefined;
      const label = group === undefined ? t("form.sell", { n: minutes }) : t("form.sell_to", { n: minutes, group });
      const preset = element("button.button", { type: "button", "data-minutes": minutes, "data-group": id ?? "", "aria-label": label, onclick: () => this.#press(preset, minutes, id ?? undefined, own) },
        element("span", {}, String(minutes)), ...(group === undefined ? [] : [element("span.preset-group", {}, group)]));
      return preset;
    }));
    this.#update();
  }

  #update() {
    for (const preset of this.#presets.children) {
      const { minutes, group } = preset.dataset;
      preset.toggleAttribute("data-last", minutes === this.#minutes.value && (group === "" || group === this.#group.value));
    }
    const key = this.#start.checked ? "form.create_now" : "form.create_entry";
    this.#submit.textContent = this.#client.t(key, { minutes: this.#minutes.value });
  }

  // canOpenEnd is true if a session of the lane that is shown may go on beyond what was sold; with several lanes, of the first.
  #canOpenEnd() {
    return Boolean(this.#client.range.info.open_end && this.#lane.open_end);
  }

  // chosen returns what is chosen in the form for the end of a session.
  #chosen() {
    if (this.#canOpenEnd() && this.#openEnd.checked) {
      return { open_end: { up_to: Number(this.#upTo.value) } };
    }
    return this.#grace.checked && this.#client.range.info.grace ? { grace: true } : {};
  }

  #body(customer, minutes, group) {
    return {
      ...(customer ? { customer_name: customer } : { walk_in: this.#client.t("form.walk_in") }),
      group_id: group,
      duration: minutes,
      enable_purchasing: this.#purchasing.checked && this.#client.range.info.purchasing,
      auto_start: this.#start.checked,
    };
  }
}

function field(words, input) {
  return element("label.field", {}, element("span", {}, words), input);
}
