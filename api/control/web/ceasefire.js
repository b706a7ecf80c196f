// The ceasefire. It begins at one touch, stands over the whole screen until it ends, and as long as a lane that must be
// locked has not confirmed it, the largest text on the screen says which.
import { element, replaceIn, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { Trouble, action, button } from "./act.js";
import { announce } from "./announce.js";
import { nameList } from "./names.js";
import { pressed } from "./pressed.js";
import { notReached } from "./urgency.js";

const QUIET = 1_200; // lanes confirm one by one: this long nothing more must happen before it is said aloud

export class Ceasefire {
  #desk;
  #alarm;
  #headline = element("p.headline");
  #progress = element("p.progress");
  #rows = element("ul.holds");
  #begin;
  #drawn = "";
  #said = "";
  #saying = 0;

  constructor(desk, alarm, begin) {
    this.#desk = desk;
    this.#alarm = alarm;
    const { t, range } = desk;
    alarm.tabIndex = -1;
    alarm.append(this.#headline, this.#progress, this.#rows);
    this.#begin = action(desk, { words: t("ceasefire.begin"), sign: "lock", kind: "ceasefire", label: t("ceasefire.begin_range") },
      new Trouble(), () => desk.ceasefire("range"));
    begin.append(this.#begin);
    desk.changed = () => this.show();
    range.addEventListener("holds", () => this.show());
    range.addEventListener("lanes", () => this.show());
  }

  show() {
    const { t, range } = this.#desk;
    const lanes = [...range.lanes.values()];
    const missing = lanes.filter(notReached);
    const over = range.holds.filter((hold) => hold.scope !== "lane");
    const unsent = [...this.#desk.unsent.values()];
    for (const failed of unsent.filter(({ scope, id }) => range.holdOver(scope, id))) {
      this.#desk.unsent.delete(`${failed.scope} ${failed.id ?? ""}`); // it was heard after all
    }
    const failed = [...this.#desk.unsent.values()];

    const calm = over.length + missing.length + failed.length === 0;
    this.#alarm.hidden &&= calm; // shown first of all, hidden last: the focus goes elsewhere before
    this.#alarm.dataset.size = missing.length > 12 ? "many" : "few";
    document.body.toggleAttribute("data-ceasefire", over.length > 0);
    document.title = `${over.length > 0 ? `${t("ceasefire.word")} · ` : ""}${range.info?.name ?? ""}`;
    const focused = document.activeElement === this.#begin;
    this.#begin.hidden = range.holdOver("range") !== undefined;
    if (focused && this.#begin.hidden) {
      this.#alarm.focus(); // and not the control that ends it
    }

    setText(this.#headline, this.#largest(failed, missing, over));
    setText(this.#progress, this.#further(failed, missing, over, lanes));
    this.#drawRows(over, failed);
    this.#alarm.hidden = calm;
    this.#sayAloud(calm);
  }

  #largest(failed, missing, over) {
    const { t } = this.#desk;
    if (failed.length > 0) {
      return t("ceasefire.unsent", { what: failed.map((hold) => this.#what(hold)).join(", ") });
    }
    if (missing.length > 0) {
      const names = nameList(missing.map((lane) => lane.name), { one: t("lane.word"), many: t("lane.words") });
      return t("ceasefire.not_reached", { lanes: names });
    }
    return over.length > 0 ? t("ceasefire.all_locked", { what: over.map((hold) => this.#what(hold)).join(", ") }) : "";
  }

  // further is the line below the largest text.
  #further(failed, missing, over, lanes) {
    const { t } = this.#desk;
    const held = lanes.filter((lane) => lane.held);
    const lines = [];
    if (failed.length > 0) {
      lines.push(t("ceasefire.unsent_more"));
    }
    if (failed.length > 0 && missing.length > 0) {
      lines.push(t("ceasefire.not_reached", { lanes: missing.map((lane) => lane.name).join(", ") }));
    }
    if (held.length > 0) {
      lines.push(t("ceasefire.confirmed", { n: held.length - missing.length, all: held.length }));
    }
    if (missing.length > 0) {
      lines.push(t("ceasefire.not_reached_more"));
    }
    if (over.length > 0 && this.#desk.unsaved) {
      lines.push(t("ceasefire.unsaved"));
    }
    return lines.join(" ");
  }

  // The rows with the controls stay as they are while a lane confirms: a button that is being held down is not replaced.
  #drawRows(over, failed) {
    const key = JSON.stringify([over, failed.map(({ scope, id, refusal }) => [scope, id, refusal?.code])]);
    if (key !== this.#drawn) {
      this.#drawn = key;
      replaceIn(this.#rows, [...failed.map((hold) => this.#failedRow(hold)), ...over.map((hold) => this.#row(hold))], this.#begin);
    }
  }

  #row(hold) {
    const { t } = this.#desk;
    const trouble = new Trouble();
    const what = this.#what(hold);
    const end = pressed(this.#desk, endTexts(t, "ceasefire", what), "danger", trouble, () => this.#desk.endHold(hold));
    return element("li", {},
      element("span.what", {}, icon("lock"), element("strong", {}, t("ceasefire.over", { what })), element("span", {}, t("ceasefire.since", { time: t.seconds(hold.since), who: hold.who }))),
      end, trouble.element);
  }

  #failedRow(hold) {
    const { t } = this.#desk;
    const trouble = new Trouble();
    trouble.element.textContent = hold.refusal ? this.#desk.sentence(hold.refusal) : "";
    const again = action(this.#desk, { words: t("ceasefire.again"), sign: "lock", kind: "ceasefire" }, trouble, () => this.#desk.ceasefire(hold.scope, hold.id));
    const leave = button({ words: t("ceasefire.withdraw") }, () => this.#desk.withdraw(hold));
    return element("li", {}, element("span.what", {}, icon("alert"), element("strong", {}, this.#what(hold))), again, leave, trouble.element);
  }

  #what(hold) {
    const { t, range } = this.#desk;
    switch (hold.scope) {
      case "range":
        return t("ceasefire.whole_range");
      case "bay":
        return range.bays.find((bay) => bay.id === hold.id)?.name ?? t("ceasefire.a_bay");
      default:
        return range.lanes.get(hold.id)?.name ?? t("lane.word");
    }
  }

  #sayAloud(calm) {
    const sentence = calm ? "" : `${this.#headline.textContent}. ${this.#progress.textContent}`;
    if (sentence === this.#said) {
      return;
    }
    const ended = calm && this.#said !== "";
    this.#said = sentence;
    clearTimeout(this.#saying);
    this.#saying = setTimeout(() => announce(ended ? this.#desk.t("ceasefire.ended") : sentence), QUIET);
  }
}

// endTexts are what a control says that ends a ceasefire, or the hold of a lane, over `what`.
export function endTexts(t, kind, what) {
  return { words: t(`${kind}.end`, { what }), holding: t("hold.holding"), hint: t("hold.hint"), now: t(`${kind}.end_now`, { what }) };
}
