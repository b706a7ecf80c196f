// The bar of the lanes that are selected: how many, and what may be done with all those that it concerns. It lies over the toolbar of the
// board and moves nothing. Each lane gets a command of its own; what became of each is reported.
import { printButton } from "./shootercode.js";
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { BEGINS } from "/screens/replaced.js";
import { ErrorText, action, announce, button, ignoreQuickRepeats } from "./actions.js";
import { confirmButton } from "./confirmbutton.js";
import { forAllLanes, forEachGroup, forEachLane, laneLine, refusalLines } from "./eachlane.js";
import { ACTIONS, lanesTyped } from "./manylanes.js";
import { nameList } from "./rules.js";
import { SessionForm } from "./sessionform.js";
import { ignoreWhenMoved } from "./settling.js";

const IN_SIGHT = ["more_15", "start", "pause", "resume"];
const IN_MENU = ["together", "together_60", "call_off", "more_5", "more_30", "cleared", "give_back", "closed", "open", "configured"];
const QUIET = 400; // ms without a change before the number is announced: a range of lanes is one change

export class SelectionBar {
  #client;
  #root;
  #selecting;
  #count = element("p.count");
  #typed;
  #error = new ErrorText();
  #buttons = new Map(); // by action; not sell and stop
  #sell;
  #form;
  #stop = element("span.place");
  #stopOf = -1; // as many lanes as its text says
  #menu;
  #actions;
  #offered = "";
  #moved;
  #progress = ""; // of an action that is under way
  #announced = "";
  #announcing = 0;

