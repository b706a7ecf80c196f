// The ceasefire. It begins at one click and is shown on every page until it ends. While a lane that must be locked has not
// confirmed it, the largest text on the screen names the lane.
import { element, replaceKeepingFocus, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { ErrorText, action, announce, button } from "./actions.js";
import { beginButton } from "./beginbutton.js";
import { holdButton } from "./holdbutton.js";
import { nameList, notReached } from "./rules.js";
import { moved, settle } from "./settling.js";
import { setTitle } from "./title.js";

const QUIET = 1_200; // ms without a change before the state is announced: lanes confirm one by one

export class Ceasefire {
  #client;
  #alarm;
  #headline = element("p.headline");
  #progress = element("p.progress");
  #rows = element("ul.holds");
  #begin;
  #drawn = ""; // what the rows show beside the holds
  #holds = []; // that the rows show
  #sinces = []; // of each of them
  #announced = "";
  #announcing = 0;

  constructor(client, alarm, begin) {
    this.#client = client;
    this.#alarm = alarm;
    const { t, range } = client;
    alarm.append(this.#headline, this.#progress, this.#rows);
    this.#begin = beginButton(client, { words: t("ceasefire.begin"), kind: "ceasefire", label: t("ceasefire.begin_range"), scope: "range" }, new ErrorText());
    begin.append(this.#begin);
    client.onChange = () => this.show();
    range.addEventListener("holds", () => this.show());
    range.addEventListener("lanes", () => this.show());
  }

  show() {
    const { t, range } = this.#client;
    const lanes = [...range.lanes.values()];
    const missing = lanes.filter(notReached);
    const ceasefires = range.holds.filter((hold) => hold.scope !== "lane");
    const unsent = [...this.#client.unsent.values()];
    for (const failed of unsent.filter(({ scope, id }) => range.findHold(scope, id))) {
      this.#client.unsent.delete(`${failed.scope} ${failed.id ?? ""}`); // it is in force after all
    }
    const failed = [...this.#client.unsent.values()];

    const calm = ceasefires.length + missing.length + failed.length === 0;
    const before = this.#alarm.hidden;
    this.#alarm.hidden &&= calm; // shown first and hidden last, so that the focus can move before
    this.#alarm.dataset.size = missing.length > 12 ? "many" : "few";
    document.body.toggleAttribute("data-ceasefire", ceasefires.length > 0);
    setTitle({ ceasefire: ceasefires.length > 0 ? t("ceasefire.word") : "", range: range.info?.name ?? "" });
    this.#begin.show(range.findHold("range") !== undefined);
    setText(this.#headline, this.#headlineText(failed, missing, ceasefires));
    setText(this.#progress, this.#progressText(failed, missing, ceasefires));
    this.#drawRows(ceasefires, failed);
    this.#alarm.hidden = calm;
    if (before !== calm) {
      moved(); // what is below the alarm
    }
    this.#announceState(calm);
  }

  #headlineText(failed, missing, ceasefires) {
    const { t } = this.#client;
    if (failed.length > 0) {
      return t("ceasefire.unsent", { what: failed.map((hold) => this.#scopeName(hold)).join(", ") });
    }
    if (missing.length > 0) {
      const names = nameList(missing.map((lane) => lane.name), { one: t("lane.word"), many: t("lane.words") });
      return t("ceasefire.not_reached", { lanes: names });
    }
    return ceasefires.length > 0 ? t("ceasefire.all_locked", { what: ceasefires.map((hold) => this.#scopeName(hold)).join(", ") }) : "";
  }

  // progressText is the line below the headline.
  #progressText(failed, missing, ceasefires) {
    const { t, range } = this.#client;
    const lines = [];
    if (failed.length > 0) {
      lines.push(t("ceasefire.unsent_more"));
    }
    if (failed.length > 0 && missing.length > 0) {
      lines.push(t("ceasefire.not_reached", { lanes: missing.map((lane) => lane.name).join(", ") }));
    }
    for (const hold of ceasefires) { // each counts its own lanes
      const lanes = range.lanesUnder(hold);
      const locked = t(`ceasefire.confirmed_of_${lanes.length === 1 ? "one" : "many"}`, { n: lanes.filter((lane) => !notReached(lane)).length, all: lanes.length });
      lines.push(ceasefires.length > 1 ? t("ceasefire.confirmed_in", { what: this.#scopeName(hold), locked }) : locked);
    }
    if (missing.length > 0) {
      lines.push(t("ceasefire.not_reached_more"));
    }
    if (ceasefires.length > 0 && this.#client.unsaved) {
      lines.push(t("ceasefire.unsaved"));
    }
    return lines.join(" ");
  }

  // The rows are not redrawn while lanes confirm, nor when the gateway says since when a ceasefire is in force that this page has begun, so that
  // a button that is being held down is not replaced.
  #drawRows(ceasefires, failed) {
    const others = JSON.stringify([this.#client.range.releasesRange, failed.map(({ scope, id, refusal }) => [scope, id, refusal?.code])]);
    const isDrawn = (hold, i) => {
      const drawn = this.#holds[i];
      return drawn.scope === hold.scope && drawn.id === hold.id && (drawn.since === hold.since || drawn.unconfirmed === true);
    };
    const same = others === this.#drawn && ceasefires.length === this.#holds.length && ceasefires.every(isDrawn);
    this.#holds = ceasefires;
    if (same) {
      ceasefires.forEach((hold, i) => setText(this.#sinces[i], this.#since(hold)));
    } else {
      this.#drawn = others;
      this.#sinces = ceasefires.map((hold) => element("span", {}, this.#since(hold)));
      replaceKeepingFocus(this.#rows, [...failed.map((hold) => this.#failedRow(hold)), ...ceasefires.map((hold, i) => this.#row(hold, this.#sinces[i]))], this.#begin);
    }
  }

  #since({ since, who }) {
    const { t } = this.#client;
    return t("ceasefire.since", { time: t.seconds(since), who });
  }

  #row(hold, since) {
    const { t } = this.#client;
    const error = new ErrorText();
    const what = this.#scopeName(hold);
    const end = hold.scope === "range" && !this.#client.range.releasesRange
      ? element("span.officer", {}, t("ceasefire.officer"))
      : holdButton(this.#client, endTexts(t, "ceasefire", what), "danger", error, () => this.#client.endHold(hold));
    return element("li", {},
      element("span.what", {}, icon("lock"), element("strong", {}, t("ceasefire.over", { what })), since),
      end, error.element);
  }

  #failedRow(hold) {
    const { t } = this.#client;
    const error = new ErrorText();
    error.element.textContent = hold.refusal ? this.#client.sentence(hold.refusal) : "";
    const again = action(this.#client, { words: t("ceasefire.again"), sign: "lock", kind: "ceasefire" }, error, () => {
      settle();
      return this.#client.ceasefire(hold.scope, hold.id);
    });
    again.setAttribute("data-begins-ceasefire", "");
    const leave = button({ words: t("ceasefire.withdraw") }, () => this.#client.withdraw(hold));
    return element("li", {}, element("span.what", {}, icon("alert"), element("strong", {}, this.#scopeName(hold))), again, leave, error.element);
  }

  #scopeName(hold) {
    const { t, range } = this.#client;
    switch (hold.scope) {
      case "range":
        return t("ceasefire.whole_range");
      case "bay":
        return range.bays.find((bay) => bay.id === hold.id)?.name ?? t("ceasefire.a_bay");
      default:
        return range.lanes.get(hold.id)?.name ?? t("lane.word");
    }
  }

  #announceState(calm) {
    const sentence = calm ? "" : `${this.#headline.textContent}. ${this.#progress.textContent}`;
    if (sentence === this.#announced) {
      return;
    }
    const ended = calm && this.#announced !== "";
    this.#announced = sentence;
    clearTimeout(this.#announcing);
    this.#announcing = setTimeout(() => announce(ended ? this.#client.t("ceasefire.ended") : sentence), QUIET);
  }
}

// endTexts are the texts of a control that ends a ceasefire, or the hold of a lane, named `what`.
export function endTexts(t, kind, what) {
  return { words: t(`${kind}.end`, { what }), holding: t("hold.holding"), hint: t("hold.hint"), now: t(`${kind}.end_now`, { what }) };
}