  // onBegin is called when lanes begin to be selected.
  constructor(client, root, selecting, onBegin) {
    this.#client = client;
    this.#root = root;
    this.#selecting = selecting;
    const { t } = client;
    this.#typed = element("input.input", { type: "text", autocomplete: "off", spellcheck: false, enterKeyHint: "done", placeholder: t("many.typed_hint"), "aria-label": t("many.typed") });
    const form = element("form.typed", { onsubmit: (event) => {
      event.preventDefault();
      this.#selectTyped();
    } }, this.#typed);
    this.#sell = element("details.many-menu", {}, element("summary.button.primary", {}, icon(ACTIONS.sell.sign), element("span")), element("div.many-sell"));
    this.#sell.addEventListener("toggle", () => this.#sell.open && this.#form.begin(this.#free()));
    this.#form = new SessionForm(client, this.#error, () => (this.#sell.open = false), (body) => this.#sellTo(body));
    this.#sell.lastElementChild.append(this.#form.element);
    this.#menu = element("details.many-menu", {}, element("summary.button", { "aria-label": t("many.more") }, icon("more")), element("div.many-more", {}, ...IN_MENU.map((name) => this.#make(name))));
    this.#actions = element("div.many-actions", {}, ...IN_SIGHT.map((name) => this.#make(name)), this.#sell, this.#stop, this.#menu);
    root.append(
      element("div.many-which", {}, this.#count, form, button({ words: t("many.all") }, () => selecting.beginWithAll())),
      this.#actions, button({ sign: "close", label: t("many.end"), kind: "many-end" }, () => this.#end()), this.#error.element);
    this.#moved = ignoreWhenMoved(this.#actions);
    ignoreQuickRepeats(this.#actions);
    selecting.addEventListener("change", () => {
      selecting.isOn && root.hidden && onBegin();
      this.show();
    });
    document.addEventListener("click", (event) => this.#closeMenus(event), { capture: true });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.#escape(event));
  }

  show() {
    const { t } = this.#client;
    const { isOn, lanes } = this.#selecting;
    this.#root.hidden = !isOn;
    if (!isOn) {
      [this.#typed.value, this.#announced, this.#sell.open, this.#menu.open] = ["", "", false, false];
      clearTimeout(this.#announcing);
      this.#error.show("");
      return;
    }
    const words = lanes.length === 0 ? t("many.none") : t("many.selected", { n: lanes.length });
    setText(this.#count, this.#progress || words);
    this.#count.title = nameList(lanes.map(({ name }) => name), { one: t("lane.word"), many: t("lane.words") });
    this.#announce(words);
    this.#offer(lanes);
  }

  // offer shows what can be done with the lanes, and with how many of them.
  #offer(lanes) {
    const { t } = this.#client;
    const numbers = Object.fromEntries(Object.entries(ACTIONS).map(([name, { applies }]) => [name, lanes.filter(applies).length]));
    for (const [name, created] of this.#buttons) {
      created.hidden = numbers[name] === 0;
      setText(created.querySelector("span"), t(`many.${name}`, { n: numbers[name], seconds: ACTIONS[name].seconds }));
    }
    this.#menu.hidden = IN_MENU.every((name) => numbers[name] === 0);
    this.#sell.hidden = numbers.sell === 0;
    setText(this.#sell.querySelector("summary span"), t("many.sell", { n: numbers.sell }));
    numbers.sell > 0 ? this.#form.show(this.#free()) : (this.#sell.open = false);
    this.#offerStop(numbers.stop);
    const offered = Object.keys(numbers).filter((name) => numbers[name] > 0).join();
    if (offered !== this.#offered) {
      this.#offered = offered;
      this.#moved();
    }
  }

  // A confirmation that is pending was for as many lanes as it said.
  #offerStop(n) {
    if (n === this.#stopOf) {
      return;
    }
    this.#stopOf = n;
    const { t } = this.#client;
    const focused = this.#stop.contains(document.activeElement);
    const created = confirmButton(this.#client, { words: t("many.stop", { n }), sign: ACTIONS.stop.sign, kind: "danger" }, t("many.stop_sure", { n }), this.#error, () => this.#run("stop"));
    this.#stop.replaceChildren(...(n > 0 ? [created] : []));
    focused && (n > 0 ? created : this.#typed).focus();
  }

  #make(name) {
    const created = button({ words: "…", sign: ACTIONS[name].sign }, () => {
      this.#menu.open = false;
      this.#run(name);
    });
    this.#buttons.set(name, created);
    return created;
  }

  #free() {
    return this.#selecting.lanes.find(ACTIONS.sell.applies);
  }

  // sellTo sells time on each of the selected free lanes. Walk-ins are sold one after the other, so that their numbers are in the order
  // of the lanes. A sale is taken back by stopping what was sold.
  async #sellTo(body) {
    const client = this.#client;
    const sold = new Map(); // by lane
    const send = async (_, lane, anyway) => sold.set(lane, await client.request("POST", "/sessions", { ...body, ...anyway, lane_id: lane.lane_id }));
    await this.#run("sell", {
      send, atOnce: body.walk_in ? 1 : undefined,
      undo: (_, lane) => client.request("POST", `/sessions/${sold.get(lane).session_id}/stop`),
      more: (error) => (sold.size === 0 ? [] : [printButton(client, error, () => [...sold].map(([lane, { session_id, duration, created_at }]) => (
        { session_id, lane: lane.name, minutes: duration, at: created_at })), client.t("many.print", { n: sold.size }))]),
    });
  }

  // run sends a command to each of the selected lanes that the action concerns, and reports what became of all selected lanes. Minutes that
  // would be used after closing may be sold anyway, on the lanes for which that was refused.
  async #run(name, { send, undo, atOnce, more, sendAll, undoAll, groupOf } = ACTIONS[name], selected = this.#selecting.lanes, anyway = {}) {
    if (this.#progress) {
      return;
    }
    const client = this.#client;
    const { t } = client;
    const { users } = client;
    const { applies, minutes, seconds } = ACTIONS[name];
    const lanes = selected.filter(applies);
    const outcome = await this.#busyWith(lanes, (progress) => {
      if (groupOf) {
        return forEachGroup(client, lanes, groupOf, (group) => sendAll(client, group), progress);
      }
      return sendAll ? forAllLanes(lanes, () => sendAll(client, lanes)) : forEachLane(client, lanes, (lane) => send(client, lane, anyway), progress, atOnce);
    });
    const others = selected.filter((lane) => !applies(lane));
    const failed = outcome.done.length < lanes.length;
    const lines = [...refusalLines(client, outcome), ...(others.length > 0 ? [laneLine(t, others, t(`many.not_${name}`))] : [])];
    const late = outcome.refused.filter(({ refusal }) => refusal.code === "after_closing").map(({ lane }) => lane);
    const controls = (error) => [...(more?.(error) ?? []), action(client, { words: t("after_closing.anyway"), kind: "anyway" }, error, () =>
      this.#run(name, { send, undo, atOnce, more }, late, { after_closing: true }))];
    client.outcome.report({ words: t(`many.done_${name}`, { n: outcome.done.length, minutes, seconds }), lines, failed }, (undo || undoAll) && outcome.done.length > 0 && client.users === users ? async () => {
      const back = await (undoAll ? forAllLanes(outcome.done, () => undoAll(client, outcome.answer)) : forEachLane(client, outcome.done, (lane) => undo(client, lane)));
      return back.done.length === outcome.done.length ? null : { words: t("many.taken_back", { n: back.done.length }), lines: refusalLines(client, back), failed: true };
    } : null, late.length > 0 ? controls : more);
  }

  // busyWith has the bar show how far it is, and takes no other action meanwhile.
  async #busyWith(lanes, send) {
    const progress = (n) => {
      this.#progress = this.#client.t("many.progress", { n, all: lanes.length });
      setText(this.#count, this.#progress);
    };
    progress(0);
    this.#actions.setAttribute("aria-busy", "true");
    try {
      return await send(progress);
    } finally {
      this.#progress = "";
      this.#actions.removeAttribute("aria-busy");
      this.show();
    }
  }

  #selectTyped() {
    const { t, range } = this.#client;
    const { lanes, wrong } = lanesTyped(this.#typed.value, [...range.lanes.values()]);
    if (wrong) {
      this.#error.show(t(wrong.key, { part: wrong.part }));
      return;
    }
    this.#selecting.begin(lanes.map((lane) => lane.lane_id));
    const selected = new Set(this.#selecting.lanes);
    const hidden = lanes.filter((lane) => !selected.has(lane));
    this.#error.show(hidden.length > 0 ? laneLine(t, hidden, t("many.hidden")) : "");
    this.#typed.value = "";
  }

  #announce(words) {
    if (words !== this.#announced) {
      this.#announced = words;
      clearTimeout(this.#announcing);
      this.#announcing = setTimeout(() => announce(words), QUIET);
    }
  }

  // A press beside an open menu closes it and does nothing else, unless it begins a ceasefire.
  #closeMenus(event) {
    const open = [this.#sell, this.#menu].filter((menu) => menu.open && !menu.contains(event.target));
    open.forEach((menu) => (menu.open = false));
    if (open.length > 0 && !event.target.closest(BEGINS)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #escape(event) {
    const open = [this.#sell, this.#menu].find((menu) => menu.open);
    if (this.#root.hidden || (!this.#root.contains(event.target) && !event.target.closest("#board") && event.target !== document.body)) {
      return;
    }
    if (open) {
      open.open = false;
      open.firstElementChild.focus();
    } else {
      this.#end();
    }
  }

  #end() {
    const focused = this.#root.contains(document.activeElement) || document.activeElement === document.body;
    focused && this.#selecting.focus();
    this.#selecting.end();
  }
}
